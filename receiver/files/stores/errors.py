"""Errors with the files of a series, besides those of the system."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def why_not(path: Path, error: OSError) -> str:
    """Return why a file cannot be opened; HDF5 gives the same error number for most reasons."""
    if not path.exists():
        return f"{path} does not exist"
    if path.is_dir():
        return f"{path} is a folder, not a file"
    if not os.access(path, os.R_OK) or error.errno == errno.EACCES:
        return f"{path} may not be read by this user"
    if path.stat().st_size == 0:
        return f"{path} is empty: its writer has not begun, or was stopped before the first flush"
    message = str(error)
    if "signature not found" in message:
        return f"{path} is not an HDF5 file"
    if "already open for write" in message:
        return (
            f"{path} is still being written with SWMR, or its receiver was killed: read it once the series "
            "has ended, or the receiver was started again; until then it opens with swmr=True only"
        )
    if "unable to lock file" in message and error.errno == errno.EAGAIN:
        return f"{path} is still being written, and locked: read it once it is closed"
    if "truncated" in message:
        return f"{path} is truncated ({message}); copy it again from where it was written"
    return f"{path} cannot be opened as HDF5: {message}"


class FilesGoneError(OSError):
    """A file with frames was removed, moved or replaced."""


class OverLimitError(ValueError):
    """A series exceeds a configured limit; the sentence names the key and the remedy."""
