"""Which frames and pixels a series file of Penstock lacks, as its account tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.reader import SeriesFile
from penstock.receiver.series.account import IN_FILE

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
    """The modules or channels of the frames, and the regions that they cover.

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
        gone = np.flatnonzero(~np.isin(self._table[index], IN_FILE))
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
        for part in range(parts):
            place = self._series.group.get(f"module_{part}")
            # As the receiver writes them where it has assembled nothing: rows, then columns.
            ends = [place.get(name) for name in ("data_origin", "data_size")] if place is not None else []
            if len(ends) != 2 or any(each is None or each.shape != (2,) for each in ends):
                yield None
                continue
            (row, column), (rows, columns) = (each[...].tolist() for each in ends)
            yield slice(row, row + rows), slice(column, column + columns)
