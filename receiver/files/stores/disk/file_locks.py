"""Locks of files that others may hold for a moment."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Callable

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems without locks (Lustre mounted without `flock`, old NFS)."""
PAUSE_SECONDS = 0.001


def wait_for(lock: Callable[[], bool], seconds: float) -> bool:
    """Try to take a lock until it is held or the time is over; return whether it is held.

    Args:
        lock: tries once without waiting; returns whether the lock is held.
        seconds: maximum waiting time.
    """
    due = time.monotonic() + seconds
    while not lock():
        if time.monotonic() > due:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


def lock_alone(descriptor: int) -> bool:
    """Take an exclusive lock of an open file, as HDF5 does (flock(2)); return whether it is held.

    On a file system without locks the answer is `True`.

    Raises:
        OSError: any other failure.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True
