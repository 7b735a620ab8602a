"""Recorded files as a worker on the distributor's machine reads them: at the offsets that it is sent."""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np

from penstock.processing.pixels import Stored
from penstock.processing.processor import CannotProcess
from penstock.processing.wire import StoredFile

MOST_OPEN = 16
"""Most files of a series, such as segments, that are kept open; those of frames in work are beside them."""


class CannotOpen(Exception):
    """A file cannot be opened here, or is another one; the sentence says so."""


class CannotRead(CannotProcess):
    """The pixels of a frame cannot be read in their file; the sentence names both."""


class OpenFile:
    """One file, open as long as a frame of it is in work, or `OpenFiles` has it.

    Args:
        said: the file that is meant.

    Raises:
        CannotOpen: it cannot be opened, or another file has its path.
    """

    def __init__(self, said: StoredFile) -> None:
        self.path = said.path
        try:
            # What has the path by now may be a pipe, which nobody writes.
            self.descriptor = os.open(said.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise CannotOpen(f"{said.path} cannot be opened: {error.strerror}") from error
        weakref.finalize(self, os.close, self.descriptor)
        state = os.fstat(self.descriptor)
        if (state.st_dev, state.st_ino) != (said.device, said.inode):
            raise CannotOpen(
                f"{said.path} is another file than the distributor has open: it was replaced, or this worker "
                "is in another container"
            )


class OpenFiles:
    """The files of one series.

    Once one of them cannot be opened, none is read here any more, so that frames keep their order: the
    distributor sends those of this bunch, and all that follow.
    """

    def __init__(self) -> None:
        self._open: dict[StoredFile, OpenFile] = {}
        self._why = ""

    def open(self, said: StoredFile) -> OpenFile:
        """Return a file, open.

        Raises:
            CannotOpen: it cannot be opened, or an earlier one could not.
        """
        if self._why:
            raise CannotOpen(self._why)
        if (found := self._open.get(said)) is None:
            try:
                found = OpenFile(said)
            except CannotOpen as error:
                self._why = str(error)
                raise
            while len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[said] = found
        return found


class StoredBlob(Stored):
    """A blob in a file.

    Args:
        file: open.
        frame: index of the frame that it belongs to.
        offset: where it begins.
        nbytes: its length.
    """

    __slots__ = ("_file", "_frame", "_nbytes", "_offset")

    def __init__(self, file: OpenFile, frame: int, offset: int, nbytes: int) -> None:
        self._file = file
        self._frame = frame
        self._offset = offset
        self._nbytes = nbytes

    def __len__(self) -> int:
        return self._nbytes

    def read_into(self, room: np.ndarray[Any, Any]) -> None:
        """Read it into a buffer of as many bytes, uint8.

        Raises:
            CannotRead: the file is shorter, or cannot be read.
        """
        done, path = 0, self._file.path
        while done < self._nbytes:  # one call reads 2 GB at most
            try:
                count = os.preadv(self._file.descriptor, [room[done:].data], self._offset + done)
            except OSError as error:
                raise CannotRead(f"frame {self._frame} cannot be read: {path}: {error.strerror}") from error
            if not count:
                raise CannotRead(
                    f"frame {self._frame} cannot be read: {path} is truncated: {done} of {self._nbytes} bytes"
                )
            done += count
