"""Allocation of disk space before it is written, and its release if it stays unused.

On a RAM disk, allocating the pages and zeroing them is half of the time of writing. On a disk, allocation
only changes the file system's tables, and keeps the file in one piece.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Iterable
from typing import Any

from penstock.receiver.files.limit import most_bytes
from penstock.receiver.files.storage import RESERVE_BYTES

BLOCK_BYTES = 2**21
"""Bytes allocated at once: half a millisecond on a RAM disk, during which nobody can write to the file."""
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""Flags of fallocate(2)."""

# Not os.posix_fallocate: the C library writes zeros if the file system cannot allocate.
_fallocate = ctypes.CDLL(None, use_errno=True).fallocate
_fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def allocate(descriptor: int, start: int, end: int, seconds: float) -> int:
    """Allocate the bytes from `start` to `end` for at most `seconds`; return where it ended.

    If the file system is full or cannot allocate, the error is left to the later write.
    """
    due = time.monotonic() + seconds
    while start < end and time.monotonic() < due:
        size = min(BLOCK_BYTES, end - start)
        if not allocate_block(descriptor, start, size):
            break
        start += size
    return start


def allocate_block(descriptor: int, start: int, size: int) -> bool:
    """Allocate so many bytes from `start` on; return whether the file system could."""
    return bool(_fallocate(descriptor, 0, start, size) == 0)


def release(descriptor: int, places: Iterable[int], size: int) -> None:
    """Release the space of places of `size` bytes each; their content is lost.

    On a file system that cannot release space, nothing happens.
    """
    start = end = 0
    for place in sorted(places):
        if place != end:
            _fallocate(descriptor, KEEP_SIZE | PUNCH_HOLE, start, end - start)
            start = place
        end = place + size
    _fallocate(descriptor, KEEP_SIZE | PUNCH_HOLE, start, end - start)


def check_limit(file: Any, size: int) -> None:
    """Check that the limit of the process (`ulimit -f`) allows `size` more bytes, and the end of the file.

    Called before HDF5 allocates a frame in an open h5py file, if there is a limit.

    Raises:
        OSError: the limit is lower.
    """
    limit = most_bytes()
    if limit is not None and file.id.get_filesize() + size + RESERVE_BYTES > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def make_room(descriptor: int, size: int) -> None:
    """Allocate so many bytes behind the end of a file, where HDF5 writes next.

    Once a flush has failed for lack of space, the end of the file could not be written either. On a file
    system that cannot allocate, the free space is checked instead.

    Raises:
        OSError: there is too little space, or the limit of the process (`ulimit -f`) is lower.
    """
    limit = most_bytes()
    if limit is not None and os.fstat(descriptor).st_size + size > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    if _fallocate(descriptor, KEEP_SIZE, os.fstat(descriptor).st_size, size) == 0:
        return
    code = ctypes.get_errno()
    disk = os.fstatvfs(descriptor)
    if code not in (errno.ENOSPC, errno.EDQUOT) and disk.f_bavail * disk.f_frsize < size:
        code = errno.ENOSPC
    if code in (errno.ENOSPC, errno.EDQUOT):
        raise OSError(code, os.strerror(code))
