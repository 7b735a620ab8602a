"""The store of a series in parts.

One file is one lock of the kernel, whoever writes into it; each part has a file, and a thread that alone
writes its frames. The loop calls HDF5 for all of them.
See docs/explanation/decisions/0094-files-instead-of-writers.md.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.files import storage
from penstock.receiver.files.dealing import BLOCK_BYTES, Dealing
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.errors import FilesGoneError
from penstock.receiver.files.stores.gathered import MOST_FRAME_BYTES
from penstock.receiver.files.stores.parts import names
from penstock.receiver.files.stores.parts.names import Mark
from penstock.receiver.files.stores.parts.part import Part
from penstock.receiver.files.stores.parts.views import Views, dealing_of
from penstock.receiver.files.stores.segments.segment_file import holds_nothing
from penstock.receiver.files.stores.superblock import repair
from penstock.stins.messages import Buffer, Frame


class PartsStore(FrameStore):
    """Frames dealt to `writing.files` parts; those of a file that another process has left as it has dealt
    them.

    Args:
        detector: NXdetector group of the open file; `data` and its views are created in it, or found.
        frames: format of the frames.
        path: file of the series; the parts are created next to it, exclusively.
        writing: number of files, and how they are written.
        placed: whether the offset of each frame can be known ahead; only of new parts.

    Raises:
        FileExistsError: a file with the name of a part exists.
        ValueError: a part that another process has left is of another series.
    """

    def __init__(
        self, detector: Any, frames: FrameFormat, path: Path, writing: Writing, *, placed: bool = False
    ) -> None:
        self._frames = frames
        self._path = path
        self._file = detector.file
        self._series = detector["series/id"].asstr()[()]
        found = dealing_of(detector) if "data" in detector else None
        self._dealing = dealing = found or Dealing.of(writing.files, frames.nbytes)
        queue = queue_bytes(frames.nbytes)
        self._writing = replace(writing, files=dealing.files, queue_bytes=queue)
        self._placed = placed
        self._parts: list[Part | None] = [None] * dealing.files
        self._closed: set[int] = set()
        """Parts that are finished."""
        self._lost: set[int] = set()
        """Frames of parts that are gone."""
        self._grown = self._end = 0
        """Number of frames there is room for, and of frames written so far with those between."""
        self._folder = storage.open_folder(path)
        try:
            if found is None:
                names.make_free(path, self._folder, writing)
                self._views = Views(detector, path, frames, dealing)
                self._begin_planned()
            else:
                self._views = Views(detector, path, frames, dealing)
                self._end = len(detector["frame_status"])
                self._find()
        except BaseException:
            self.close(synced=False)
            raise
        self.data = self._views.data

    @property
    def waiting_bytes(self) -> int:
        return sum(part.store.waiting_bytes for _, part in self._open())

    @property
    def most_waiting_bytes(self) -> int:
        return self._dealing.files * self._writing.queue_bytes

    @property
    def held_seconds(self) -> float:
        return sum(part.store.held_seconds for _, part in self._open())

    def write(self, index: int, frame: Frame) -> None:
        """Queue a frame for the thread of its part; waits while its queue is full."""
        number, row = self._dealing.place(index)
        part = self._parts[number] or self._begin(number)
        part.store.write(row, frame)
        part.wrote()
        self._end = max(self._end, index + 1)

    @property
    def gathers(self) -> bool:
        return self._frames.nbytes <= MOST_FRAME_BYTES and all(
            part is not None and part.store.gathers for part in self._parts
        )

    def write_run(self, first: int, blobs: Sequence[Buffer]) -> None:
        """Queue frames, see `FrameStore`; if this raises, pixels of frames that are not stored may have been
        written, which `finish` hides."""
        block, at = self._dealing.block, 0
        while at < len(blobs):
            number, row = self._dealing.place(first + at)
            size = min(block - row % block, len(blobs) - at)
            part = self._parts[number] or self._begin(number)
            part.store.write_run(row, blobs[at : at + size])
            part.wrote()
            at += size
        self._end = max(self._end, first + at)

    def read(self, index: int) -> Frame:
        number, row = self._dealing.place(index)
        if (part := self._parts[number]) is None:
            raise ValueError(f"{names.file_name(self._path, number)} has no frame yet")
        frame = part.store.read(row)
        return msgspec.structs.replace(frame, image=msgspec.structs.replace(frame.image, frame=index))

    def grow(self, rows: int) -> None:
        self._grown = rows
        for number, part in self._open():
            part.store.grow(self._dealing.rows(number, rows))

    def flush(self) -> None:
        """Hand all frames to the kernel, then let the views show them; see `FrameStore`."""
        with _collected() as errors:
            for _, part in self._open():
                with _into(errors):
                    part.flush()
        self._look_for_parts()
        self._show(self._views.next(self._end))

    def lost(self) -> Collection[int]:
        lost = set(self._lost)
        for number, part in self._open():
            lost.update(self._dealing.index(number, row) for row in part.store.lost())
        return lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut views and parts to this length, and close the parts; an error in one of them does not keep the
        others from it."""
        with _collected() as errors:
            with _into(errors):
                self._look_for_parts()
            with _into(errors):
                self._show(min(self._end, len(statuses)))
            self._views.cut(len(statuses))
            disk_file.flush(self._file)  # before the parts: see `views`
            for number, part in self._open():
                if number not in self._closed:
                    self._closed.add(number)
                    with _into(errors):
                        part.finish(statuses[self._dealing.indices(number, len(statuses))])
        self.data = self._views.data

    def close(self, *, synced: bool) -> None:
        """Close the parts; remove those that were created and hold nothing."""
        with _collected() as errors:
            for number, part in self._open():
                with _into(errors):
                    if part.is_empty and number not in self._closed:
                        part.discard()
                    else:
                        part.close()
            if self._folder >= 0:
                os.close(self._folder)
                self._folder = -1
        if synced:
            for _, part in self._open():
                if not part.is_empty:
                    storage.sync(self._path.with_name(part.name))

    # -- parts ---------------------------------------------------------------------------------

    def _open(self) -> Iterator[tuple[int, Part]]:
        """Yield the parts that there are, each with its number."""
        return ((number, part) for number, part in enumerate(self._parts) if part is not None)

    def _begin_planned(self) -> None:
        """Create the parts of all announced frames now, since only Arm waits for it."""
        for number in range(self._dealing.files):
            if self._frames.planned and self._dealing.rows(number, self._frames.planned):
                self._begin(number)

    def _begin(self, number: int) -> Part:
        dealing, planned = self._dealing, self._frames.planned
        share = None if planned is None else max(1, dealing.rows(number, planned))
        part = Part(
            self._folder, names.file_name(self._path, number), Mark(self._series, number),
            replace(self._frames, planned=share), self._writing, placed=self._placed,
        )  # fmt: skip
        self._parts[number] = part
        part.store.grow(dealing.rows(number, self._grown))
        part.reserve(dealing.rows(number, self._views.shown))
        return part

    def _show(self, end: int) -> None:
        """Let views show the frames below this index, for which the parts get rows first."""
        if end <= self._views.shown:
            return
        for number, part in self._open():
            if number not in self._closed:
                part.reserve(self._dealing.rows(number, end))
        self._views.show(end)
        self.data = self._views.data

    def _find(self) -> None:
        """Open the parts that another process has begun; remove those without a frame."""
        for number in range(self._dealing.files):
            name = names.file_name(self._path, number)
            place = f"{storage.by_descriptor(self._folder)}/{name}"
            if not os.path.lexists(place):
                continue
            if holds_nothing(name, self._folder):
                os.unlink(name, dir_fd=self._folder)
                continue
            repair(place)
            planned = self._frames.planned
            share = None if planned is None else max(1, self._dealing.rows(number, planned))
            self._parts[number] = Part(
                self._folder, name, Mark(self._series, number), replace(self._frames, planned=share),
                self._writing, mode="r+",
            )  # fmt: skip

    def _look_for_parts(self) -> None:
        """Find out which parts were removed or replaced.

        Raises:
            FilesGoneError: some were; their frames are lost.
        """
        gone = []
        for number, part in self._open():
            if number in self._closed:
                continue
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(part.name, dir_fd=self._folder)
                if os.path.samestat(found, os.fstat(part.disk.descriptor)):
                    continue
            gone.append(part.name)
            self._lost.update(self._dealing.indices(number, self._end).tolist())
        if gone:
            raise FilesGoneError(f"{', '.join(gone)} was removed, moved or replaced")


def queue_bytes(frame_bytes: int) -> int:
    """Return the most bytes that wait for one part: two blocks, so that all parts are written at the same
    time, and no more, since what waits for longer has left the processor's cache."""
    return 2 * max(BLOCK_BYTES, frame_bytes)


@contextlib.contextmanager
def _collected() -> Iterator[list[Exception]]:
    """Raise the first of the errors that were collected inside."""
    errors: list[Exception] = []
    yield errors
    if errors:
        raise errors[0]


@contextlib.contextmanager
def _into(errors: list[Exception]) -> Iterator[None]:
    """Collect errors instead of raising them."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        errors.append(error)
