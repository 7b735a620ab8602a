"""That a file cannot be written, and what to do about it: one sentence for each cause."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from penstock.receiver.files.stores.errors import FilesGoneError, OverLimitError
from penstock.receiver.models import Counts
from penstock.stins.texts import of_series, plural

AWAY = "The storage of {folder} is away or fails: see whether it is mounted and answers, and what dmesg says"
BY_ERRNO = {
    errno.ENOSPC: "The disk of {folder} is full: free some space",
    errno.EDQUOT: "The quota at {folder} is used up: free some space, or have it raised",
    errno.EFBIG: "The file may not become larger, by the file system or a limit of the process (ulimit -f, "
    "LimitFSIZE): raise it, or write segments (frames_per_file)",
    errno.EROFS: "{folder} is mounted read-only, perhaps after an error: mount it for writing",
    errno.EACCES: "The receiver (user id {user}) may not write in {folder}: change its rights",
    errno.EPERM: "The receiver (user id {user}) may not write in {folder}: change its rights",
    errno.EMFILE: "The receiver may not open more files: raise the limit (ulimit -n)",
    errno.ENOMEM: "The host has no memory left: free some, or set memory_mb",
    errno.ENOENT: "{folder} is not there any more: see who removed or moved it, and make it again",
    errno.EEXIST: "Move it away, or choose another name",
    **dict.fromkeys(
        (
            errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.EREMOTEIO,
            errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ECONNRESET, errno.ESHUTDOWN,
        ),
        AWAY,
    ),
}  # fmt: skip
BY_KIND: dict[type[Exception], str] = {
    FilesGoneError: "Look who did that (a clean-up job, a sync program?)",
    OverLimitError: "The series ends here",
    MemoryError: "The host has no memory left: free some, or set memory_mb",
}
HDF5_ERRNO = re.compile(r"\berrno = (\d+)")
STAYS = (
    '. The file stays "in progress" (penstock check says what is in it); a receiver that is started when it '
    "can be written marks it"
)
"""What becomes of a file whose end could not be written."""
UNKNOWN = "Look into the receiver's log, and what `penstock check-storage {folder}` says"


def remedy(error: Exception, folder: Path) -> str:
    """What somebody can do: a sentence without its full stop.

    Args:
        error: what was raised where the file was written.
        folder: of the file.
    """
    found = next((text for kind, text in BY_KIND.items() if isinstance(error, kind)), None)
    if found is None:
        found = BY_ERRNO.get(errno_of(error))
    return (found or UNKNOWN).format(folder=folder, user=os.geteuid())


def not_written(path: Path, what: str, error: Exception, counts: Counts, series: str, more: str) -> str:
    """That something could not be written into a file: what is in it, and what somebody can do.

    Args:
        path: of the file.
        what: could not be written.
        error: what was raised.
        counts: of the series.
        series: its id.
        more: goes on after what to do.
    """
    return (
        f"{path}: could not write {what}: {_reason(error)}; "
        f"{counts.stored} of {plural(counts.planned, 'frame is', 'frames are')} in the file. "
        f"{remedy(error, path.parent)}, then reset the receiver{more}{of_series(series)}"
    )


def not_created(path: Path, error: Exception) -> str:
    """That a file could not be created, and what somebody can do."""
    return f"cannot create {path}: {_reason(error)}. {remedy(error, path.parent)}, then reset the receiver"


def gone(path: Path, counts: Counts, series: str) -> str:
    """That a file is no longer where it was created, and what somebody can do."""
    return (
        f"{path} was removed, moved or replaced while it was written; the frames stored so far "
        f"({counts.stored}) went with it. Look who did that (a clean-up job, a sync program?), then reset "
        f"the receiver{of_series(series)}"
    )


def _reason(error: Exception) -> str:
    code = errno_of(error)
    return os.strerror(code) if code else str(error)


def errno_of(error: Exception) -> int:
    """Number of the system's error behind this one (errno(3)); 0 where nobody says.

    HDF5 says it in its text alone where h5py raises RuntimeError.
    """
    if isinstance(error, OSError) and error.errno:
        return error.errno
    said = HDF5_ERRNO.search(str(error)) if isinstance(error, OSError | RuntimeError) else None
    return int(said[1]) if said else 0
