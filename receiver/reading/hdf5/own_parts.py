"""The frames and pixels that a series file of Penstock lacks, as its account tells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import h5py
import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.hdf5.mappings import shows_other_files
from penstock.receiver.reading.hdf5.module_places import place_of_module
from penstock.receiver.reading.hdf5.stack import Stored
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.validity.frames import WITH_DATA

WHY = {
    FrameStatus.MISSING: "it never arrived",
    FrameStatus.CORRUPT: "it arrived damaged and was not written",
    FrameStatus.DISCARDED: "its sender marked it as not to be written",
    FrameStatus.NOT_TRIGGERED: "it was never triggered",
    FrameStatus.DELIVERED: "it was meant for the live view only",
    FrameStatus.PENDING: "it has not arrived yet",
    FrameStatus.PARTIAL: "some of its modules, channels or pixels never arrived",
}
"""Why a frame of this status has no pixels, or not all."""


class OwnParts:
    """The frames that are there, and the regions of their modules or channels.

    Args:
        series: the file.
    """

    def __init__(self, series: SeriesFile) -> None:
        self._series = series
        name = "channel_status" if series.channels else "module_status"
        found = series.group.get(name)
        is_table = isinstance(found, h5py.Dataset) and found.ndim == 2
        self._table: h5py.Dataset | None = found if is_table else None
        self._regions: list[tuple[slice, ...] | None] | None = None
        self._said = series.frame_status
        data = series.data
        self._view: Stored | None = None
        # Of a file that is still written, segments are made one by one.
        if data is not None and series.state != "in progress" and shows_other_files(data):
            self._view = Stored(data, data.ndim - 1, most=0)

    @cached_property
    def statuses(self) -> np.ndarray[Any, Any] | None:
        """The status of each frame: that in the file, unless another file that holds it does not exist."""
        there = None if self._view is None else self._view.statuses
        if self._said is None or there is None:
            return self._said
        found = self._said.copy()
        part = found[: len(there)]
        part[np.isin(part, WITH_DATA) & (there[: len(part)] == FrameStatus.MISSING)] = FrameStatus.MISSING
        return found

    def why(self, index: int) -> str | None:
        """Return why a frame, or a part of it, has no pixels; `None` if it is there as a whole."""
        if self._said is None or index >= len(self._said):
            return None
        status = FrameStatus(int(self._said[index]))
        if status in WITH_DATA and self._view is not None and (why := self._view.why(index)) is not None:
            return why
        return WHY.get(status)

    def missing(self, index: int, shape: tuple[int, ...], channel: int | None) -> np.ndarray[Any, Any] | None:
        """Return the pixels of the missing modules or channels of a frame.

        Args:
            index: of the frame.
            shape: of a frame without colours.
            channel: number of the channel that is wanted; `None`: all.

        Returns:
            bool; `None` if none is missing, or nobody knows where it would be.
        """
        if self._table is None or index >= len(self._table):
            return None
        gone = np.flatnonzero(~np.isin(self._table[index], WITH_DATA))
        if not len(gone):
            return None
        if channel is not None:
            return np.ones(shape, bool) if channel in gone else None
        if self._regions is None:
            self._regions = list(self._found(self._table.shape[1], shape))
        regions = [self._regions[part] for part in gone.tolist()]
        if any(region is None for region in regions):
            return None
        missing = np.zeros(shape, bool)
        for region in regions:
            missing[region] = True
        return missing

    def _found(self, parts: int, shape: tuple[int, ...]) -> Iterator[tuple[slice, ...] | None]:
        """Yield the region of each part in a frame; `None` where it is not known."""
        if len(shape) == 3 and shape[0] == parts:  # a frame is the blobs, one behind the other
            yield from ((slice(part, part + 1),) for part in range(parts))
            return
        yield from (place_of_module(self._series.group, part) for part in range(parts))
