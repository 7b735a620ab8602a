"""The frames of a series or a file that have data, by their status.

A frame is *whole* (stored), *partial* (some of its modules or pixels are missing), *absent* (it never came,
or what came was not stored), or *pending* (it may still come). What is read where a frame is absent or
pending is no data, whatever the file shows there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.stins.texts import plural

WHOLE: Final = (FrameStatus.STORED,)
WITH_DATA: Final = (FrameStatus.STORED, FrameStatus.PARTIAL)
"""Frames that have pixels in the file, if there is one, at least some."""
_WORDS = {FrameStatus.NOT_TRIGGERED: "not triggered", FrameStatus.DELIVERED: "delivered without file"}


def whole(status: np.ndarray[Any, Any] | None, frames: int) -> np.ndarray[Any, Any]:
    """Return the indices of the frames that are whole, int64, ascending.

    Args:
        status: `FrameStatus` of each frame, uint8, shorter if the last ones are pending; `None` if the file
            does not record it: then all frames count.
        frames: number of frames.
    """
    return _indices(status, frames, WHOLE)


def with_data(status: np.ndarray[Any, Any] | None, frames: int) -> np.ndarray[Any, Any]:
    """Return the indices of the frames that are whole or partial; arguments as for `whole`."""
    return _indices(status, frames, WITH_DATA)


def not_whole(status: np.ndarray[Any, Any] | None, frames: int) -> str:
    """Return, in words, how many frames are not whole, and why: "2 missing, 1 partial"; "" if all are.

    Args: as for `whole`.
    """
    if status is None:
        return ""
    found = Counter(int(each) for each in status[:frames])
    found[FrameStatus.PENDING] += max(0, frames - len(status))
    return ", ".join(
        f"{count} {_word(fate)}" for fate, count in sorted(found.items()) if count and fate not in WHOLE
    )


def used(status: np.ndarray[Any, Any] | None, frames: int) -> str:
    """Return how many frames are used where only whole ones are, in words: "8 of 10 frames (2 missing)"."""
    count, others = len(whole(status, frames)), not_whole(status, frames)
    return f"{count} of {plural(frames, 'frame')} ({others})" if others else plural(frames, "frame")


def _indices(
    status: np.ndarray[Any, Any] | None, frames: int, fates: tuple[FrameStatus, ...]
) -> np.ndarray[Any, Any]:
    return np.arange(frames) if status is None else np.flatnonzero(np.isin(status[:frames], fates))


def _word(fate: int) -> str:
    try:
        return _WORDS.get(FrameStatus(fate), FrameStatus(fate).name.lower())
    except ValueError:
        return f"of status {fate}"
