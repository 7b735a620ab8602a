"""Copies between files that have holes: places that were never written, whose space may be reserved."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

NO_SUCH_CALL = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF)
"""Errors of file systems that do not have a call."""
_COPIED = 2**26


def copy_data(source: int, to: int, at: int, nbytes: int, place: int) -> None:
    """Copy bytes from one open file into another; what was never written takes no space there, and is 0.

    Args:
        source: descriptor.
        to: descriptor.
        at: offset in the source.
        nbytes: how many; none if negative.
        place: offset in the other file.

    Raises:
        OSError: they cannot be written.
    """
    done, end = at, at + nbytes
    for begin, stop in (*_data(source, at, end), (end, end)):
        for first, last in _data(to, place + done - at, place + begin - at):
            _clear(to, first, last)
        _copy(source, to, begin, stop - begin, place + begin - at)
        done = stop


def _data(file: int, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the beginning and the end of each part of an open file that was written, between two offsets."""
    while at < end:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
            stop = os.lseek(file, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            stop = end
        if at < end:
            yield at, min(stop, end)
        at = stop


def _clear(file: int, at: int, end: int) -> None:
    while at < end:
        at += os.pwrite(file, bytes(min(end - at, _COPIED)), at)


def _copy(source: int, to: int, at: int, nbytes: int, place: int) -> None:
    while nbytes > 0:
        try:
            count = os.copy_file_range(source, to, min(nbytes, _COPIED), at, place)
        except OSError as error:
            if error.errno not in NO_SUCH_CALL:
                raise
            count = os.pwrite(to, os.pread(source, min(nbytes, _COPIED), at), place)
        if count == 0:
            return  # the source ends here
        at, place, nbytes = at + count, place + count, nbytes - count
