"""Sentences for files that cannot be written, with the remedy for each cause."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from penstock.receiver.files.stores.errors import FilesGoneError, OverLimitError
from penstock.receiver.models import Counts
from penstock.stins.texts import of_series, plural

AWAY = "The storage of {folder} is away or fails: check that it is mounted and answers, and what dmesg says"
BY_ERRNO = {
    errno.ENOSPC: "The disk of {folder} is full: free some space",
    errno.EDQUOT: "The quota at {folder} is used up: free some space, or have the quota raised",
    errno.EFBIG: "The file has reached the limit of the file system or the process (ulimit -f, "
    "LimitFSIZE): raise it, or write segments (frames_per_file)",
    errno.EROFS: "{folder} is mounted read-only, perhaps after an error: mount it for writing",
    errno.EACCES: "The receiver (user id {user}) may not write in {folder}: change its rights",
    errno.EPERM: "The receiver (user id {user}) may not write in {folder}: change its rights",
    errno.EMFILE: "The receiver may not open more files: raise the limit (ulimit -n)",
    errno.ENOMEM: "The host has no memory left: free some, or set memory_mb",
    errno.ENOENT: "{folder} no longer exists: find out who removed or moved it, and create it again",
    errno.EEXIST: "Move it away, or choose another name",
    **dict.fromkeys(
        (
            errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.EREMOTEIO,
            errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ECONNRESET, errno.ESHUTDOWN,
        ),
        AWAY,
    ),
}  # fmt: skip
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
BY_KIND: dict[type[Exception], str] = {
    FilesGoneError: "Find out who did that (a clean-up job, a sync program?)",
    OverLimitError: "The series ends here",
    MemoryError: "The host has no memory left: free some, or set memory_mb",
}
HDF5_ERRNO = re.compile(r"\berrno = (\d+)")
STAYS = (
    '. The file stays "in progress" (penstock check says what is in it); a receiver that is started when it '
    "can be written marks it"
)
"""State of a file whose end could not be written."""
UNKNOWN = "See the receiver's log, and what `penstock check-storage {folder}` says"


def remedy(error: Exception, folder: Path) -> str:
    """Return what to do about an error, as a sentence without its full stop.

    Args:
        error: error raised where the file was written.
        folder: folder of the file.
    """
    found = next((text for kind, text in BY_KIND.items() if isinstance(error, kind)), None)
    if found is None:
        found = BY_ERRNO.get(errno_of(error))
    return (found or UNKNOWN).format(folder=folder, user=os.geteuid())


def not_written(path: Path, what: str, error: Exception, counts: Counts, series: str, more: str) -> str:
    """Return the sentence for a failed write: the cause, what is in the file, the remedy.

    Args:
        path: path of the file.
        what: what could not be written.
        error: the error raised.
        counts: counts of the series.
        series: id of the series.
        more: text to follow the remedy.
    """
    return (
        f"{path}: could not write {what}: {_reason(error)}; "
        f"{counts.stored:,} of {plural(counts.planned, 'frame is', 'frames are')} in the file. "
        f"{remedy(error, path.parent)}, then reset the receiver{more}{of_series(series)}"
    )


def not_created(path: Path, error: Exception) -> str:
    """Return the sentence for a file that could not be created, with the remedy."""
    return f"cannot create {path}: {_reason(error)}. {remedy(error, path.parent)}, then reset the receiver"


def gone(path: Path, counts: Counts, series: str) -> str:
    """Return the sentence for a file that was removed, moved or replaced, with the remedy."""
    return (
        f"{path} was removed, moved or replaced while it was written; the frames stored so far "
        f"({counts.stored}) went with it. Find out who did that (a clean-up job, a sync program?), then "
        f"reset the receiver{of_series(series)}"
    )


def _reason(error: Exception) -> str:
    code = errno_of(error)
    return os.strerror(code) if code else str(error)


def is_no_space(error: Exception) -> bool:
    """Return whether something could not be written for want of space or permission, which may come later."""
    return errno_of(error) in NO_SPACE


def errno_of(error: Exception) -> int:
    """Return the system's error number (errno(3)) behind an error; 0 if it is unknown.

    Where h5py raises RuntimeError, only the text of HDF5 has the number.
    """
    if isinstance(error, OSError) and error.errno:
        return error.errno
    said = HDF5_ERRNO.search(str(error)) if isinstance(error, OSError | RuntimeError) else None
    return int(said[1]) if said else 0
