"""What can go wrong with a result file, in sentences."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from penstock.stins.errors import UserError

_REMEDIES = {
    errno.ENOSPC: "the disk of {folder} is full: free some space",
    errno.EDQUOT: "the quota at {folder} is used up: free some space, or have it raised",
    errno.EFBIG: "it would exceed the largest size of a file there (ulimit -f, or the file system's)",
    errno.EROFS: "{folder} is mounted read-only: mount it for writing, or set results_root",
    errno.EACCES: "user {user} may not write in {folder}: change its rights, or set results_root",
    errno.EPERM: "user {user} may not write in {folder}: change its rights, or set results_root",
    errno.ENOENT: "{folder} is not there: create it, or set results_root",
    errno.ENOTDIR: "{folder} is no folder: set results_root",
    errno.ENAMETOOLONG: "its name is too long: choose a shorter one for the file or the pipeline",
}


class ResultError(UserError):
    """Results cannot be stored, or read; the sentence says why, and the remedy.

    `kind` is stable: name_taken, not_writable (full disks, too), not_a_result_file, finished,
    being_written, gone (deleted, moved or replaced while it is written), other_class (begun with another
    text of the class), unlike (a value that is unlike the earlier ones of its name), no_such_result,
    bad_value.
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def not_written(path: Path, what: str, error: Exception) -> ResultError:
    """Return the error for something that could not be written.

    Args:
        path: of the result file.
        what: what could not be written, such as "the rows of spots".
        error: as raised.
    """
    code = (error.errno if isinstance(error, OSError) else None) or 0
    known = _REMEDIES.get(code, "{reason}; see what `penstock check-storage {folder}` says")
    reason = os.strerror(code) if code else str(error)
    why = known.format(folder=path.parent, user=os.geteuid(), reason=reason)
    return ResultError("not_writable", f"{path}: could not write {what}: {why}")
