"""The accumulated values of a series, over all workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.processing.accumulate import Total, shown_form
from penstock.processing.wire import Array, of_total


class Unlike(Exception):
    """A worker's value is unlike what others have accumulated under that name; the sentence says how."""


class Totals:
    """The values by name."""

    def __init__(self) -> None:
        self._totals: dict[str, Total] = {}

    def __bool__(self) -> bool:
        return bool(self._totals)

    def add(self, arrays: Sequence[Array], values: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Take what a worker has handed over: all of it, or nothing.

        Raises:
            Unlike: a value is of another kind or shape than that of other workers.
        """
        for array in arrays:
            total, value = self._totals.get(array.name), values[array.name]
            if total is None:
                continue
            known, new = (
                (kind, *shown_form(kind, dtype, shape, masked=masked))
                for kind, dtype, shape, masked in (
                    (total.kind, total.value.dtype.str, total.value.shape, total.masked),
                    (array.kind, value.dtype.str, value.shape, array.masked),
                )
            )
            # Types may differ: 0 from one worker, and 0.5 from another.
            if known[::2] != new[::2]:
                here, others = (f"{kind} of {dtype} {list(shape)}" for kind, dtype, shape in (new, known))
                raise Unlike(
                    f"result {array.name} is {here}; other workers have {others}, and all have to be alike"
                )
        for array in arrays:
            total, value = self._totals.get(array.name), values[array.name]
            if total is None:
                self._totals[array.name] = Total(array.kind, value, array.n, masked=array.masked)
            else:
                total.add(value, array.n, masked=array.masked)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Their descriptions; of a mean, the sum."""
        return tuple(of_total(name, total) for name, total in self._totals.items())

    @property
    def values(self) -> list[np.ndarray[Any, Any]]:
        """The values, in the same order."""
        return [total.value for total in self._totals.values()]
