"""What an error of the system means for the file of a series: one table.

While the file is created, at the start of a series, an error is either its *name's*: it cannot be there, and
another can. Then the series is refused, and the receiver stays Idle. Or it is the *receiver's*: no other file
could be created either, or a person has to know. Then the receiver goes to Error. What fails in the middle of
a series is always Error, with the same remedy.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.service import open_files


class Cause(NamedTuple):
    """The meaning of one error number."""

    kind: str
    """Stable name of the refusal, see docs/reference/http.md."""
    remedy: str
    """What to do, as a sentence without its full stop, of the `{folder}` and the receiver's `{user}` id."""
    of_name: bool = False
    """True if the name is at fault, and not the receiver, if the file cannot be created."""


RIGHTS = (
    "The receiver (user id {user}) may not enter {folder} or a folder above it, or may not write there: "
    "change the rights, or choose another folder"
)
AWAY = "The storage of {folder} is away or fails: check that it is mounted and answers, and what dmesg says"
ODD_NAME = "See whether the file system of {folder} takes such a name, or choose another"
UNKNOWN = Cause("not_reachable", "See the receiver's log, and what `penstock check-storage {folder}` says")
"""Cause of an error that is not in the table: the next series might be lost as well, so a person has to
look."""
NO_MEMORY = "The host has no memory left: free some, or set memory_mb"

CAUSES: Mapping[int, Cause] = {
    errno.EACCES: Cause("not_writable", RIGHTS, of_name=True),
    errno.EPERM: Cause("not_writable", RIGHTS, of_name=True),
    errno.EMLINK: Cause(
        "not_writable", "{folder} or a folder above it can hold no more: choose another", of_name=True
    ),
    errno.ENOTDIR: Cause(
        "not_a_folder", "What should be a folder on the way is a file or a link: choose another folder",
        of_name=True,
    ),
    errno.EISDIR: Cause("is_a_folder", "A folder has this name: choose another name", of_name=True),
    errno.ELOOP: Cause(
        "bad_filename", "Links on the way lead in a circle, or are too many: choose another folder",
        of_name=True,
    ),
    errno.ENAMETOOLONG: Cause("bad_filename", "The name is too long: choose a shorter one", of_name=True),
    errno.EINVAL: Cause("bad_filename", ODD_NAME, of_name=True),
    errno.EILSEQ: Cause("bad_filename", ODD_NAME, of_name=True),
    errno.EEXIST: Cause("file_exists", "Move it away, or choose another name", of_name=True),
    errno.ENOENT: Cause(
        "not_reachable",
        "{folder} no longer exists: find out who removed or moved it, and create it again", of_name=True,
    ),
    errno.ENOSPC: Cause("disk_full", "The disk of {folder} is full: free some space"),
    errno.EDQUOT: Cause(
        "disk_full", "The quota at {folder} is used up: free some space, or have the quota raised"
    ),
    errno.EFBIG: Cause(
        "over_limit",
        "The file has reached the limit of the file system or the process (ulimit -f, LimitFSIZE): raise it, "
        "or write several files (files, frames_per_file)",
    ),
    errno.EROFS: Cause(
        "not_writable", "{folder} is mounted read-only, perhaps after an error: mount it for writing"
    ),
    **{code: Cause(open_files.KIND, remedy) for code, remedy in open_files.REMEDIES.items()},
    errno.ENOMEM: Cause("no_memory", NO_MEMORY),
    **dict.fromkeys(
        (
            errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.EREMOTEIO,
            errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ECONNRESET, errno.ESHUTDOWN,
        ),
        Cause("not_reachable", AWAY),
    ),
}  # fmt: skip

HDF5_ERRNO = re.compile(r"\berrno = (\d+)")


def errno_of(error: Exception) -> int:
    """Return the system's error number (errno(3)) behind an error; 0 if it is unknown.

    Where h5py raises RuntimeError, only the text of HDF5 has the number.
    """
    if isinstance(error, OSError) and error.errno:
        return error.errno
    said = HDF5_ERRNO.search(str(error)) if isinstance(error, OSError | RuntimeError) else None
    return int(said[1]) if said else 0


def cause_of(error: Exception) -> Cause:
    """Return what an error means."""
    return CAUSES.get(errno_of(error), UNKNOWN)


def reason(error: Exception) -> str:
    """Return an error in the system's words, or else in its own."""
    code = errno_of(error)
    return os.strerror(code) if code else str(error)


def remedied(error: Exception, folder: Path | str) -> str:
    """Return an error in words, and what to do about it, without a full stop.

    Args:
        error: error raised where a file was looked for or created.
        folder: folder of the file.
    """
    return f"{reason(error)}. {cause_of(error).remedy.format(folder=folder, user=os.geteuid())}"
