"""A mark on a file that processes write to: as long as one of them lives, nobody takes it for left behind.

What the mark is: `receiver.files.lease`.
"""

from __future__ import annotations

import fcntl
import os

from penstock.receiver.files import lease, storage
from penstock.receiver.files.stores.file_locks import wait_for

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
    lease.lock(marked, fcntl.F_RDLCK)
    return marked


def wait(descriptor: int) -> None:
    """Return when nobody is at this file any more; gives up in time.

    Where readers' locks are of the same kind (NFS), it may be one of them that is waited for.
    """
    marked = os.open(storage.by_descriptor(descriptor), os.O_RDWR | os.O_CLOEXEC)
    try:
        wait_for(lambda: lease.lock(marked, fcntl.F_WRLCK), LONGEST)
    finally:
        os.close(marked)
