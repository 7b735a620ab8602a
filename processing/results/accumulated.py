"""Accumulated values, and the frames that are in them: both are known together, or neither.

A frame that went into a sum is done once the sum has it. If the distributor is killed between the two, the
frame would be lacking in the sum, or be counted twice. So a hand-over begins with a hidden file beside the
result file, which has all totals and the frames that have just come into them; it takes its name by a rename,
and only then are the values and statuses in the result file changed. Who resumes repeats that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penstock.processing import accumulate
from penstock.processing.results.place import draft_of
from penstock.processing.wire import Array

MOST_NAMED = 10
"""Names that a sentence has at most."""


class Totals(NamedTuple):
    """All accumulated values of a series, merged, as on the wire; of a mean, the sum."""

    arrays: tuple[Array, ...]
    values: tuple[np.ndarray[Any, Any], ...]
    indices: np.ndarray[Any, Any]
    """Frames, int64, that have come into them last."""


class _Head(msgspec.Struct):
    arrays: tuple[Array, ...]
    frames: int


def shown(array: Array, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an accumulated value as users see it: a mean instead of its sum."""
    found = accumulate.shown(array.kind, value, array.n, masked=array.masked)
    return np.asarray(found, form(array)[0])


def form(array: Array) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of an accumulated value as users see it."""
    return accumulate.shown_form(array.kind, array.dtype, array.shape, masked=array.masked)


def write(path: Path, totals: Totals) -> None:
    """Write the hidden file; its earlier content stays until all is written.

    Raises:
        OSError: it cannot be written.
    """
    head = msgspec.json.encode(_Head(totals.arrays, len(totals.indices)))
    draft = draft_of(path)
    with open(draft, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        file.write(np.ascontiguousarray(totals.indices, "<i8").tobytes())
        for array, value in zip(totals.arrays, totals.values, strict=True):
            file.write(np.ascontiguousarray(value, array.dtype).tobytes())
    os.rename(draft, path)


def read(path: Path) -> Totals | None:
    """Return what was written last; `None` if nothing was."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    at = 8 + int.from_bytes(content[:8], "little")
    head = msgspec.json.decode(content[8:at], type=_Head)
    indices = np.frombuffer(content, "<i8", head.frames, at)
    at += indices.nbytes
    values = []
    for array in head.arrays:
        count = int(np.prod(array.shape))
        value = np.frombuffer(content, array.dtype, count, at).reshape(array.shape).copy()
        values.append(value)
        at += value.nbytes
    return Totals(head.arrays, tuple(values), indices)


def named(arrays: Sequence[Array]) -> str:
    """Return the names of arrays, for sentences."""
    names = [array.name for array in arrays]
    if len(names) > MOST_NAMED:
        names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED:,} more"]
    return ", ".join(names)
