"""What frames bring beside their pixels, one row an index: status, trigger, number, times, checksums.

It is kept in memory and written in batches, since h5py takes for one element what it takes for a thousand.
First what the frames brought is written, then their status. What a kill tears all the same, since HDF5 writes
the lengths and indices of datasets when it likes, `accompanied` and `forget` mend at the next start.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.regions.rows import RegionRows
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.account import Account
from penstock.stins.checksums import digits
from penstock.stins.messages import Image

CHUNK = 4096
ROOM_PER_FRAME = 256
"""What a flush may need: chunks of all datasets with one value a frame, and their index."""
NEIGHBOURS = 1024
"""Values of frames no further apart are written together with what stands between them: a call of HDF5
costs as much as so many values."""
STATUS, CHECKSUM = "frame_status", "checksum"
COLUMNS: Mapping[str, tuple[str, Any, str | None]] = {
    STATUS: ("uint8", int(FrameStatus.MISSING), None),
    "trigger": ("int64", -1, None),
    "sequence_number": ("int64", -1, None),
    "timestamp": ("float64", np.nan, "s"),
    "timestamp_hw": ("float64", np.nan, "s"),
}
"""Datasets with one value a frame: dtype, value where nothing was received, units."""


def create(detector: Any) -> None:
    """The datasets, empty.

    Args:
        detector: NXdetector group.
    """
    for name, (dtype, fill, units) in COLUMNS.items():
        dataset = detector.create_dataset(
            name, (0,), dtype, maxshape=(None,), chunks=(CHUNK,), fillvalue=fill
        )
        if units is not None:
            dataset.attrs["units"] = units
    detector[STATUS].attrs["codes"] = ", ".join(
        f"{int(status)} {status.name.lower().replace('_', ' ')}"
        for status in FrameStatus
        if status is not FrameStatus.PENDING
    )
    detector["sequence_number"].attrs["long_name"] = "frame number as the detector sent it"


class PerFrame:
    """The rows of one series.

    Args:
        detector: NXdetector group with the datasets.
        account: of the series; it knows the statuses.
        regions: its regions of interest, whose values stand beside.
    """

    def __init__(self, detector: Any, account: Account, regions: RegionSeries | None = None) -> None:
        self._detector = detector
        self._regions = RegionRows(detector, regions)
        self._account = account
        self._checksums = detector.get(CHECKSUM)
        self.rows = len(detector[STATUS])
        """Frames that there is room for."""
        self._waiting: list[tuple[int, int, int, float, float, tuple[str, ...]]] = []
        self._late: list[tuple[int, tuple[str, ...]]] = []
        self._settled = self._others = 0

    @property
    def unwritten(self) -> int:
        """Frames of which something is not in the file yet; values of their regions count as one."""
        return len(self._waiting) + len(self._late) + self._regions.unwritten

    @property
    def room(self) -> int:
        """Most bytes that `write` needs."""
        return ROOM_PER_FRAME * self.unwritten + self._regions.room

    def take_checksums(self, algorithm: str, blobs: int) -> None:
        """Create the dataset of the checksums: text, (frames) or (frames, blobs), empty where there is none.

        Args:
            algorithm: one of `stins.checksums.ALGORITHMS`.
            blobs: number of blobs per frame.
        """
        more = () if blobs == 1 else (blobs,)
        self._checksums = self._detector.create_dataset(
            CHECKSUM, (self.rows, *more), f"S{digits(algorithm)}", maxshape=(None, *more),
            chunks=(CHUNK, *more),
        )  # fmt: skip
        self._checksums.attrs["algorithm"] = algorithm

    def add(self, index: int, image: Image) -> None:
        """What came with one frame that has been stored."""
        self._waiting.append(
            (
                index,
                -1 if image.trigger is None else image.trigger,
                -1 if image.frame is None else image.frame,
                np.nan if image.timestamp is None else image.timestamp,
                np.nan if image.timestamp_hw is None else image.timestamp_hw,
                image.checksums or (),
            )
        )

    def complete(self, index: int, image: Image) -> None:
        """What came with modules of a frame that is there already without them."""
        self._late.append((index, image.checksums or ()))

    def drop(self, lost: Collection[int]) -> None:
        """These frames are not stored after all."""
        self._waiting = [row for row in self._waiting if row[0] not in lost]

    def trigger(self, index: int) -> int | None:
        """To which a stored frame belongs; `None` if it did not say."""
        found = next((row[1] for row in self._waiting if row[0] == index), None)
        if found is None:
            found = int(self._detector["trigger"][index])
        return None if found < 0 else found

    def resize(self, rows: int) -> None:
        """Room for so many frames."""
        for name in COLUMNS:
            self._detector[name].resize(rows, axis=0)
        if self._checksums is not None:
            self._checksums.resize(rows, axis=0)
        self._regions.resize(rows)
        self.rows = rows

    def let_go(self) -> None:
        """Of what is open in the file."""
        self._checksums = None

    def write(self) -> None:
        """Everything that waits, into the datasets."""
        self._regions.write(self.rows)
        self._write_waiting()
        self._write_late()

    def write_others(self) -> None:
        """Statuses of frames that came and are not in the file: a death shall not make them missing."""
        account, counts = self._account, self._account.counts()
        others = counts.received - counts.duplicate - counts.stored
        if others != self._others:
            first, end = self._settled, min(account.highest + 1, self.rows)
            statuses = account.statuses(end)[first:]
            statuses[statuses == FrameStatus.PENDING] = FrameStatus.MISSING
            self._detector[STATUS][first:end] = statuses
            self._others = others
        self._settled = account.gap_start

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to this length, with these statuses (uint8, one an index)."""
        self.resize(len(statuses))
        self._detector[STATUS][:] = statuses

    def _write_waiting(self) -> None:
        if not self._waiting:
            return
        # A frame that came again, since some of its images had been corrupt, brought all of it anew.
        rows = {row[0]: row for row in self._waiting}
        *numbers, sums = zip(*(rows[index] for index in sorted(rows)), strict=True)
        index, trigger, number, stamp, stamp_hw = (np.array(column) for column in numbers)
        self._waiting.clear()
        columns = {
            "trigger": trigger,
            "sequence_number": number,
            "timestamp": stamp,
            "timestamp_hw": stamp_hw,
        }
        if self._checksums is not None:
            more = self._checksums.shape[1:]
            blank = ("",) * (more[0] if more else 1)
            known = [values or blank for values in sums]
            columns[CHECKSUM] = np.array(known, self._checksums.dtype).reshape(-1, *more)
        self._write_columns(index, columns)
        # Readers that follow the file (SWMR), and what a kill leaves of such a file, have no frame as stored
        # without what it brought: its writes go to the kernel in this order.
        self._flush_checksums()
        self._write_columns(index, {STATUS: self._account.statuses_of(index)})

    def _write_columns(
        self, index: np.ndarray[Any, Any], columns: Mapping[str, np.ndarray[Any, Any]]
    ) -> None:
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) > NEIGHBOURS) + 1):
            first, last = int(index[run[0]]), int(index[run[-1]])
            gapless = last - first + 1 == len(run)
            for name, values in columns.items():
                dataset = self._detector[name]
                # Between them stands what came earlier, or nothing yet: it is written back as it was.
                block = values[run] if gapless else dataset[first : last + 1]
                if not gapless:
                    block[index[run] - first] = values[run]
                dataset[first : last + 1] = block

    def _write_late(self) -> None:
        """Rare, so one by one."""
        for index, sums in self._late:
            if self._checksums is not None and sums:
                row = self._checksums[index]
                came = [number for number, value in enumerate(sums) if value]
                row[came] = [sums[number].encode() for number in came]
                self._checksums[index] = row
        if self._late:
            self._flush_checksums()
        for index, _ in self._late:
            self._detector[STATUS][index] = self._account.status(index)
        self._late.clear()

    def _flush_checksums(self) -> None:
        if self._checksums is not None:
            self._checksums.flush()  # it stays open


def forget(detector: Any, kept: np.ndarray[Any, Any]) -> None:
    """What was written beside frames that are not there reads as of frames that never came.

    Args:
        detector: NXdetector group, open for writing.
        kept: bool, one an index: frames whose values stay.
    """
    for dataset in _rows_of(detector).values():
        # To the end of the last chunk: what was written there would show when the dataset grows again.
        rows = dataset.chunks[0]
        dataset.resize(-(-max(len(dataset), len(kept)) // rows) * rows, axis=0)
        values = dataset[:]
        blank = np.full_like(values, dataset.fillvalue)
        blank[: len(kept)][kept] = values[: len(kept)][kept]
        if not np.array_equal(values, blank, equal_nan=values.dtype.kind == "f"):
            dataset[:] = blank
        dataset.resize(len(kept), axis=0)
    region_rows.forget(detector, kept)


def accompanied(detector: Any, length: int) -> np.ndarray[Any, Any]:
    """Of which of the first frames the file has what they brought; bool.

    A value is written before the status of its frame, but HDF5's index can lack the chunk that it is in: a
    flush that was cut short may have written that of the status alone.

    Args:
        detector: NXdetector group of the file.
        length: frames.
    """
    found = np.ones(length, bool)
    for dataset in _rows_of(detector).values():
        rows = dataset.chunks[0]
        found[len(dataset) :] = False
        for first in range(0, min(length, len(dataset)), rows):
            corner = (first, *(0 for _ in dataset.shape[1:]))
            if dataset.id.get_chunk_info_by_coord(corner).byte_offset is None:
                found[first : first + rows] = False
    return found


def _rows_of(detector: Any) -> dict[str, Any]:
    """Every dataset with a row an index, whoever wrote it; pixels have three dimensions and more."""
    return {
        name: dataset
        for name, dataset in detector.items()
        if name != "data"
        and (maximum := getattr(dataset, "maxshape", None))
        and len(maximum) <= 2
        and maximum[0] is None
    }
