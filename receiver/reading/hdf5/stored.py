"""The frames and pixels of any dataset that are there, whatever HDF5 reads in place of the others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.hdf5.views import MOST_OPENED, Sources

Status = np.ndarray[Any, np.dtype[np.uint8]]


class Stored:
    """The frames of one dataset: there, there in part, or never stored.

    Args:
        data: h5py dataset; it is not kept.
        axes: number of axes of a frame.
        most: other files that are opened to look at what they have; of more it is only asked whether they
            exist, until one of their frames is asked for.
    """

    def __init__(self, data: Any, axes: int, most: int = MOST_OPENED) -> None:
        self._sources = Sources(axes, most)
        self._extent = self._sources.of(data)
        self._box = tuple((0, length) for length in data.shape[data.ndim - axes :])

    @cached_property
    def statuses(self) -> Status | None:
        """STORED, PARTIAL or MISSING of each frame; `None` if all are stored."""
        some, whole = self._extent.survey(self._box)
        if whole.all():
            return None
        found = np.full(len(some), FrameStatus.MISSING, np.uint8)
        found[some], found[whole] = FrameStatus.PARTIAL, FrameStatus.STORED
        return found

    @property
    def is_sure(self) -> bool:
        """True if every file was looked at, and not only asked for."""
        return not self._sources.left_out

    def why(self, frame: int) -> str | None:
        """Return why a frame, or a part of it, is not there; `None` if all of it is."""
        return self._extent.why(frame, self._box)

    def missing(self, frame: int) -> np.ndarray[Any, Any]:
        """Return which pixels of a frame are not there: bool, of a frame's shape."""
        return self._extent.missing(frame, self._box)
