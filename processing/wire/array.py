"""Arrays in messages: each is described in the first part, and follows as a raw part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from penstock.processing.accumulate import Total
from penstock.processing.wire.errors import WireError
from penstock.stins.messages import Buffer


class Array(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A raw part that is an array: results of several frames under one name, or one accumulated value."""

    name: str
    dtype: str
    """NumPy's name with byte order, such as "<f8"."""
    shape: tuple[int, ...]
    """Of values per frame: the first axis counts frames."""
    places: tuple[int, ...] | None = None
    """Places in the bunch of the frames that have this value; `None`: all of them."""
    kind: Literal["value", "events", "sum", "mean", "max", "min"] = "value"
    """"value" and "events": per frame; the others are accumulated. Events of several frames lie one after the
    other in one array."""
    counts: tuple[int, ...] | None = None
    """Of events: how many each frame has."""
    n: int = 0
    """Of an accumulated value: the number of frames in it. A "mean" travels as its sum."""
    masked: bool = False
    """Of a "sum" or "mean": elements were masked in some frames. The first axis is of 2: the sum, and in how
    many of the n frames each element was masked."""


def of_total(name: str, total: Total) -> Array:
    """Return the description of what was accumulated under a name."""
    return Array(
        name=name, dtype=total.value.dtype.str, shape=total.value.shape, kind=total.kind,  # type: ignore[arg-type]
        n=total.n, masked=total.masked,
    )  # fmt: skip


def arrays(described: Sequence[Array], parts: Sequence[Buffer]) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the arrays of a message by name, as views of its parts.

    Raises:
        WireError: parts and description do not agree.
    """
    if len(parts) != len(described):
        raise WireError(f"{len(described)} arrays are described, and {len(parts)} have come")
    found = {}
    for array, part in zip(described, parts, strict=True):
        try:
            found[array.name] = np.frombuffer(part, np.dtype(array.dtype)).reshape(array.shape)
        except (ValueError, TypeError) as error:
            raise WireError(f"array {array.name} cannot be decoded: {error}") from error
    return found
