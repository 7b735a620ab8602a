"""Frames that are not in the file, as ranges of indices: pure functions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_args

import numpy as np

from penstock.receiver.models import Fate, FrameStatus, Lost

F = TypeVar("F", bound=str)
Range = tuple[int, int, str]
"""First and last index of frames with one fate, of a receiver or a pipeline."""
_FATES = {FrameStatus[fate.upper()]: fate for fate in get_args(Fate)}


def of_statuses(statuses: np.ndarray[Any, Any]) -> tuple[Lost, ...]:
    """Return the ranges of frames that are not, or not as a whole, in a file.

    Args:
        statuses: (frames,), each a `FrameStatus`; pending ones are no gap.
    """
    if not len(statuses):
        return ()
    edges = np.flatnonzero(np.diff(statuses)) + 1
    firsts = np.concatenate(([0], edges))
    ends = np.concatenate((edges, [len(statuses)]))
    return tuple(
        (int(first), int(end) - 1, _FATES[FrameStatus(status)])
        for first, end, status in zip(firsts, ends, statuses[firsts].tolist(), strict=True)
        if status in _FATES
    )


def with_one(ranges: Sequence[Lost], index: int, fate: Fate) -> tuple[Lost, ...]:
    """Return ranges to which one frame was added."""
    if fate_at(ranges, index) is not None:
        return tuple(ranges)
    found: list[Lost] = []
    for first, last, what in sorted([*ranges, (index, index, fate)]):
        if found and found[-1][2] == what and found[-1][1] == first - 1:
            found[-1] = (found[-1][0], last, what)
        else:
            found.append((first, last, what))
    return tuple(found)


def fate_at(ranges: Sequence[tuple[int, int, F]], index: int) -> F | None:
    """Return what became of a frame that is lost; `None` for others."""
    place = bisect_right(ranges, index, key=lambda each: each[0]) - 1
    return ranges[place][2] if place >= 0 and index <= ranges[place][1] else None


def next_shown(ranges: Sequence[Range], index: int) -> int:
    """Return the first frame from `index` on that has pixels in the file, as far as is known."""
    place = max(0, bisect_right(ranges, index, key=lambda each: each[0]) - 1)
    for first, last, fate in ranges[place:]:
        if first > index:
            break
        if index <= last and fate != "partial":
            index = last + 1
    return index


def next_gap(ranges: Iterable[Range], index: int) -> int | None:
    """Return the beginning of the first range behind `index`."""
    return next((first for first, _, _ in ranges if first > index), None)


def gap_before(ranges: Sequence[Range], index: int) -> int | None:
    """Return the beginning of the last range before `index`."""
    return next((first for first, _, _ in reversed(ranges) if first < index), None)


def number(ranges: Iterable[Range]) -> int:
    """Return the number of frames in ranges."""
    return sum(last - first + 1 for first, last, _ in ranges)
