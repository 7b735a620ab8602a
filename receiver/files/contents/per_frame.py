"""Values per frame besides the pixels, one row per index: status, trigger, number, times, checksums.

They are kept in memory and written in batches, since writing one element takes h5py as long as a thousand.
The values are written first, then the status. HDF5 writes lengths and indices of datasets in an order of its
own, so a kill may leave gaps: `accompanied` and `forget` mend these at the next start.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from penstock.receiver.files.stores.objects import set_attribute
from penstock.receiver.files.stores.rows import Rows
from penstock.receiver.models import FrameStatus
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.regions.rows import RegionRows
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.account import Account
from penstock.stins.checksums import digits
from penstock.stins.messages import Image

CHUNK = 4096
"""Most rows per chunk."""
ROOM_PER_FRAME = 256
"""Bytes that a flush may need per frame: chunks of the datasets, and their index."""
NEIGHBOURS = 1024
"""Frames at most this far apart are written in one call, with the values between them: a call of HDF5 takes
as long as writing this many values."""
STATUS, CHECKSUM = "frame_status", "checksum"
CODES = ", ".join(
    f"{int(status)} {status.name.lower().replace('_', ' ')}"
    for status in FrameStatus
    if status is not FrameStatus.PENDING
)
COLUMNS: Mapping[str, tuple[str, float, Mapping[str, str]]] = {
    STATUS: ("uint8", int(FrameStatus.MISSING), {"codes": CODES}),
    "trigger": ("int64", -1, {}),
    "sequence_number": ("int64", -1, {"long_name": "frame number as the detector sent it"}),
    "timestamp": ("float64", np.nan, {"units": "s"}),
    "timestamp_hw": ("float64", np.nan, {"units": "s"}),
}
"""Datasets with one value per frame: dtype, fill value, attributes."""
Columns: TypeAlias = Mapping[str, Rows]


def create(detector: Any, chunk: int) -> None:
    """Create the datasets, empty.

    Args:
        detector: NXdetector group.
        chunk: rows per chunk.
    """
    for name, (dtype, fill, attributes) in COLUMNS.items():
        made = Rows.create(detector, name, dtype, fill, chunk)
        for key, text in attributes.items():
            set_attribute(made.id, key, text)


def created(detector: Any) -> Columns:
    """Return the datasets, which are still empty."""
    return {name: Rows.find_empty(detector, name, dtype) for name, (dtype, _, _) in COLUMNS.items()}


def rows_per_chunk(planned: int | None) -> int:
    """Return as many rows as are planned, up to `CHUNK`: a file of one frame shall be small."""
    return CHUNK if planned is None else min(max(planned, 1), CHUNK)


class PerFrame:
    """The values per frame of one series.

    Args:
        detector: NXdetector group with the datasets.
        account: account of the series, which has the statuses.
        regions: regions of interest of the series, whose values are written likewise.
        columns: the datasets, if they were created just now.
    """

    def __init__(
        self,
        detector: Any,
        account: Account,
        regions: RegionSeries | None = None,
        columns: Columns | None = None,
    ) -> None:
        self._detector = detector
        self._regions = RegionRows(detector, regions)
        self._account = account
        self._columns = dict(columns or {name: Rows.find(detector, name) for name in COLUMNS})
        is_found = columns is None and CHECKSUM in detector
        self._checksums = Rows.find(detector, CHECKSUM) if is_found else None
        self.rows = len(self._columns[STATUS])
        """Length of the datasets."""
        # Indices and images of frames whose values are not written yet.
        self._indices = array("q")
        self._images: list[Image] = []
        self._late: list[tuple[int, tuple[str, ...]]] = []
        self._settled = self._others = 0

    @property
    def unwritten(self) -> int:
        """Number of frames with unwritten values; the values of their regions count as one frame."""
        return len(self._images) + len(self._late) + self._regions.unwritten

    @property
    def room(self) -> int:
        """Most bytes that `write` needs on the disk."""
        return ROOM_PER_FRAME * self.unwritten + self._regions.room

    def take_checksums(self, algorithm: str, blobs: int) -> None:
        """Create the dataset of the checksums: text, (frames) or (frames, blobs), empty where there is none.

        Args:
            algorithm: one of `stins.checksums.ALGORITHMS`.
            blobs: number of blobs per frame.
        """
        more = () if blobs == 1 else (blobs,)
        chunk = rows_per_chunk(self._account.planned)
        self._checksums = Rows.create(
            self._detector, CHECKSUM, f"S{digits(algorithm)}", None, chunk, (self.rows, *more)
        )
        set_attribute(self._checksums.id, "algorithm", algorithm)

    def add(self, index: int, image: Image) -> None:
        """Add the values of a frame that has been stored."""
        self._indices.append(index)
        self._images.append(image)

    def add_run(self, first: int, images: Sequence[Image]) -> None:
        """Add the values of consecutive frames that have been stored."""
        self._indices.extend(range(first, first + len(images)))
        self._images += images

    def complete(self, index: int, image: Image) -> None:
        """Add the values of late modules of a frame that is stored already."""
        self._late.append((index, image.checksums or ()))

    def drop(self, lost: Collection[int]) -> None:
        """Drop the values of frames that could not be stored after all."""
        kept = [each for each in zip(self._indices, self._images, strict=True) if each[0] not in lost]
        self._indices = array("q", [index for index, _ in kept])
        self._images = [image for _, image in kept]

    def trigger(self, index: int) -> int | None:
        """Return the trigger number of a stored frame; `None` if it has none."""
        if (image := self._waiting(index)) is not None:
            return image.trigger
        found = int(self._columns["trigger"].read(index, index + 1)[0])
        return None if found < 0 else found

    def timestamp(self, index: int) -> float | None:
        """Return the end of the exposure of a stored frame, in seconds since 1970 (UTC), as its sender says;
        `None` if it does not."""
        if (image := self._waiting(index)) is not None:
            return image.timestamp
        found = float(self._columns["timestamp"].read(index, index + 1)[0])
        return found if math.isfinite(found) else None

    def _waiting(self, index: int) -> Image | None:
        """Return the header of a frame whose values are not written yet."""
        return self._images[self._indices.index(index)] if index in self._indices else None

    def resize(self, rows: int) -> None:
        """Resize the datasets to this many frames."""
        if rows == self.rows:
            return
        for column in self._all():
            column.resize(rows)
        self._regions.resize(rows)
        self.rows = rows

    def let_go(self) -> None:
        """Release what is open in the file."""
        self._columns.clear()
        self._checksums = None

    def write(self) -> None:
        """Write the values that wait."""
        self._regions.write(self.rows)
        self._write_waiting()
        self._write_late()

    def write_others(self) -> None:
        """Write the statuses of frames that arrived but are not stored: a crash would lose them."""
        account, counts = self._account, self._account.counts()
        others = counts.received - counts.duplicate - counts.stored
        if others != self._others:
            first, end = self._settled, min(account.highest + 1, self.rows)
            statuses = account.statuses(end)[first:]
            statuses[statuses == FrameStatus.PENDING] = FrameStatus.MISSING
            self._columns[STATUS].write(first, statuses)
            self._others = others
        self._settled = account.gap_start

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut the datasets to the length of these statuses (uint8, one per index), and write the statuses."""
        self.resize(len(statuses))
        self._columns[STATUS].write(0, statuses)

    def _write_waiting(self) -> None:
        if not self._images:
            return
        index, images = np.array(self._indices), self._images
        self._indices, self._images = array("q"), []
        if np.any(np.diff(index) <= 0):
            # A frame that arrived again, because some of its images were corrupt, replaces its earlier
            # values.
            rows = dict(zip(index.tolist(), images, strict=True))
            index = np.array(sorted(rows))
            images = [rows[each] for each in index.tolist()]
        columns = {
            "trigger": _column([image.trigger for image in images], np.int64, -1),
            "sequence_number": _column([image.frame for image in images], np.int64, -1),
            "timestamp": _column([image.timestamp for image in images], np.float64, np.nan),
            "timestamp_hw": _column([image.timestamp_hw for image in images], np.float64, np.nan),
        }
        if self._checksums is not None:
            more = self._checksums.shape[1:]
            blank = ("",) * (more[0] if more else 1)
            known = [image.checksums or blank for image in images]
            columns[CHECKSUM] = np.array(known, self._checksums.dtype).reshape(-1, *more)
        self._write_columns(index, columns)
        # Values before statuses: a reader that follows the file (SWMR), and a file left by a kill, have no
        # stored frame without its values.
        self._flush_open()
        self._write_columns(index, {STATUS: self._account.statuses_of(index)})

    def _write_columns(
        self, index: np.ndarray[Any, Any], columns: Mapping[str, np.ndarray[Any, Any]]
    ) -> None:
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) > NEIGHBOURS) + 1):
            first, last = int(index[run[0]]), int(index[run[-1]])
            gapless = last - first + 1 == len(run)
            for name, values in columns.items():
                column = self._columns[name] if name in COLUMNS else self._checksums
                assert column is not None
                # Values between them are read and written back unchanged.
                block = values[run] if gapless else column.read(first, last + 1)
                if not gapless:
                    block[index[run] - first] = values[run]
                column.write(first, block)

    def _write_late(self) -> None:
        """Write late values one by one: they are rare."""
        for index, sums in self._late:
            if self._checksums is not None and sums:
                row = self._checksums.read(index, index + 1)
                known = [number for number, value in enumerate(sums) if value]
                row.reshape(-1)[known] = [sums[number].encode() for number in known]
                self._checksums.write(index, row)
        if self._late:
            self._flush_open()
        for index, _ in self._late:
            self._columns[STATUS].write(index, np.array([self._account.status(index)]))
        self._late.clear()

    def _flush_open(self) -> None:
        for column in self._all():
            column.flush()

    def _all(self) -> list[Rows]:
        return [*self._columns.values(), *([] if self._checksums is None else [self._checksums])]


def _column(values: list[Any], dtype: type, blank: float) -> np.ndarray[Any, Any]:
    """Return these values, with `blank` for `None`."""
    unknown = values.count(None)
    if unknown == len(values):
        return np.full(unknown, blank, dtype)
    return np.array([blank if value is None else value for value in values] if unknown else values, dtype)


def forget(detector: Any, kept: np.ndarray[Any, Any]) -> None:
    """Reset the values of frames that are not in the file to the fill values.

    Args:
        detector: NXdetector group, open for writing.
        kept: bool, one per index: frames whose values stay.
    """
    for dataset in _rows_of(detector).values():
        # To the end of the last chunk: values there would reappear when the dataset grows again.
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
    """Return which of the first frames have their values in the file; bool, one per index.

    A value is written before the status of its frame, but HDF5's index can lack the chunk of the value: a
    flush that was cut short may have written only the chunk of the status.

    Args:
        detector: NXdetector group of the file.
        length: number of frames.
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
    """Return all datasets with one row per index, without pixels, which have three dimensions or more."""
    return {
        name: dataset
        for name, dataset in detector.items()
        if name != "data"
        and (maximum := getattr(dataset, "maxshape", None))
        and len(maximum) <= 2
        and maximum[0] is None
    }
