"""One part of a series: a file, the store of the frames in it, and what is not flushed yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from h5py import h5d

from penstock.receiver.files.stores.allocation import make_room
from penstock.receiver.files.stores.chunked import ChunkedStore, compression_of
from penstock.receiver.files.stores.contract import FrameFormat, Writing, describe
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.parts.names import NUMBER, SERIES, Mark, foreign
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.stores.segments.segment_file import SegmentFile

ROOM_BYTES = 2**18
"""Bytes that a flush of a part may need: the index of its frames."""


class Part:
    """An open part.

    Args:
        folder: descriptor of its folder.
        name: name of its file.
        mark: what it says of itself, or should.
        frames: format of the frames; the planned ones are those of this part.
        writing: how they are written; its queue is that of this part.
        mode: "x" to create it, "r+" to continue one that another process has left.
        placed: whether the offset of each frame can be known ahead; only of a new one.

    Raises:
        FileExistsError: a file of that name exists already.
        ValueError: the file is of another series, or its end was being written.
        OSError, RuntimeError: it cannot be created or opened.
    """

    def __init__(
        self, folder: int, name: str, mark: Mark, frames: FrameFormat, writing: Writing, *,
        mode: str = "x", placed: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.file = SegmentFile(folder, name, mode, {SERIES: mark.series, NUMBER: mark.part + 1})
        self.store: PreallocatedStore | ChunkedStore
        try:
            self.disk = self.file.disk
            if mode == "x":
                kind = PreallocatedStore if placed else ChunkedStore
                self.store = kind(self.file.group, frames, writing=writing)
                describe(self.store.data, frames.interpretation)
                disk_file.flush(self.file.file)
            else:
                self.store = self._found(mark, frames, writing)
        except BaseException:
            if mode == "x":
                self.file.discard()
            else:
                self.file.close_quietly()
            raise
        self.is_empty = mode == "x"
        """True if no frame was ever written into it."""
        self._flushed = True

    def _found(self, mark: Mark, frames: FrameFormat, writing: Writing) -> PreallocatedStore | ChunkedStore:
        if why := foreign(self.file.file, Path(self.name), mark.series):
            raise ValueError(why)
        data = self.file.group["data"]
        if data.is_virtual:
            raise ValueError(f"the end of {self.name} was being written: data is a view of the stored frames")
        frames = replace(frames, compression=compression_of(data))
        if data.id.get_create_plist().get_fill_time() == h5d.FILL_TIME_NEVER:
            return PreallocatedStore(self.file.group, frames, writing, data)
        return ChunkedStore(self.file.group, frames, data=data, writing=writing)

    def wrote(self) -> None:
        """Note that a frame was written, or queued.

        Raises:
            OSError: HDF5 could not write its own structures.
        """
        if self.disk.error is not None:
            self.disk.check()
        self.is_empty = self._flushed = False

    def reserve(self, rows: int) -> None:
        """Make the dataset at least so long, in the file too; views show no more of it than there is."""
        if len(self.store.data) < rows:
            self.store.reserve(rows)
            disk_file.flush(self.file.file)

    def flush(self) -> None:
        """Hand all frames to the kernel, and the index that refers to them."""
        self.store.flush()
        if self._flushed:
            return
        make_room(self.disk.descriptor, ROOM_BYTES)
        disk_file.flush(self.file.file)
        self._flushed = True

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to the length of the statuses, see `FrameStore.finish`, and close the file; remove one that has
        no frames."""
        if self.is_empty:
            self.discard()
            return
        try:
            self.store.finish(statuses)
        finally:
            self.close()

    def discard(self) -> None:
        """Remove the file, which was created here and has no frames; may be called again."""
        self.store.close(synced=False)
        self.file.discard()

    def close(self) -> None:
        """Close the file; may be called again."""
        self.store.close(synced=False)
        self.file.close()
