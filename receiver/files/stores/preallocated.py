"""One chunked dataset whose chunks are allocated ahead; frames are written there by pwrite.

For uncompressed frames of one blob. HDF5 allocates the chunks when the dataset grows (early allocation, never
filled) and is asked once for their offsets; a frame then takes no call of HDF5, and a thread may write it,
which HDF5 would not allow. If the number of frames was not announced, places are made in steps. A
contiguous dataset could neither grow nor shrink (decision 20).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from h5py import h5d, h5p

from penstock.codecs.pixel_type import fill_value
from penstock.receiver.files.limit import most_bytes
from penstock.receiver.files.stores.allocation import allocate
from penstock.receiver.files.stores.chunked import stored_frame
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk import chunk_places, disk_file, space_ahead
from penstock.receiver.files.stores.disk.blob_writes import (
    MOST_FRAME_BYTES,
    BlobWrites,
    DirectWrites,
    GatheredWrites,
)
from penstock.receiver.files.stores.disk.disk_file import descriptor_of
from penstock.receiver.files.stores.disk.space_ahead import SpaceAhead
from penstock.receiver.files.stores.disk.write_thread import WriteThread
from penstock.receiver.files.stores.gaps import close_gaps
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.messages import Buffer, Frame, Image

LEAST_FRAME_BYTES = 2**12
"""Smallest frame. Below this size, pages shared by two frames cost as much as HDF5."""
MOST_FRAMES = 2**18
"""Most frames of a series. HDF5 lists the offsets of all frames at each step: a microsecond each."""
STEP_BYTES = 2**31
FIRST_ROWS, STEP_ROWS = 2**16, 2**12
"""Chunks are allocated for this many bytes or frames at once: first for more, 0.1 s for which only Arm waits,
later for less, a few milliseconds for which ZeroMQ and the kernel take what arrives. Chunks that are never
written take no space on the disk once the file is closed, but do so in a file left by a kill."""
STEP_SECONDS = 0.001
"""Longest time that the loop waits for the allocation of their space within a series."""
LEAST_BYTES, MOST_BYTES = 2**20, 2**30
"""Least and most bytes at once if the number of frames was not announced: as many frames again as there are,
but no more than a quarter of the free space. Little at first: it may be a series of one frame."""
MOST_UNANNOUNCED = 2**16
"""Most places of such a series, of which HDF5 lists all in each step: the loop waits for it, a tenth of a
second in the last one. HDF5 writes later frames itself."""
ROWS_WITHOUT_PLACE = 1024
"""Rows by which the dataset grows for those at once."""


def has_places(detector: Any, frames: FrameFormat, writing: Writing) -> bool:
    """Return whether the offset of each frame can be known ahead, and the disk has space for all frames.

    Without space, the failure would show only at the end, when missing frames are filled.

    Args:
        detector: NXdetector group of the open file.
        frames: format of the frames.
        writing: how frames are written.
    """
    if frames.compression != "none" or frames.is_split or frames.nbytes < LEAST_FRAME_BYTES:
        return False
    if writing.swmr:  # for which HDF5 keeps its writes in order
        return False
    planned = frames.planned
    if planned is None:
        return most_bytes() is None  # places beyond the limit of a file cannot be had, whatever arrives
    if not 0 < planned <= MOST_FRAMES * writing.files:
        return False
    disk = os.fstatvfs(descriptor_of(detector.file))
    return frames.nbytes * planned <= disk.f_bavail * disk.f_frsize


class PreallocatedStore(FrameStore):
    """Frames of one blob.

    Args:
        detector: NXdetector group; `data` is created in it.
        frames: format of the frames; uncompressed.
        writing: how frames are written.
        data: dataset left by another process; `None` to create it.
    """

    def __init__(self, detector: Any, frames: FrameFormat, writing: Writing, data: Any = None) -> None:
        self.data = self._create(detector, frames) if data is None else data
        self._frames = frames
        self._file = detector.file
        self._descriptor = os.dup(descriptor_of(self._file))
        self._space_seconds = writing.space_seconds
        self._files = writing.files
        self._offsets: list[int] = []
        self._space: SpaceAhead | None = None
        self._has_others = False
        """True if there are frames without a place; once there are, all later ones are."""
        try:
            self._place(len(self.data))
            if data is None:
                self._make_room(0)  # now, since only Arm waits for it
            self._writes: BlobWrites
            if writing.queue_bytes:
                self._writes = WriteThread(self._descriptor, writing.queue_bytes, writing.before_wait)
            elif frames.nbytes <= MOST_FRAME_BYTES:
                self._writes = GatheredWrites(self._descriptor)
            else:
                self._writes = DirectWrites(self._descriptor)
        except BaseException:
            self._end_space()
            os.close(self._descriptor)  # an open descriptor would keep the space of a deleted file
            raise

    @staticmethod
    def _create(detector: Any, frames: FrameFormat) -> Any:
        early = h5p.create(h5p.DATASET_CREATE)
        early.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        return detector.create_dataset(
            "data",
            (0, *frames.shape),
            frames.dtype,
            maxshape=(None, *frames.shape),
            chunks=(1, *frames.shape),
            fillvalue=fill_value(frames.dtype),
            fill_time="never",  # an early allocation would write every frame twice
            dcpl=early,
        )

    @property
    def waiting_bytes(self) -> int:
        return self._writes.waiting_bytes

    @property
    def held_seconds(self) -> float:
        return self._writes.held_seconds

    def write(self, index: int, frame: Frame) -> None:
        """Write a frame, or queue it: small ones for a common call, all for a thread if there is one; waits
        while its queue is full."""
        if index >= len(self._offsets) and (self._has_others or not self._make_room(index)):
            self._write_without_place(index, frame.blobs[0])
            return
        offset = self._offsets[index]
        self._reach(offset)
        self._writes.put(index, frame.blobs[0], offset)

    @property
    def most_run_bytes(self) -> int:
        return 0 if self._has_others else MOST_FRAME_BYTES

    def write_run(self, first: int, blobs: Sequence[Buffer]) -> None:
        end = first + len(blobs)
        if end > len(self._offsets) and not self._make_room(end - 1):
            for index, blob in enumerate(blobs, first):
                self._write_without_place(index, blob)
            return
        offsets = self._offsets[first:end]
        self._reach(offsets[-1])
        self._writes.put_run(first, blobs, offsets)

    def read(self, index: int) -> Frame:
        self._writes.drain()
        if index >= len(self._offsets):
            return stored_frame(self.data, index, self._frames)
        frames = self._frames
        blob = os.pread(self._descriptor, frames.nbytes, self._offsets[index])
        return Frame(Image(shape=frames.shape, type=frames.dtype, compression="none", frame=index), [blob])

    def reserve(self, rows: int) -> None:
        """Make the dataset at least so long; see `views`."""
        if len(self._offsets) < rows and (self._has_others or not self._make_room(rows - 1)):
            self._has_others = True
            self.data.resize(max(rows, len(self.data)), axis=0)

    def flush(self) -> None:
        self._writes.drain()

    def lost(self) -> Collection[int]:
        return self._writes.lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to this length; missing frames read as the fill value, even on a full disk."""
        self._end_space()
        self._writes.close()
        error = close_gaps(self.data, np.isin(statuses, WITH_DATA), self._offsets)
        if error is not None:
            raise error

    def close(self, *, synced: bool) -> None:
        self._end_space()
        self._writes.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _make_room(self, index: int) -> bool:
        """Make places up to this index, and some more; return whether it has one now."""
        rows, planned, nbytes = len(self._offsets), self._frames.planned, self._frames.nbytes
        if planned is not None:
            step = max(min(STEP_BYTES // nbytes, STEP_ROWS if rows else FIRST_ROWS), 1)
            end = max(index + 1, min(rows + step, planned))
        else:
            disk = os.fstatvfs(self._descriptor)
            step = min(max(rows, LEAST_BYTES // nbytes, 1), max(MOST_BYTES // nbytes, 1))
            end = min(max(rows, index) + step, MOST_UNANNOUNCED)
            if index >= end or (end - rows) * nbytes > disk.f_bavail * disk.f_frsize // 4:
                return False
        self._end_space()
        self._place(end)
        start, end = self._offsets[rows], self._file.id.get_filesize()
        if self._space_seconds:
            seconds = min(self._space_seconds, STEP_SECONDS) if rows else self._space_seconds
            start = allocate(self._descriptor, start, end, seconds)
            if start < end and space_ahead.has_core(self._files):
                self._space = SpaceAhead(self._descriptor, start, end, nbytes)
        return True

    def _reach(self, offset: int) -> None:
        """Let the space be allocated ahead of what is written there."""
        if (space := self._space) is not None:
            space.reached = offset
            if offset >= space.wake_at:
                space.wake()

    def _write_without_place(self, index: int, blob: Buffer) -> None:
        disk, self._has_others = disk_file.disk_of(self._file), True
        if index >= len(self.data):
            self.data.resize(index + ROWS_WITHOUT_PLACE, axis=0)
        if isinstance(self._writes, WriteThread):
            self._writes.wait(len(blob))  # not within HDF5, which must not see earlier failures
            disk.put = partial(self._writes.put, index)
        disk.frame = blob
        self.data.id.write_direct_chunk((index, *(0 for _ in self._frames.shape)), blob)
        disk.frame = None

    def _end_space(self) -> None:
        if self._space is not None:
            self._space.close()
            self._space = None

    def _place(self, rows: int) -> None:
        """Let HDF5 allocate the chunks, and keep their offsets."""
        if rows == len(self.data) == 0:
            return
        self.data.resize(rows, axis=0)
        # The index is written before any frame: later flushes do not change it, so that a kill during one of
        # them cannot damage it.
        writes = disk_file.flush(self._file)
        new = range(len(self._offsets), rows)
        places = chunk_places.find(writes, new, self.data.ndim, self._frames.nbytes)
        if places is not None:
            self._offsets += places.tolist()
            return
        self._offsets = [0] * rows
        self.data.id.chunk_iter(self._keep)

    def _keep(self, chunk: Any) -> None:
        self._offsets[chunk.chunk_offset[0]] = chunk.byte_offset
