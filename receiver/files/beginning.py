"""How a file begins, which says whether it can be one of ours that its writer could not end."""

from __future__ import annotations

import os
import stat

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""Of HDF5. Source: HDF5 file format specification, II.A."""
HEAD = 48
"""Bytes that a superblock has at least: HDF5 writes it last, and until then they are zeros, or not there."""


def can_be_torn(path: str | os.PathLike[str], folder: int | None = None) -> bool:
    """Return whether a file is empty, or begins with zeros or as HDF5: as a writer that was killed leaves it.

    Args:
        path: of the file.
        folder: descriptor of the folder that a relative path begins at.

    Returns:
        `False` also for what is no file, and for one that may not be read.
    """
    try:  # whoever put a pipe there shall not make anybody wait
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        head = os.pread(descriptor, HEAD, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return head.startswith(SIGNATURE) or not head.strip(b"\0")
