"""Series of which nothing has come by the stream: they are taken from their files, a few at a time."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sized
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np

from penstock.processing.distributor.receiver.events import Over
from penstock.processing.sources.file import FileFrames
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.messages import Header

log = logging.getLogger(__name__)


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
