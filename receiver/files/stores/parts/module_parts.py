"""The store of modules that have a file each: part m has module m of every frame, under the frame's index."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.parts.module_views import ModuleViews
from penstock.receiver.files.stores.parts.open_parts import OpenParts, collected, into
from penstock.receiver.files.stores.parts.store import queue_bytes
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.transforms.module_layout import Layout
from penstock.stins.messages import Frame


class ModuleParts(FrameStore):
    """The blobs of a joined series, in as many parts as there are modules.

    Packed and plain ones get their place in the part as they come: one that never comes takes none, and reads
    as the fill value.

    Args:
        detector: NXdetector group of the open file; the views are created in it.
        frames: format of the frames, of k blobs.
        path: file of the series; the parts are created next to it, exclusively.
        writing: how they are written.
        modules: status of each module of each frame.
        layout: where the modules are in the assembled image; `None` if `data` has the blobs.
        blobs: name of the dataset of the blobs if there is an assembled image.

    Raises:
        FileExistsError: a file with the name of a part exists.
    """

    def __init__(
        self, detector: Any, frames: FrameFormat, path: Path, writing: Writing, modules: ModuleStatus,
        layout: Layout | None, blobs: str,
    ) -> None:  # fmt: skip
        number, *size = frames.shape
        self._file, self._modules = detector.file, modules
        self._end = 0
        """Number of frames written so far, with those between."""
        self._gone: set[int] = set()
        """Modules whose files are gone."""
        one = replace(frames, shape=tuple(size))
        self._queue_bytes = queue_bytes(one.nbytes)
        writing = replace(writing, files=number, queue_bytes=self._queue_bytes)
        self._parts = OpenParts(path, detector["series/id"].asstr()[()], number, writing)
        try:
            self._parts.make_free()
            for module in range(number):
                self._parts.create(module, one, placed=False)
            self._views = ModuleViews.create(detector, path, frames, layout, blobs)
        except BaseException:
            self.close(synced=False)
            raise
        self.data = self._views.data

    @property
    def waiting_bytes(self) -> int:
        return self._parts.waiting_bytes

    @property
    def most_waiting_bytes(self) -> int:
        return self._modules.modules * self._queue_bytes

    @property
    def held_seconds(self) -> float:
        return self._parts.held_seconds

    def write(self, index: int, frame: Frame) -> None:
        """Queue the modules that have come, each for the thread of its part; waits while a queue is full."""
        for module, blob in enumerate(frame.blobs):
            if len(blob) and (part := self._parts[module]) is not None:
                part.store.write(index, Frame(frame.image, (blob,)))
                part.wrote()
        self._end = max(self._end, index + 1)

    def read(self, index: int) -> Frame:
        raise NotImplementedError("modules are read one by one: see place")

    def place(self, index: int, module: int) -> tuple[Any, tuple[int, ...]]:
        """Return the dataset of a module, and the corner of the chunk of its blob in a frame.

        Raises:
            OSError: blobs before it could not be written.
        """
        part = self._parts[module]
        assert part is not None
        part.store.flush()
        return part.store.data, (index, 0, 0)

    def grow(self, rows: int) -> None:
        """Make room; the parts have it, in their files too, before the views show it."""
        for _, part in self._parts.growing:
            part.reserve(rows)
        self._views.show(rows)
        self.data = self._views.data

    def flush(self) -> None:
        self._parts.flush()
        self._look_for_parts()

    def lost(self) -> Collection[int]:
        lost = set(range(self._end)) if self._gone else set()
        for _, rows in self._parts.lost():
            lost.update(rows)
        return lost

    def lost_modules(self, index: int) -> set[int]:
        """Return the modules of a frame that could not be written."""
        return self._gone | {module for module, rows in self._parts.lost() if index in rows}

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut views and parts to this length, and close the parts; an error in one of them does not keep the
        others from it."""
        with collected() as errors:
            with into(errors):
                self._look_for_parts()
            self._views.show(len(statuses))
            disk_file.flush(self._file)  # views are cut before parts are
            table = self._modules.table(len(statuses))
            self._parts.finish(lambda module: table[:, module], errors)
        self.data = self._views.data

    def close(self, *, synced: bool) -> None:
        self._parts.close(synced=synced)

    def _look_for_parts(self) -> None:
        """Find out which parts were removed or replaced.

        Raises:
            FilesGoneError: some were; their modules are lost.
        """
        if gone := self._parts.removed():
            self._gone.update(gone)
            raise self._parts.gone_error(gone)
