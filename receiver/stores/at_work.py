"""A mark on a file that processes write to: as long as one of them lives, nobody takes it for left behind.

A lock of the open file description (fcntl(2), F_OFD_SETLK): all who were given the descriptor hold it, and
the kernel lets go of it with the last of them, however that ends. It is none of HDF5's, which are of
flock(2), so programs that read the file do not notice.
"""

from __future__ import annotations

import fcntl
import os
import struct

from penstock.receiver.file import storage
from penstock.receiver.stores.locks import wait_for

LONGEST = 5.0
"""Seconds for a process to notice that who started it has died, and to end."""


def hold(descriptor: int) -> int:
    """A second descriptor of a file, with the mark; to be closed.

    Args:
        descriptor: of the file, open for reading and writing.

    Raises:
        OSError: the file cannot be opened again.
    """
    marked = os.open(storage.by_descriptor(descriptor), os.O_RDWR | os.O_CLOEXEC)
    _lock(marked, fcntl.F_RDLCK)
    return marked


def wait(descriptor: int) -> None:
    """Return when nobody is at this file any more; gives up in time.

    Where readers' locks are of the same kind (NFS), it may be one of them that is waited for.
    """
    marked = os.open(storage.by_descriptor(descriptor), os.O_RDWR | os.O_CLOEXEC)
    try:
        wait_for(lambda: _lock(marked, fcntl.F_WRLCK), LONGEST)
    finally:
        os.close(marked)


def _lock(descriptor: int, kind: int) -> bool:
    """Whether all of the file could be locked; one without locks is taken at its word."""
    whole = struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)  # struct flock
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True
