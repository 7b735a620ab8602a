"""The recorded value of each frame. NumPy alone: no clock, no I/O.

By time, a frame of time t has the window from w - tolerance to w + tolerance, where w = t + offset:

| how | value of a frame | flagged as unmatched |
|---|---|---|
| exact | the one in its window | there is none, or there are several of different time: nobody knows which |
| nearest | the nearest to w in its window; of two equally near, the earlier | there is none |
| hold | the last one up to w | there is none since w - tolerance |

By frame, it is the value with the frame's number. Of two with the same time, or number, the one that was
recorded last counts.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Places: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""Places of values among those recorded; -1: none."""
How: TypeAlias = Literal["exact", "nearest", "hold"]
NONE = -1


class Rule(NamedTuple):
    """How a channel is joined to frames by time."""

    how: How
    tolerance: float
    """Tolerance in s; inf for `hold`: a value holds until the next one."""
    offset: float = 0.0
    """Offset in s, added to the time of a frame."""

    @property
    def ahead(self) -> float:
        """Longest time in s after a frame at which its value may have been taken; not below 0."""
        return max(0.0, self.offset + (0.0 if self.how == "hold" else self.tolerance))


def by_time(rule: Rule, frames: Floats, recorded: Floats) -> Places:
    """Return the place of each frame's value.

    Args:
        rule: of the channel.
        frames: time of each frame, in s; NaN where it is unknown: no value is its.
        recorded: times of the values, ascending.
    """
    found = np.full(len(frames), NONE, np.int64)
    known = ~np.isnan(frames)
    if len(recorded) and known.any():
        found[known] = _by_time(rule, frames[known] + rule.offset, recorded)
    return found


def by_frame(frames: Places, numbers: Places) -> Places:
    """Return the place of each frame's value.

    Args:
        frames: numbers of the frames, from 0.
        numbers: of the values, in the order in which they were recorded.
    """
    if not len(numbers):
        return np.full(len(frames), NONE, np.int64)
    if (numbers[1:] >= numbers[:-1]).all():  # as they come, mostly
        at = np.searchsorted(numbers, frames, side="right") - 1
        places = np.maximum(at, 0)
    else:
        order = np.argsort(numbers, kind="stable")
        at = np.searchsorted(numbers[order], frames, side="right") - 1
        places = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (numbers[places] == frames), places, NONE)


def is_decided(rule: Rule, frame: float, newest: float) -> bool:
    """Return whether no value can become a frame's any more, if values come in the order of their times.

    Args:
        rule: of the channel.
        frame: time of the frame.
        newest: time of the newest value.
    """
    return newest > frame + rule.offset + (0.0 if rule.how == "hold" else rule.tolerance)


def _by_time(rule: Rule, wanted: Floats, recorded: Floats) -> Places:
    low, high = wanted - rule.tolerance, wanted + rule.tolerance
    last = np.searchsorted(recorded, wanted, side="right") - 1  # the last one up to the frame's time
    before = np.maximum(last, 0)
    held = (last >= 0) & (recorded[before] >= low)
    if rule.how == "hold":
        return np.where(held, last, NONE)
    if rule.how == "exact":
        end = np.searchsorted(recorded, high, side="right") - 1
        first = np.searchsorted(recorded, low, side="left")
        lone = (first <= end) & (recorded[np.minimum(first, len(recorded) - 1)] == recorded[end])
        return np.where(lone, end, NONE)
    # The next later time: of several values with it, the last one.
    after = np.minimum(last + 1, len(recorded) - 1)
    after = np.searchsorted(recorded, recorded[after], side="right") - 1
    follows = (last + 1 < len(recorded)) & (recorded[after] <= high)
    is_nearer = follows & (~held | (recorded[after] - wanted < wanted - recorded[before]))
    return np.where(is_nearer, after, np.where(held, last, NONE))
