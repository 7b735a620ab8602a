"""The lease of a file: a lock held by its writer, which other processes can see.

The lease is a lock of the open file description (fcntl(2), F_OFD_SETLK), which the kernel releases when the
process ends, however it ends. HDF5 uses flock(2) instead, so readers are not disturbed. Segments are locked
with flock(2), and other programs may lock any file so: such a lock is detected by trying to take it. On a
file system without locks, writers are not detected.
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
    """The file is being written."""


def hold(descriptor: int) -> int:
    """Take the lease of a file; return the descriptor that holds it until it is closed.

    Args:
        descriptor: descriptor of the file, open for reading and writing.

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
    """Return whether a file is being written; `False` if that is unknown.

    The holder of the lease, or of HDF5's lock, is not disturbed. If nobody holds the lease, the file gets a
    reader's lock of HDF5 for a moment: another program that opens it for writing at that moment may be
    refused and has to try again, as our own processes do. Where all locks are of one kind (NFS), a reader may
    be taken for a writer.

    Args:
        path: path of the file.
        folder: descriptor of the folder to which a relative path refers.
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
    """Hold a file that is about to be replaced, so that only one process replaces it.

    Args:
        name: name of the file.
        folder: descriptor of its folder.

    Raises:
        BeingWrittenError: the file is being written, or another process is replacing it.
        FileNotFoundError: the file does not exist, or was replaced meanwhile.
    """
    try:
        descriptor = _open(name, os.O_RDWR, folder)
    except FileNotFoundError:
        raise
    except OSError:  # another user's, or no regular file
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
    # Without O_NONBLOCK, opening a pipe would wait.
    return os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)


def _is_locked(descriptor: int) -> bool:
    """Return whether another process holds the lease, or HDF5's lock, which has to be tried."""
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
