"""The open parts of one series, each by its number: created, looked for, flushed and closed together."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from penstock.receiver.files import storage
from penstock.receiver.files.stores.contract import FrameFormat, Writing
from penstock.receiver.files.stores.disk.superblock import repair
from penstock.receiver.files.stores.errors import FilesGoneError
from penstock.receiver.files.stores.parts import names
from penstock.receiver.files.stores.parts.names import Mark
from penstock.receiver.files.stores.parts.part import Part
from penstock.receiver.files.stores.segments.segment_file import holds_nothing


class OpenParts:
    """The parts of one series.

    Args:
        path: file of the series; the parts are next to it.
        series: its id.
        number: how many parts there can be.
        writing: how they are written; its queue is that of each part.
    """

    def __init__(self, path: Path, series: str, number: int, writing: Writing) -> None:
        self._path, self._series, self._writing = path, series, writing
        self._parts: list[Part | None] = [None] * number
        self._finished: set[int] = set()
        self._folder = storage.open_folder(path)

    def __getitem__(self, number: int) -> Part | None:
        return self._parts[number]

    def __iter__(self) -> Iterator[tuple[int, Part]]:
        """Yield the parts that there are, each with its number."""
        return ((number, part) for number, part in enumerate(self._parts) if part is not None)

    @property
    def growing(self) -> Iterator[tuple[int, Part]]:
        """The parts that are not finished, each with its number."""
        return ((number, part) for number, part in self if number not in self._finished)

    @property
    def are_all_there(self) -> bool:
        """True if no part is left to be created."""
        return None not in self._parts

    def name_of(self, number: int) -> str:
        """Return the file name of a part."""
        return names.file_name(self._path, number)

    def make_free(self) -> None:
        """Remove the parts of an earlier series; see `names.make_free`."""
        names.make_free(self._path, self._folder, self._writing)

    def create(self, number: int, frames: FrameFormat, *, placed: bool) -> Part:
        """Create a part; see `Part`.

        Args:
            number: which one.
            frames: format of its frames.
            placed: whether the offset of each frame can be known ahead.
        """
        part = self._parts[number] = Part(
            self._folder, self.name_of(number), Mark(self._series, number), frames, self._writing,
            placed=placed,
        )  # fmt: skip
        return part

    def find(self, number: int, frames: FrameFormat) -> None:
        """Open a part that another process has begun, if it is there; remove it if it has no frame.

        Raises:
            ValueError: it is of another series.
        """
        name = self.name_of(number)
        place = f"{storage.by_descriptor(self._folder)}/{name}"
        if not os.path.lexists(place):
            return
        if holds_nothing(name, self._folder):
            os.unlink(name, dir_fd=self._folder)
            return
        repair(place)
        mark = Mark(self._series, number)
        self._parts[number] = Part(self._folder, name, mark, frames, self._writing, mode="r+")

    # -- all of them -----------------------------------------------------------------------------

    @property
    def waiting_bytes(self) -> int:
        """Bytes of frames that their threads have not written."""
        return sum(part.store.waiting_bytes for _, part in self)

    @property
    def held_seconds(self) -> float:
        """Seconds for which the loop has waited for their threads."""
        return sum(part.store.held_seconds for _, part in self)

    def lost(self) -> Iterator[tuple[int, Collection[int]]]:
        """Yield the rows of each part that could not be written, with its number."""
        return ((number, part.store.lost()) for number, part in self)

    def flush(self) -> None:
        """Hand all frames to the kernel; an error in one part does not keep the others from it."""
        with collected() as errors:
            for _, part in self:
                with into(errors):
                    part.flush()

    def removed(self) -> list[int]:
        """Return the numbers of parts that are no longer where they were created."""
        found = []
        for number, part in self.growing:
            with contextlib.suppress(FileNotFoundError):
                there = os.stat(part.name, dir_fd=self._folder)
                if os.path.samestat(there, os.fstat(part.disk.descriptor)):
                    continue
            found.append(number)
        return found

    def gone_error(self, numbers: Collection[int]) -> FilesGoneError:
        """Return the error of these parts, which were `removed`."""
        return FilesGoneError(f"{', '.join(map(self.name_of, numbers))} was removed, moved or replaced")

    def finish(self, statuses: Callable[[int], np.ndarray[Any, Any]], errors: list[Exception]) -> None:
        """Cut the parts, and close them.

        Args:
            statuses: returns the statuses of the rows of a part.
            errors: of parts where that failed are added.
        """
        for number, part in list(self.growing):
            self._finished.add(number)
            with into(errors):
                part.finish(statuses(number))

    def close(self, *, synced: bool) -> None:
        """Close all parts, and remove those without a frame; may be called again.

        Args:
            synced: return only when they are on the disk.
        """
        with collected() as errors:
            for number, part in self:
                with into(errors):
                    if part.is_empty and number not in self._finished:
                        part.discard()
                    else:
                        part.close()
            if self._folder >= 0:
                os.close(self._folder)
                self._folder = -1
        if synced:
            for _, part in self:
                if not part.is_empty:
                    storage.sync(self._path.with_name(part.name))


@contextlib.contextmanager
def collected() -> Iterator[list[Exception]]:
    """Raise the first of the errors that were collected inside."""
    errors: list[Exception] = []
    yield errors
    if errors:
        raise errors[0]


@contextlib.contextmanager
def into(errors: list[Exception]) -> Iterator[None]:
    """Collect errors instead of raising them."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        errors.append(error)
