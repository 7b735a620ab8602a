"""What is taken from raw files: the frames of a series that have not come by the stream, some at a time; and
series of which nothing has come, a few at a time."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence, Sized
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.processing.distributor.frames.account import Indices
from penstock.processing.distributor.frames.bunches import Item
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.receiver.events import Over
from penstock.processing.sources.file import FileFrames
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.messages import Header

log = logging.getLogger(__name__)

AHEAD = 2048
"""Frames of the file that are queued at a time."""


class FileRest:
    """What the file has, and who has not been queued yet.

    Args:
        schedule: gets the frames.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.frames: FileFrames | None = None
        """The raw file, once it is read."""
        self.queued = 0
        """Frames that were queued so far."""
        self.may_fill: Callable[[], bool] = lambda: True
        """Returns whether frames may be queued by now."""
        self.come: Callable[[Sequence[Item]], None] = lambda _items: None
        """Is told of frames before they are queued."""
        self._schedule = schedule
        self._wanted: Indices = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Return how many frames are wanted that are not queued yet."""
        return len(self._wanted)

    def open(self, path: str) -> None:
        """Open the file, if it is not open.

        Raises:
            ReaderError: it cannot be read.
        """
        self.frames = self.frames or FileFrames(path)

    @property
    def stored(self) -> Indices:
        """Indices of the frames that the file has, ascending."""
        return np.zeros(0, np.int64) if self.frames is None else self.frames.indices

    def want(self, indices: Indices) -> None:
        """Take these frames of the file."""
        self._wanted = indices

    def give_up(self) -> Indices:
        """Take no more frames; return those that were not queued yet."""
        gone, self._wanted = self._wanted, self._wanted[:0]
        return gone

    def fill(self, number: int) -> None:
        """Queue more frames, if there is room and they may be queued by now.

        Args:
            number: of the series.
        """
        if not self.may_fill():
            return
        room = AHEAD - self._schedule.waiting(number)
        if not len(self._wanted) or room < AHEAD // 2:
            return
        assert self.frames is not None
        nbytes = self.frames.header.frame_bytes or 0
        some, self._wanted = self._wanted[:room], self._wanted[room:]
        located = self.frames.located
        items = [Item(index, None, nbytes, located=located(index)) for index in some.tolist()]
        self.come(items)
        self._schedule.come(number, items, from_file=True)
        self.queued += len(items)

    def flags(self, frames: int) -> np.ndarray[Any, Any] | None:
        """Return per frame whether the file has it, as uint8; `None` if nobody knows.

        Args:
            frames: of which that is wanted, from the first on.
        """
        if self.frames is None:
            return None
        flags = np.zeros(frames, np.uint8)
        flags[self.stored[self.stored < frames]] = 1
        return flags

    def close(self) -> None:
        """Close the file."""
        if self.frames is not None:
            self.frames.close()


class FileSeries(msgspec.Struct):
    """What a start message would have said."""

    planned: int | None
    header: Header
    mask: bytes | None = None
    """Pixel mask as .npy."""
    metadata: bytes = b"{}"
    frames: FileFrames | None = None
    """The open file, if it was read."""


def missed_series(over: Over, results: Path | None) -> FileSeries | None:
    """Return what is known of a series that is over.

    Args:
        over: the receiver's word of it.
        results: where its result file is, whether or not it has been begun; `None` if nowhere.

    Returns:
        `None`: nothing is to be done for it. If its file cannot be read, or there is none, that is so unless
        its results have been begun.
    """
    has_begun = results is not None and results.exists()
    if over.file is None:
        # Without results its start message may still come, and its end is asked for then.
        return _unread(over) if has_begun else None
    try:
        return read_series(over.file)
    except ReaderError as error:
        log.warning("series %s: %s", over.series, error)
        return _unread(over) if has_begun else None


def _unread(over: Over) -> FileSeries:
    return FileSeries(over.frames, Header(filename=over.file or "", series=over.series, frames=over.frames))


def read_series(path: str) -> FileSeries:
    """Open the file of a series.

    Raises:
        ReaderError: it cannot be read.
    """
    frames = FileFrames(path)
    mask = None
    if frames.mask is not None:
        file = BytesIO()
        np.save(file, frames.mask, allow_pickle=False)
        mask = file.getvalue()
    header = msgspec.structs.replace(frames.header, shared=None)
    return FileSeries(frames.planned, header, mask, msgspec.json.encode(frames.metadata), frames)


def whole_file(path: str) -> Over:
    """Return the end of the series that a file has, as the receiver would tell it: all frames that the file
    does not have are absent.

    Raises:
        ReaderError: it cannot be read.
    """
    with FileFrames(path) as frames:
        name, planned, group = frames.header.series or Path(path).stem, frames.planned, frames.group
        why = frames.incomplete
    everything = ((0, planned - 1),) if planned else ()
    return Over(name, path, group, 0.0, 0.0, planned, everything, why)


AT_ONCE = 16
"""Series that are not over, beyond which no more are opened: each takes files and memory, and there may be a
thousand after a pipeline was in Error for long. More would not be processed sooner."""


class FromFiles:
    """The series that wait to be read from their files.

    Args:
        runs: all series that are not over.
        begin: begins one, from its file.
        again: is told of one again once there is room: its start message may have come meanwhile.
    """

    def __init__(self, runs: Sized, begin: Callable[[Over], None], again: Callable[[Over], None]) -> None:
        self._runs = runs
        self._begin = begin
        self._again = again
        self._waiting: deque[Over] = deque()
        self.is_held = False
        """True if none begins at present: no new series is taken."""

    def take(self, over: Over) -> None:
        """Begin a series, now or once there is room."""
        if self._may_begin:
            self._begin(over)
        else:
            self._waiting.append(over)

    def step(self) -> None:
        """Begin those that wait, as far as there is room."""
        while self._waiting and self._may_begin:
            self._again(self._waiting.popleft())

    @property
    def _may_begin(self) -> bool:
        return not self.is_held and len(self._runs) < AT_ONCE

    def drop(self, why: str) -> None:
        """Begin none of those that wait, for a reason."""
        for over in self._waiting:
            log.info("series %s: %s; none of its frames is processed", over.series, why)
        self._waiting.clear()
