"""The store of segments: files of N frames each, one after the other, each closed as soon as it is full.

A closed segment can be read while the series runs. `data` is a virtual dataset with one mapping per segment,
also of those that do not exist yet: it is valid from the first frame on, even after an abort, and shows the
fill value for segments that are missing; open ones are locked. A segment stays open for late frames as long
as the gap clock waits for them; after that it is reopened for them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files import lease, storage
from penstock.receiver.files.stores.allocation import make_room
from penstock.receiver.files.stores.chunked import ChunkedStore, stored_frame
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing, describe
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.disk_file import descriptor_of
from penstock.receiver.files.stores.disk.superblock import repair
from penstock.receiver.files.stores.errors import FilesGoneError, OverLimitError
from penstock.receiver.files.stores.replace_data import replace_data
from penstock.receiver.files.stores.segments.layout import (
    create_data,
    existing_segments,
    file_name,
    segments_there,
)
from penstock.receiver.files.stores.segments.segment_file import (
    DATASET,
    SegmentFile,
    holds_nothing,
    may_replace,
)
from penstock.receiver.models import FrameStatus
from penstock.stins.messages import Frame
from penstock.stins.texts import plural

ROOM_BYTES = 2**18
"""Bytes that a flush of a segment may need: the index of its frames."""
FIRST_MAPPED = 1024
"""Segments in the first virtual dataset, which is replaced by one of twice as many when more come."""


@dataclass
class Segment:
    """An open segment."""

    file: SegmentFile
    store: ChunkedStore
    left: int
    """Number of frames until it is full; after a reopening, more than can come."""
    empty: bool
    """True if nothing was ever written into it."""
    since: float = field(default=0.0)
    """Time of the first frame of a later segment; 0 for the latest segment."""
    unsafe: set[int] = field(default_factory=set)
    """Frames written since the last flush."""


class SegmentStore(FrameStore):
    """Frames in segments of `writing.frames_per_file` each.

    Args:
        detector: NXdetector group; `data` is created in it.
        frames: format of the frames.
        path: file of the series; the segments are created next to it, exclusively.
        writing: frames per segment, waiting time for late frames, and whether existing files may be replaced.
        data: virtual dataset left by another process; `None` to create it.

    Raises:
        FileExistsError: a file with the name of a segment exists.
    """

    def __init__(
        self, detector: Any, frames: FrameFormat, path: Path, writing: Writing, data: Any = None
    ) -> None:  # fmt: skip
        self._detector = detector
        self._frames = frames
        self._path = path
        self._length = writing.frames_per_file
        self._patience = writing.late_seconds
        self._open: dict[int, Segment] = {}
        self._written: set[int] = set()
        self._gone: set[int] = set()
        self._lost: set[int] = set()  # of segments that could not be closed
        self._latest = -1
        self._end = 0  # of the indices written so far
        self._folder = storage.open_folder(path)
        try:
            if data is None:
                self._make_free(writing)
                planned = FIRST_MAPPED * self._length if frames.planned is None else frames.planned
                self._rows = min(planned, FIRST_MAPPED * self._length)
                self.data = create_data(detector, path, frames, self._rows, self._length)
            else:
                self._rows = len(data)
                self.data = data
                self._find()
        except BaseException:
            os.close(self._folder)
            raise

    def write(self, index: int, frame: Frame) -> None:
        """Store the blob of a frame; close its segment when it is full."""
        number, row = divmod(index, self._length)
        segment = self._open.get(number) or self._begin(number)
        if segment.left == 1:
            # Before the write: a frame that is in the file must not be reported as lost.
            _make_room(segment, sum(map(len, frame.blobs)))
        segment.store.write(row, frame)
        segment.file.disk.check()
        segment.unsafe.add(index)
        self._end = max(self._end, index + 1)
        segment.empty = False
        segment.left -= 1
        if segment.left == 0:
            self._close(number)

    def read(self, index: int) -> Frame:
        number, row = divmod(index, self._length)
        if (segment := self._open.get(number)) is not None:
            return segment.store.read(row)
        with h5py.File(self._place(number), "r", locking=False) as file:
            return stored_frame(file[DATASET], row, self._frames)

    def flush(self) -> None:
        """Hand the open segments to the kernel, and close those whose time for late frames is over."""
        now = time.monotonic()
        for number, segment in list(self._open.items()):
            _make_room(segment)
            if segment.since and now - segment.since > self._patience:
                self._close(number)
            else:
                disk_file.flush(segment.file.file)
                segment.unsafe.clear()
        self._look_for(self._open)
        self._say_gone()

    def lost(self) -> Collection[int]:
        """Return the frames of segments that were removed, or whose end could not be written."""
        gone: set[int] = set()
        for number in self._gone:
            start = number * self._length
            gone.update(range(start, min(start + self._length, self._end)))
        return gone | self._lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Close the segments, and cut them and the virtual dataset to this length; an error in one segment
        does not keep the others from it."""
        length = len(statuses)
        errors: list[Exception] = []
        self._look_for(self._written)
        finished = set(self._open)
        for number, segment in list(self._open.items()):
            if segment.empty:
                self._discard(number)
                continue
            start = number * self._length
            with _collected(errors):
                segment.store.finish(statuses[start : start + self._length])
            with _collected(errors):
                self._close(number)
        for number in self._written - self._gone - finished:
            rows = max(0, length - number * self._length)
            if rows < self._share(number):
                with _collected(errors):
                    self._cut(number, rows)
        if length != self._rows:
            self._map(length)
        if errors:
            raise errors[0]
        self._say_gone()

    def close(self, *, synced: bool) -> None:
        """Close the segments."""
        errors: list[Exception] = []
        for number in list(self._open):
            with _collected(errors):
                self._close(number)
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
        if errors:
            raise errors[0]
        if synced:
            for number in sorted(self._written - self._gone):
                storage.sync(self._path.with_name(file_name(self._path, number)))

    # -- segments ------------------------------------------------------------------------------

    def _begin(self, number: int) -> Segment:
        if number >= storage.MOST_SEGMENTS:
            raise OverLimitError(
                f"a series has at most {storage.MOST_SEGMENTS:,} segments, of "
                f"{plural(self._length, 'frame')} each; "
                "set frames_per_file higher"
            )
        if (number + 1) * self._length > self._rows and self._rows != self._frames.planned:
            self._map(max(2 * self._rows, (number + 1) * self._length))
        name = file_name(self._path, number)
        there = number in self._written
        if there:
            repair(self._place(number))  # its writer may have been killed
        file = SegmentFile(self._folder, name, "r+" if there else "x")
        try:
            found = file.group.get("data")
            store = ChunkedStore(file.group, self._frames, data=found)
            if found is None:
                store.grow(self._share(number))
                describe(store.data, self._frames.interpretation)
                disk_file.flush(file.file)
        except BaseException:
            if there:
                file.close_quietly()
            else:
                file.discard()
            raise
        self._written.add(number)
        now = time.monotonic()
        late = number < self._latest
        left = self._share(number) if found is None else 2 * self._length
        segment = Segment(file, store, left, not there, now if late else 0.0)
        if not late:
            self._latest = number
            for other in self._open.values():
                other.since = other.since or now
        self._open[number] = segment
        return segment

    def _close(self, number: int) -> None:
        segment = self._open.pop(number)
        try:
            segment.file.close()
        except BaseException:
            self._lost |= segment.unsafe
            raise

    def _discard(self, number: int) -> None:
        """Remove a segment in which nothing could be stored: its frames read as the fill value."""
        self._open.pop(number).file.discard()
        self._written.discard(number)
        self._gone.discard(number)

    def _look_for(self, numbers: Iterable[int]) -> None:
        """Find out which of these segments were removed or replaced: their frames read as the fill value."""
        for number in numbers:
            segment = self._open.get(number)
            try:
                found = os.stat(file_name(self._path, number), dir_fd=self._folder)
            except FileNotFoundError:
                self._gone.add(number)
                continue
            if segment and not os.path.samestat(found, os.fstat(descriptor_of(segment.file.file))):
                self._gone.add(number)

    def _say_gone(self) -> None:
        if self._gone:
            self._look_for(self._written)  # more may have been removed
            names = ", ".join(file_name(self._path, number) for number in sorted(self._gone)[:3])
            more = f" and {len(self._gone) - 3} more" if len(self._gone) > 3 else ""
            raise FilesGoneError(f"{names}{more} was removed, moved or replaced")

    def _cut(self, number: int, rows: int) -> None:
        repair(self._place(number))  # its writer may have been killed
        file = SegmentFile(self._folder, file_name(self._path, number), "r+")
        try:
            file.file[DATASET].resize(rows, axis=0)
        finally:
            file.close()

    def _place(self, number: int) -> str:
        return f"{storage.by_descriptor(self._folder)}/{file_name(self._path, number)}"

    def _share(self, number: int) -> int:
        """Return the number of frames of a segment; the last segment may have fewer."""
        if self._frames.planned is None:
            return self._length
        return max(1, min(self._length, self._frames.planned - number * self._length))

    def _find(self) -> None:
        """Take over the segments that another process has begun."""
        known = self._detector["frame_status"][:] != FrameStatus.MISSING
        self._end = len(known)
        for start, place in segments_there(self._detector):
            # Its writer was killed before it had a frame, or before the first flush: it may not even open.
            nothing = not known[start : start + self._length].any() and may_replace(place.name, self._folder)
            if nothing or holds_nothing(place.name, self._folder):
                os.unlink(place.name, dir_fd=self._folder)
            else:
                self._written.add(start // self._length)
        self._latest = max(self._written, default=-1)

    def _make_free(self, writing: Writing) -> None:
        for name in existing_segments(self._path, storage.by_descriptor(self._folder)):
            empty = writing.replace_empty and holds_nothing(name, self._folder)
            if not writing.overwrite and not empty:
                raise FileExistsError(f"{self._path.with_name(name)} exists and is not overwritten")
            used = writing.overwrite and not writing.replace_empty
            if used and lease.is_written(name, self._folder):
                raise FileExistsError(
                    f"a receiver is writing {self._path.with_name(name)}, so it is not replaced"
                )
            if not may_replace(name, self._folder):
                raise FileExistsError(f"{self._path.with_name(name)} exists and is no segment")
            os.unlink(name, dir_fd=self._folder)

    def _map(self, rows: int) -> None:
        """Replace the virtual dataset by one of another length."""
        detector, path = self._detector, self._path
        self.data = replace_data(
            detector, lambda: create_data(detector, path, self._frames, rows, self._length, name=None)
        )
        self._rows = rows


def _make_room(segment: Segment, nbytes: int = 0) -> None:
    """Allocate space for the index of a segment, and for `nbytes` of a frame."""
    make_room(descriptor_of(segment.file.file), ROOM_BYTES + nbytes)


@contextlib.contextmanager
def _collected(errors: list[Exception]) -> Iterator[None]:
    """Collect errors instead of raising them."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        errors.append(error)
