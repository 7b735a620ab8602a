"""The store of data files: segments of N frames each, one after the other, each closed as it fills.

A closed segment can be read by anybody while the series goes on. `data` is a virtual dataset with one mapping
per segment, which names it before it is there: it is right from the first frame on, after an abort too, and
shows the fill value where a segment is open, or never came. Frames that come late find their segment open for
as long as the gap clock waits for them; after that it is opened again for them.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files import lease, storage
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.chunked import ChunkedStore, stored_frame
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.data_files.data_file import (
    DATASET,
    DataFile,
    holds_nothing,
    may_replace,
)
from penstock.receiver.files.stores.data_files.layout import create_data, file_name, segments_there
from penstock.receiver.files.stores.disk_file import descriptor_of
from penstock.receiver.files.stores.errors import FilesGoneError, OverLimitError
from penstock.receiver.files.stores.replace_data import replace_data
from penstock.receiver.files.stores.space import make_room
from penstock.receiver.files.stores.superblock import repair
from penstock.receiver.models import FrameStatus
from penstock.stins.messages import Frame
from penstock.stins.texts import plural

ROOM_BYTES = 2**18
"""What a flush of a segment may need: the index of its frames."""
FIRST_MAPPED = 1024
"""Segments that the virtual dataset names at once; where more are planned, or nobody knows, it is made anew
with twice as many when they come."""


@dataclass
class Segment:
    """One that is open."""

    file: DataFile
    store: ChunkedStore
    left: int
    """Frames until it is full; more than there are where it was opened again."""
    empty: bool
    """Nothing was ever written into it."""
    since: float = field(default=0.0)
    """When a later one had its first frame; 0: it is the latest."""
    unsafe: set[int] = field(default_factory=set)
    """Frames that came since it was handed to the kernel last."""


class DataFilesStore(FrameStore):
    """Frames in files of `writing.frames_per_file` each.

    Args:
        detector: NXdetector group; `data` is created in it.
        frames: what every frame looks like.
        path: file of the series; the segments are created beside it, exclusively.
        writing: how many frames a segment has, how long it waits for late ones, and whether files that are
            there may be replaced.
        data: the virtual dataset that another process has left, if it is not to be created.

    Raises:
        FileExistsError: there is a file with the name of a segment.
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
        """Store the blobs of a frame; closes its segment when it is full."""
        number, row = divmod(index, self._length)
        segment = self._open.get(number) or self._begin(number)
        if segment.left == 1:
            # Before it is written: a frame that is in the file is not reported as one that could not be.
            _make_room(segment, sum(map(len, frame.blobs)))
        segment.store.write(row, frame)
        segment.file.disk.check()
        segment.unsafe.add(index)
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
        """Hand the open segments to the kernel, and close those whose late frames nobody waits for."""
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
        """Frames of segments that somebody has taken away, or whose end could not be written."""
        gone = {number * self._length + row for number in self._gone for row in range(self._length)}
        return gone | self._lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Close the segments, and cut them and the virtual dataset to this length; what is wrong with one
        segment keeps none of the others from it."""
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
        """Let go of the segments."""
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
                f"a series has at most {storage.MOST_SEGMENTS} segments, of "
                f"{plural(self._length, 'frame')} each; "
                "set frames_per_file higher"
            )
        if (number + 1) * self._length > self._rows and self._rows != self._frames.planned:
            self._map(max(2 * self._rows, (number + 1) * self._length))
        name = file_name(self._path, number)
        there = number in self._written
        if there:
            repair(self._place(number))  # where a process has left it that was killed
        file = DataFile(self._folder, name, "r+" if there else "x")
        try:
            found = file.group.get("data")
            store = ChunkedStore(file.group, self._frames, data=found)
            if found is None:
                store.grow(self._share(number))
                store.data.attrs["units"] = "counts"
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
        """Take away a segment in which nothing could be stored: without it the fill value is read."""
        self._open.pop(number).file.discard()
        self._written.discard(number)
        self._gone.discard(number)

    def _look_for(self, numbers: Iterable[int]) -> None:
        """Notice which of these segments are not where they were written: they read as the fill value."""
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
            self._look_for(self._written)  # who took one may have taken more
            names = ", ".join(file_name(self._path, number) for number in sorted(self._gone)[:3])
            more = f" and {len(self._gone) - 3} more" if len(self._gone) > 3 else ""
            raise FilesGoneError(f"{names}{more} was removed, moved or replaced")

    def _cut(self, number: int, rows: int) -> None:
        repair(self._place(number))  # where a process has left it that was killed
        file = DataFile(self._folder, file_name(self._path, number), "r+")
        try:
            file.file[DATASET].resize(rows, axis=0)
        finally:
            file.close()

    def _place(self, number: int) -> str:
        return f"{storage.by_descriptor(self._folder)}/{file_name(self._path, number)}"

    def _share(self, number: int) -> int:
        """Frames that a segment has room for: the last one of an announced number may have less."""
        if self._frames.planned is None:
            return self._length
        return max(1, min(self._length, self._frames.planned - number * self._length))

    def _find(self) -> None:
        """The segments that another process has begun."""
        known = self._detector["frame_status"][:] != FrameStatus.MISSING
        for start, place in segments_there(self._detector):
            # Killed before anything was in it, or before any of it was flushed: it may not even open.
            nothing = not known[start : start + self._length].any() and may_replace(place.name, self._folder)
            if nothing or holds_nothing(place.name, self._folder):
                os.unlink(place.name, dir_fd=self._folder)
            else:
                self._written.add(start // self._length)
        self._latest = max(self._written, default=-1)

    def _make_free(self, writing: Writing) -> None:
        ours = re.compile(re.escape(self._path.stem) + r"_\d{6}\.h5")
        for name in os.listdir(storage.by_descriptor(self._folder)):
            if ours.fullmatch(name):
                empty = writing.replace_empty and holds_nothing(name, self._folder)
                if not writing.overwrite and not empty:
                    raise FileExistsError(f"{self._path.with_name(name)} exists and is not overwritten")
                used = writing.overwrite and not writing.replace_empty
                if used and lease.is_written(name, self._folder):
                    raise FileExistsError(
                        f"a receiver is writing {self._path.with_name(name)}, so it is not replaced"
                    )
                if not may_replace(name, self._folder):
                    raise FileExistsError(
                        f"{self._path.with_name(name)} exists and is no segment; move it away"
                    )
                os.unlink(name, dir_fd=self._folder)

    def _map(self, rows: int) -> None:
        """Make the virtual dataset anew, with another length."""
        detector, path = self._detector, self._path
        self.data = replace_data(
            detector, lambda: create_data(detector, path, self._frames, rows, self._length)
        )
        self._rows = rows


def _make_room(segment: Segment, nbytes: int = 0) -> None:
    """Before HDF5 writes what it needs to find the frames again, and so many bytes of a frame."""
    make_room(descriptor_of(segment.file.file), ROOM_BYTES + nbytes)


@contextlib.contextmanager
def _collected(errors: list[Exception]) -> Iterator[None]:
    """Go on after an error, and keep it."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        errors.append(error)
