"""A series of which nothing has come by the stream, as its raw file tells of it."""

from __future__ import annotations

import logging
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np

from penstock.processing.distributor.receiver_news import Over
from penstock.processing.sources.file import FileFrames
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.messages import Header

log = logging.getLogger(__name__)


class FileSeries(msgspec.Struct):
    """What a start message would have said."""

    planned: int | None
    header: Header
    mask: bytes | None = None
    """As .npy."""
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
