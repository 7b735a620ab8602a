"""What workers send, put where it belongs: rows and states into the result file, accumulated values together.

Without a result file (a live series, and no `results_root`) there are the accumulated values and the account;
the file is one that writes nowhere then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.processing import wire
from penstock.processing.accumulate import Total, shown_form
from penstock.processing.channels.joining import Joined
from penstock.processing.describe import Plot
from penstock.processing.distributor.frames.account import Indices, State
from penstock.processing.distributor.frames.bunches import Bunch
from penstock.processing.results.errors import ResultError
from penstock.processing.results.result_file import NoResultFile, ResultFile
from penstock.processing.wire import Array, of_total

log = logging.getLogger(__name__)


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


Values = Mapping[str, "np.ndarray[Any, Any]"]


class Store:
    """The results of one series.

    Args:
        file: open; `None` if there is none.
    """

    def __init__(self, file: ResultFile | None = None) -> None:
        self.file = file or NoResultFile()
        self.totals = Totals()
        self.channel_names: frozenset[str] = frozenset()
        """Names that results of channels have."""
        self._named: set[int] = set()
        self._plots: tuple[Plot, ...] | None = None
        self._before = self.file.highest_worker
        """Workers of an earlier distributor, whose numbers are taken."""
        found = self.file.totals
        self.totals.add(
            found.arrays,
            {array.name: value for array, value in zip(found.arrays, found.values, strict=True)},
        )

    @property
    def path(self) -> str | None:
        """Path of the result file; `None` if results are not stored."""
        return None if isinstance(self.file, NoResultFile) else str(self.file.path)

    def describe(self, plots: tuple[Plot, ...], notes: tuple[str, ...] = ()) -> bool:
        """Take what the first worker says of the results; return whether the plots are the same.

        Args:
            plots: what results mean.
            notes: what their reader has to know; sentences.

        Raises:
            ResultError: it cannot be written.
        """
        if self._plots is None:
            self._plots = plots
            for note in notes:
                log.info("%s", note)
            if plots or notes:
                self.file.describe(plots, notes)
        return plots == self._plots

    def channels(self, joined: Joined) -> None:
        """Write the values of channels that belong to frames, and where there are none.

        Raises:
            ResultError: they cannot be written.
        """
        n, found = len(joined.indices), []
        for name, column in joined.columns.items():
            found.append((Array(name=name, dtype="<f8", shape=(n,)), column.values))
            flags = Array(name=f"{name}_matched", dtype="|u1", shape=(n,))
            found.append((flags, column.matched.astype(np.uint8)))
        self.file.prepare([array for array, _ in found])
        order = np.argsort(joined.indices, kind="stable")
        for array, values in found:
            self.file.rows(array, joined.indices[order], values[order])

    def rows(self, bunch: Bunch, arrays: Sequence[Array], values: Values) -> dict[int, str]:
        """Write the rows of a bunch.

        Returns:
            Places of frames whose values are unlike the earlier ones of their name, with a sentence.

        Raises:
            ResultError: they cannot be written.
        """
        failed: dict[int, str] = {}
        if not arrays:
            return failed
        unlike: dict[str, str | ResultError] = dict(self.file.prepare(arrays))
        unlike |= {
            array.name: f"result {array.name} has the name of a channel; rename one"
            for array in arrays
            if array.name in self.channel_names
        }
        alike: dict[tuple[int, ...] | None, list[Array]] = {}
        for array in arrays:
            if array.name in unlike:
                places = range(len(bunch.items)) if array.places is None else array.places
                failed |= dict.fromkeys(places, str(unlike[array.name]))
            else:
                alike.setdefault(array.places, []).append(array)
        for at, group in alike.items():
            self.file.rows_of(group, bunch.indices if at is None else bunch.indices[list(at)], values)
        return failed

    def settled(
        self, bunch: Bunch, worker: int, name: str, version: int, failed: Mapping[int, str],
        unread: Sequence[int], held: bool,
    ) -> None:  # fmt: skip
        """Write what became of the frames of a bunch, after their rows.

        Raises:
            ResultError: it cannot be written.
        """
        indices = bunch.indices
        if failed or unread:
            others = np.ones(len(indices), bool)
            others[list(unread)] = False
            indices = indices[others]
        self.file.worker(indices, self._numbered(worker, name))
        self.file.version(indices, version)
        if failed:
            places = sorted(failed)
            for place in places:
                self.file.error(int(bunch.indices[place]), failed[place])
            self.file.status(bunch.indices[places], State.FAILED)
            indices = np.setdiff1d(indices, bunch.indices[places])
        if not held:
            self.file.status(indices, State.DONE)

    def handed_over(self, bunches: Sequence[Bunch], arrays: Sequence[Array], values: Values) -> str:
        """Take accumulated values, and mark the frames as done that are in them.

        Returns:
            "", or a sentence: the values are unlike those of other workers, and the frames have failed.

        Raises:
            ResultError: they cannot be written.
        """
        indices = _joined(bunches)
        try:
            self.totals.add(arrays, values)
            if self.totals:
                self.file.accumulated(self.totals.arrays, self.totals.values, indices)
            else:
                self.file.status(indices, State.DONE)
        except (Unlike, ResultError) as error:
            if isinstance(error, ResultError) and error.kind != "unlike":
                raise
            for index in indices.tolist():
                self.file.error(index, str(error))
            self.file.status(indices, State.FAILED)
            return str(error)
        return ""

    def lost(self, indices: Sequence[int], worker: int, name: str) -> None:
        """Write which frames were lost with a worker; 0: with the distributor."""
        if indices:
            for index in indices:
                self.file.lost(index, name)
            found = np.array(indices, np.int64)
            if worker:
                self.file.worker(found, self._numbered(worker, name))
            self.file.status(found, State.LOST)

    def _numbered(self, worker: int, name: str) -> int:
        """Return the number of a worker in the file, which has its name."""
        number = worker + self._before if worker else 0
        if number and number not in self._named:
            self._named.add(number)
            self.file.name_worker(number, name)
        return number


def arrays_of(described: Sequence[Array], parts: Sequence[Any]) -> Values:
    """Return the arrays of a message by name; see `wire.arrays`."""
    return wire.arrays(described, parts) if described else {}


def _joined(bunches: Sequence[Bunch]) -> Indices:
    if not bunches:
        return np.zeros(0, np.int64)
    return np.concatenate([bunch.indices for bunch in bunches])
