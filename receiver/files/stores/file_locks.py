"""Locks of files that others hold for a moment: they are tried until they are there, or the time is over."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Callable

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems answer that have none (Lustre mounted without `flock`, old NFS)."""
PAUSE_SECONDS = 0.001


def wait_for(lock: Callable[[], bool], seconds: float) -> bool:
    """Try a lock until it is held; returns whether it is.

    Args:
        lock: tries it without waiting, and says whether it is held.
        seconds: after which it is given up.
    """
    due = time.monotonic() + seconds
    while not lock():
        if time.monotonic() > due:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


def lock_alone(descriptor: int) -> bool:
    """Return whether an open file could be locked as HDF5 does (flock(2)), against everybody else; `True`
    where the file system has no locks.

    Raises:
        OSError: it failed otherwise.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True
