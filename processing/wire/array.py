"""Arrays in messages: each is described in the first part, and follows as a raw part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal

import msgspec
import numpy as np

from penstock.processing.accumulate import Total
from penstock.stins.messages import Buffer


class WireError(Exception):
    """A message cannot be decoded; the sentence says why."""


MOST_PARTS, MOST_JOINED = 16, 2**20
"""More arrays than this are one part of a message, if they have so many bytes together at most."""


class Array(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A raw part that is an array: results of several frames under one name, or one accumulated value."""

    name: str
    dtype: str
    """NumPy's name with byte order, such as "<f8"."""
    shape: tuple[int, ...]
    """Shape of the values of all frames: the first axis counts frames."""
    places: tuple[int, ...] | None = None
    """Places in the bunch of the frames that have this value; `None`: all of them."""
    kind: Literal["value", "events", "sum", "mean", "max", "min"] = "value"
    """"value" and "events": per frame; the others are accumulated. Events of several frames lie one after the
    other in one array."""
    counts: tuple[int, ...] | None = None
    """Number of events of each frame; `None` if the array has no events."""
    n: int = 0
    """Number of frames in an accumulated value. A "mean" travels as its sum."""
    masked: bool = False
    """True if elements of a "sum" or "mean" were masked in some frames. The first axis is of 2: the sum, and
    in how many of the n frames each element was masked."""


def of_total(name: str, total: Total) -> Array:
    """Return the description of what was accumulated under a name."""
    return Array(
        name=name, dtype=total.value.dtype.str, shape=total.value.shape, kind=total.kind,  # type: ignore[arg-type]
        n=total.n, masked=total.masked,
    )  # fmt: skip


def parts_of(values: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
    """Return the parts that follow a description of arrays: one for each; if they are many and small, one for
    all of them, one after the other, since a part costs more than what is in it.

    Args:
        values: in C order and little endian.
    """
    if len(values) <= MOST_PARTS or sum(value.nbytes for value in values) > MOST_JOINED:
        return list(values)
    return [b"".join([value.tobytes() for value in values])]


def arrays(described: Sequence[Array], parts: Sequence[Buffer]) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the arrays of a message by name, as views of its parts; see `parts_of`.

    Raises:
        WireError: parts and description do not agree.
    """
    found, types = {}, dict[str, "np.dtype[Any]"]()
    if len(parts) == 1 < len(described):
        at = 0
        for array in described:
            count = prod(array.shape)
            try:
                if (dtype := types.get(array.dtype)) is None:
                    dtype = types[array.dtype] = np.dtype(array.dtype)
                value = np.frombuffer(parts[0], dtype, count, at) if count else np.empty(0, dtype)
                found[array.name] = value.reshape(array.shape)
            except (ValueError, TypeError) as error:
                raise WireError(f"array {array.name} cannot be decoded: {error}") from error
            at += count * dtype.itemsize
        if at != len(parts[0]):
            raise WireError(f"{len(described)} arrays of {at} bytes are described, {len(parts[0])} have come")
        return found
    if len(parts) != len(described):
        raise WireError(f"{len(described)} arrays are described, and {len(parts)} have come")
    for array, part in zip(described, parts, strict=True):
        try:
            found[array.name] = np.frombuffer(part, np.dtype(array.dtype)).reshape(array.shape)
        except (ValueError, TypeError) as error:
            raise WireError(f"array {array.name} cannot be decoded: {error}") from error
    return found
