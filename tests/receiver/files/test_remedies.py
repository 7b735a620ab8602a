"""What a failure to write tells its reader to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.receiver.files.causes import CAUSES, errno_of
from penstock.receiver.files.remedies import remedy
from penstock.receiver.files.stores.errors import FilesGoneError

FOLDER = Path("/data/user")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "full"), "The disk of /data/user is full: free some space"),
        (OSError(errno.EDQUOT, "quota"), "The quota at /data/user is used up"),
        (OSError(errno.EIO, "input/output"), "is away or fails"),
        (OSError(errno.ESTALE, "stale"), "is away or fails"),
        (OSError(errno.EFBIG, "large"), "ulimit -f"),
        (OSError(errno.EROFS, "read-only"), "mount it for writing"),
        (OSError(errno.EACCES, "denied"), f"user id {os.geteuid()}"),
        (FilesGoneError("x_000001.h5 was removed"), "Find out who did that"),
        (MemoryError(), "no memory left"),
        (OSError(errno.ENOENT, "no such file"), "find out who removed or moved it"),
        (RuntimeError("file write failed: errno = 5, error message = 'x'"), "is away or fails"),
        (RuntimeError("HDF5 said so"), "penstock check-storage /data/user"),
        (OSError("HDF5 said so"), "penstock check-storage /data/user"),
    ],
    ids=repr,
)
def test_the_remedy_is_that_of_the_cause(error: Exception, words: str) -> None:
    found = remedy(error, FOLDER)
    assert words in found
    assert ("is full" in found) == ("ENOSPC" in errno.errorcode.get(getattr(error, "errno", 0) or 0, ""))


def test_a_full_disk_of_which_hdf5_speaks_in_its_text_alone_is_known() -> None:
    said = RuntimeError(
        "Unable to flush (file write failed: time = 1, errno = 28, error message = 'No space')"
    )
    assert remedy(said, FOLDER).startswith("The disk of /data/user is full")
    assert errno_of(said) == errno.ENOSPC
    assert errno_of(ValueError("errno = 28")) == 0


@pytest.mark.parametrize("code", CAUSES, ids=errno.errorcode.get)
def test_every_remedy_is_a_sentence_that_goes_on(code: int) -> None:
    found = remedy(OSError(code, os.strerror(code)), FOLDER)
    assert "{" not in found
    assert not found.endswith(".")
