"""The lease of a file: a lock that its writer holds, and how others see it.

The lease is a lock of the open file description (fcntl(2), F_OFD_SETLK): the kernel lets go of it with the
process, however that ends. It is none of HDF5's, which are of flock(2), so programs that read the file do not
notice. Segments are locked as HDF5 does instead, and so may any file be by other programs: such a lock is
found out by trying it. On a file system without locks nobody is known to write.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator

WHOLE_FILE = "hhqqi4x"
"""struct flock of 64-bit Linux: type, whence, start, length, pid."""


class BeingWrittenError(FileExistsError):
    """Somebody is writing the file."""


def hold(descriptor: int) -> int:
    """Return a second descriptor of a file, which holds the lease until it is closed.

    Args:
        descriptor: of the file, open for reading and writing.

    Raises:
        OSError: the file cannot be opened again.
    """
    leased = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
    lock(leased, fcntl.F_RDLCK)
    return leased


def lock(descriptor: int, kind: int) -> bool:
    """Return whether the lease of an open file could be taken: several may hold F_RDLCK, only one F_WRLCK."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _whole(kind))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def is_written(path: str | os.PathLike[str], folder: int | None = None) -> bool:
    """Return whether somebody is writing a file; `False` where nobody knows.

    Who holds the lease, or HDF5's lock, does not notice. Where nobody holds the lease, the file has a
    reader's lock of HDF5 for a moment: another program that opens it for writing just then may be refused,
    and has to try again, as our own processes do. Where all locks are of one kind (NFS), it may be a reader.

    Args:
        path: of the file.
        folder: descriptor of the folder that a relative path begins at.
    """
    try:
        descriptor = _open(path, os.O_RDONLY, folder)
    except OSError:
        return False
    try:
        return _is_locked(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def nobody_at(name: str, folder: int) -> Iterator[None]:
    """Hold a file of which the name shall become another's, so that of two who want that one is the first.

    Args:
        name: of the file.
        folder: descriptor of its folder.

    Raises:
        BeingWrittenError: somebody is writing it, or is just about to replace it.
        FileNotFoundError: it is not there, or another one is by now.
    """
    try:
        descriptor = _open(name, os.O_RDWR, folder)
    except FileNotFoundError:
        raise
    except OSError:  # somebody else's, or none that can be opened
        if is_written(name, folder):
            raise BeingWrittenError(errno.EEXIST, "it is being written", name) from None
        yield
        return
    try:
        if _is_locked(descriptor) or not lock(descriptor, fcntl.F_WRLCK):
            raise BeingWrittenError(errno.EEXIST, "it is being written", name)
        if not os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False)):
            raise FileNotFoundError(errno.ENOENT, "another file has its name", name)
        yield
    finally:
        os.close(descriptor)


def _open(path: str | os.PathLike[str], how: int, folder: int | None) -> int:
    # Whoever put a pipe there shall not make anybody wait.
    return os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)


def _is_locked(descriptor: int) -> bool:
    """Return whether somebody else holds a lock: the lease is only asked for; HDF5's, of which the kernel
    tells nothing, is tried for a moment, where the lease has not answered yet."""
    with contextlib.suppress(OSError):
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _whole(fcntl.F_WRLCK))
        if struct.unpack(WHOLE_FILE, found)[0] != fcntl.F_UNLCK:
            return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _whole(kind: int) -> bytes:
    return struct.pack(WHOLE_FILE, kind, os.SEEK_SET, 0, 0, 0)
