"""The store of a series in parts.

One file is one lock of the kernel, whoever writes into it; each part has a file, and a thread that alone
writes its frames. The loop calls HDF5 for all of them.
See docs/explanation/decisions/0094-files-instead-of-writers.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.files.dealing import BLOCK_BYTES, Dealing
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.parts.open_parts import OpenParts, collected, into
from penstock.receiver.files.stores.parts.part import Part
from penstock.receiver.files.stores.parts.views import Views, dealing_of
from penstock.stins.messages import Buffer, Frame

MOST_RUN_FRAME_BYTES = 2**22
"""Largest frame of a run: a thread takes it in one call, and to enter it by itself takes the loop about as
long as all else that it does with it."""


class PartsStore(FrameStore):
    """Frames dealt to `writing.files` parts; those of a file that another process has left as it has dealt
    them.

    Args:
        detector: NXdetector group of the open file; `data` and its views are created in it, or found.
        frames: format of the frames.
        path: file of the series; the parts are created next to it, exclusively.
        writing: number of files, and how they are written.
        placed: whether the offset of each frame can be known ahead; only of new parts.
        errors: those of parts that another process has left, and that cannot be opened, are added; without
            it they are raised.

    Raises:
        FileExistsError: a file with the name of a part exists.
        ValueError: a part that another process has left is of another series.
        OSError: one is damaged.
    """

    def __init__(
        self, detector: Any, frames: FrameFormat, path: Path, writing: Writing, *,
        placed: bool = False, errors: list[Exception] | None = None,
    ) -> None:  # fmt: skip
        self._frames = frames
        self._file = detector.file
        found = dealing_of(detector) if "data" in detector else None
        self._dealing = dealing = found or Dealing.of(writing.files, frames.nbytes)
        self._queue_bytes = queue_bytes(frames.nbytes)
        self._placed = placed
        self._most_run_bytes = 0
        self._lost: set[int] = set()
        """Frames of parts that are gone."""
        self._grown = self._end = 0
        """Number of frames there is room for, and of frames written so far with those between."""
        writing = replace(writing, files=dealing.files, queue_bytes=self._queue_bytes)
        self._parts = OpenParts(path, detector["series/id"].asstr()[()], dealing.files, writing)
        try:
            if found is None:
                self._parts.make_free()
                self._views = Views(detector, path, frames, dealing)
                self._begin_planned()
            else:
                self._views = Views(detector, path, frames, dealing)
                self._end = len(detector["frame_status"])
                for number in range(dealing.files):
                    with contextlib.nullcontext() if errors is None else into(errors):
                        self._parts.find(number, self._share(number))
        except BaseException:
            self.close(synced=False)
            raise
        self.data = self._views.data
        self._look_for_runs()

    @property
    def waiting_bytes(self) -> int:
        return self._parts.waiting_bytes

    @property
    def most_waiting_bytes(self) -> int:
        return self._dealing.files * self._queue_bytes

    @property
    def held_seconds(self) -> float:
        return self._parts.held_seconds

    def write(self, index: int, frame: Frame) -> None:
        """Queue a frame for the thread of its part; waits while its queue is full."""
        number, row = self._dealing.place(index)
        part = self._parts[number] or self._begin(number)
        part.store.write(row, frame)
        part.wrote()
        self._end = max(self._end, index + 1)

    @property
    def most_run_bytes(self) -> int:
        return self._most_run_bytes

    def _look_for_runs(self) -> None:
        takes = self._parts.are_all_there and all(part.store.most_run_bytes for _, part in self._parts)
        self._most_run_bytes = MOST_RUN_FRAME_BYTES if takes else 0

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
            raise ValueError(f"{self._parts.name_of(number)} has no frame yet")
        frame = part.store.read(row)
        return msgspec.structs.replace(frame, image=msgspec.structs.replace(frame.image, frame=index))

    def grow(self, rows: int) -> None:
        self._grown = rows
        for number, part in self._parts:
            part.store.grow(self._dealing.rows(number, rows))

    def flush(self) -> None:
        """Hand all frames to the kernel, then let the views show them; see `FrameStore`."""
        self._parts.flush()
        self._look_for_parts()
        self._look_for_runs()
        self._show(self._views.next(self._end))

    def lost(self) -> Collection[int]:
        lost = set(self._lost)
        for number, rows in self._parts.lost():
            lost.update(self._dealing.index(number, row) for row in rows)
        return lost

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut views and parts to this length, and close the parts; an error in one of them does not keep the
        others from it."""
        with collected() as errors:
            with into(errors):
                self._look_for_parts()
            with into(errors):
                self._show(min(self._end, len(statuses)))
            self._views.cut(len(statuses))
            disk_file.flush(self._file)  # before the parts: see `views`
            self._parts.finish(lambda number: statuses[self._dealing.indices(number, len(statuses))], errors)
        self.data = self._views.data

    def close(self, *, synced: bool) -> None:
        self._parts.close(synced=synced)

    # -- parts ---------------------------------------------------------------------------------

    def _begin_planned(self) -> None:
        """Create the parts of all announced frames now, since only Arm waits for it."""
        for number in range(self._dealing.files):
            if self._frames.planned and self._dealing.rows(number, self._frames.planned):
                self._begin(number)

    def _begin(self, number: int) -> Part:
        part = self._parts.create(number, self._share(number), placed=self._placed)
        part.store.grow(self._dealing.rows(number, self._grown))
        part.reserve(self._dealing.rows(number, self._views.shown))
        self._look_for_runs()
        return part

    def _share(self, number: int) -> FrameFormat:
        """Return the format of the frames of a part, which are a share of the planned ones."""
        planned = self._frames.planned
        share = None if planned is None else max(1, self._dealing.rows(number, planned))
        return replace(self._frames, planned=share)

    def _show(self, end: int) -> None:
        """Let views show the frames below this index, for which the parts get rows first."""
        if end <= self._views.shown:
            return
        for number, part in self._parts.growing:
            part.reserve(self._dealing.rows(number, end))
        self._views.show(end)
        self.data = self._views.data

    def _look_for_parts(self) -> None:
        """Find out which parts were removed or replaced.

        Raises:
            FilesGoneError: some were; their frames are lost.
        """
        if gone := self._parts.removed():
            for number in gone:
                self._lost.update(self._dealing.indices(number, self._end).tolist())
            raise self._parts.gone_error(gone)


def queue_bytes(frame_bytes: int) -> int:
    """Return the most bytes that wait for one part: two blocks, so that all parts are written at the same
    time, and no more, since what waits for longer has left the processor's cache."""
    return 2 * max(BLOCK_BYTES, frame_bytes)
