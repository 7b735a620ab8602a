"""Sentences for files that cannot be written, with the remedy for each cause (`causes`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from penstock.receiver.files.causes import NO_MEMORY, UNKNOWN, cause_of, errno_of, reason
from penstock.receiver.files.stores.errors import FilesGoneError, OverLimitError
from penstock.receiver.models import Counts
from penstock.receiver.series.running_series import MORE_UNKNOWN
from penstock.stins.texts import of_series, plural

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
BY_KIND: dict[type[Exception], str] = {
    FilesGoneError: "Find out who did that (a clean-up job, a sync program?)",
    OverLimitError: "The series ends here",
    MemoryError: NO_MEMORY,
}
STAYS = (
    '. The file stays "in progress" (penstock check says what is in it); a receiver that is started when it '
    "can be written marks it"
)
"""State of a file whose end could not be written."""


def remedy(error: Exception, folder: Path) -> str:
    """Return what to do about an error, as a sentence without its full stop.

    Args:
        error: error raised where the file was written.
        folder: folder of the file.
    """
    found = next((text for kind, text in BY_KIND.items() if isinstance(error, kind)), None)
    if found is None:
        # In the middle of a series, an invalid argument is none of the name.
        found = (UNKNOWN if errno_of(error) == errno.EINVAL else cause_of(error)).remedy
    return found.format(folder=folder, user=os.geteuid())


def not_written(
    path: Path, what: str, error: Exception, counts: Counts, series: str, more: str, *, is_all: bool = True
) -> str:
    """Return the sentence for a failed write: the cause, what is in the file, the remedy.

    Args:
        path: path of the file.
        what: what could not be written.
        error: the error raised.
        counts: counts of the series.
        series: id of the series.
        more: text to follow the remedy.
        is_all: False if the series has ended, and how many more frames were to come is not known.
    """
    there = in_the_file(counts) + MORE_UNKNOWN * (not is_all)
    return (
        f"{path}: could not write {what}: {reason(error)}; {there}. "
        f"{remedy(error, path.parent)}, then reset the receiver{more}{of_series(series)}"
    )


def in_the_file(counts: Counts) -> str:
    """Return, in words, how many frames a file has, of those planned."""
    planned = plural(counts.planned, "frame is", "frames are")
    return f"{counts.stored:,} of {planned} in the file{also_partial(counts)}"


def also_partial(counts: Counts) -> str:
    """Return, in words that follow the number of stored frames, how many it has in part; "" for none."""
    return (
        f", {counts.partial:,} more {'is' if counts.partial == 1 else 'are'} partial"
        if counts.partial
        else ""
    )


def gone(path: Path, counts: Counts, series: str, *, is_view: bool) -> str:
    """Return the sentence for a file that was removed, moved or replaced, with the remedy.

    Args:
        path: the file.
        counts: of its series.
        series: its id.
        is_view: whether the frames are in other files.
    """
    where = f"went with it, but for the pixels, which are in {path.stem}_….h5" if is_view else "went with it"
    return (
        f"{path} was removed, moved or replaced while it was written; the frames stored so far "
        f"({counts.stored}) {where}. Find out who did that (a clean-up job, a sync program?), then "
        f"reset the receiver{of_series(series)}"
    )


def is_no_space(error: Exception) -> bool:
    """Return whether something could not be written for want of space or permission, which may come later."""
    return errno_of(error) in NO_SPACE
