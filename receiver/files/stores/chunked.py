"""One chunked dataset: a chunk is a blob, written as received (direct chunk write).

Measured with h5py 3.16: assigning one frame takes ten times as long as a direct chunk write, which bypasses
HDF5's chunk cache, type conversion and filters. With a thread, HDF5 only allocates a blob's place, and the
thread writes it there; the index that refers to it is written only after that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from functools import partial
from typing import Any

import h5py
import numpy as np

from penstock.codecs.pixel_type import fill_value, name_of
from penstock.receiver.files.limit import most_bytes
from penstock.receiver.files.stores.allocation import check_limit
from penstock.receiver.files.stores.contract import FILTERS, FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk.disk_file import disk_of
from penstock.receiver.files.stores.disk.write_thread import WriteThread
from penstock.receiver.files.stores.gaps import show_stored
from penstock.receiver.files.stores.rows import create_rows
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.messages import Buffer, Frame, Image


class ChunkedStore(FrameStore):
    """Frames of one blob in a chunk each, of k blobs in k chunks.

    Args:
        detector: NXdetector group; the dataset is created in it.
        frames: format of the frames.
        name: name of the dataset.
        data: dataset left by another process; `None` to create it.
        writing: how frames are written; without it, the caller writes.
    """

    def __init__(
        self, detector: Any, frames: FrameFormat, name: str = "data", data: Any = None,
        writing: Writing | None = None,
    ) -> None:  # fmt: skip
        self._compressed = frames.compression in FILTERS
        self._split = frames.is_split
        self._corner = (0,) * len(frames.shape)
        self._frames, self._name = frames, name
        self._failed = False
        self._is_limited = most_bytes() is not None  # asking takes a tenth of the time of writing 20 kB
        self.data = self._create(detector, frames, name) if data is None else data
        self._write_chunk = self.data.id.write_direct_chunk
        self._file = self.data.file
        self._disk = disk_of(self._file)
        self._thread: WriteThread | None = None
        if writing is not None and writing.queue_bytes and not self._split:
            self._descriptor = os.dup(self._disk.descriptor)  # the file may be closed before the thread ends
            self._thread = WriteThread(self._descriptor, writing.queue_bytes, writing.before_wait)

    def _create(self, detector: Any, frames: FrameFormat, name: str) -> Any:
        shape = frames.shape
        chunks = (1, 1, *shape[1:]) if self._split else (1, *shape)
        kind, fill = np.dtype(frames.dtype), fill_value(frames.dtype)
        filters = FILTERS.get(frames.compression, {})
        return h5py.Dataset(create_rows(detector, name, kind, (0, *shape), chunks, fill, **filters))

    @property
    def waiting_bytes(self) -> int:
        return 0 if self._thread is None else self._thread.waiting_bytes

    @property
    def held_seconds(self) -> float:
        return 0.0 if self._thread is None else self._thread.held_seconds

    def write(self, index: int, frame: Frame) -> None:
        # In a dataset with the filter, an uncompressed blob is stored with the filter masked out.
        mask = 1 if self._compressed and frame.image.compression == "none" else 0
        if self._thread is not None:
            self._thread.wait(len(frame.blobs[0]))  # not within HDF5, which must not see earlier failures
            self._disk.put = partial(self._thread.put, index)
        try:
            if not self._split:
                self._put((index, *self._corner), frame.blobs[0], mask)
                return
            for part, blob in enumerate(frame.blobs):
                if len(blob):  # the module arrived
                    self._put((index, part, 0, 0), blob, mask)
        except BaseException:
            self._failed = True
            raise

    def _put(self, place: tuple[int, ...], blob: Buffer, mask: int) -> None:
        if self._is_limited:
            check_limit(self._file, len(blob))
        self._disk.frame = blob
        self._write_chunk(place, blob, mask)
        self._disk.frame = None

    def read(self, index: int) -> Frame:
        self.flush()
        return stored_frame(self.data, index, self._frames)

    def grow(self, rows: int) -> None:
        if rows > len(self.data):  # it may be longer, see `reserve`
            self.data.resize(rows, axis=0)

    def reserve(self, rows: int) -> None:
        """Make the dataset at least so long; see `views`."""
        self.grow(rows)

    def flush(self) -> None:
        if self._thread is not None:
            self._thread.drain()

    def lost(self) -> Collection[int]:
        return () if self._thread is None else self._thread.lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to this length; missing frames read as the fill value. Frames that its thread has lost are in
        the index, and are hidden."""
        if self._thread is not None:
            self._thread.close()
        if self._failed:
            # HDF5 2.0 still remembers the failed chunk and would cut off one too many: reading another chunk
            # makes it forget.
            with contextlib.suppress(OSError):
                self.data[(0,) * self.data.ndim]
        try:
            self.data.resize(len(statuses), axis=0)
        except RuntimeError:
            if not self._failed or self.data.id.get_num_chunks():
                raise
            self._create_again(len(statuses))  # there is no other chunk to read
        if any(index < len(statuses) for index in self.lost()):
            show_stored(self.data, np.isin(statuses, WITH_DATA))

    def _create_again(self, rows: int) -> None:
        """Replace a dataset without chunks by an empty one of this length, under all its names."""
        old, group = self.data, self.data.parent
        attributes = dict(old.attrs)
        groups = {
            place.name: place for place in (group, group.file["entry"].get("data")) if place is not None
        }
        links = [(place, name) for place in groups.values() for name in place if place.get(name) == old]
        for place, name in links:
            del place[name]
        self.data = self._create(group, self._frames, self._name)
        self.data.attrs.update(attributes)
        self.data.resize(rows, axis=0)
        for place, name in links:
            if name not in place:
                place[name] = self.data
        self._write_chunk = self.data.id.write_direct_chunk

    def close(self, *, synced: bool) -> None:
        if self._thread is not None:
            self._thread.close()
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


def stored_frame(data: Any, index: int, frames: FrameFormat) -> Frame:
    """Return a frame of a chunked dataset with its blobs as received; see `FrameStore.read`."""
    shape = data.shape[1:]
    corner = (0,) * len(shape)
    places = [(index, part, 0, 0) for part in range(shape[0])] if frames.is_split else [(index, *corner)]
    blobs = [data.id.read_direct_chunk(place)[1] for place in places]
    compression = "none" if is_plain(data, places[0]) else frames.compression
    return Frame(Image(shape=shape, type=name_of(data.dtype), compression=compression, frame=index), blobs)


def compression_of(data: Any) -> str:
    """Return the compression of a dataset's chunks."""
    layout = data.id.get_create_plist()
    used = layout.get_filter(0)[0] if layout.get_nfilters() else None
    return next((name for name, keys in FILTERS.items() if keys["compression"] == used), "none")


def is_plain(data: Any, place: tuple[int, ...]) -> bool:
    """Return whether a chunk was stored without the filter of its dataset.

    Not by `read_direct_chunk`: of the chunk that was written last, HDF5 2.0 returns a mask of 0 there.
    """
    return bool(data.id.get_chunk_info_by_coord(place).filter_mask & 1)
