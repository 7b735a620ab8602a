"""The file that an entry of the journal names: whether it is still that file; marking it as incomplete."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np

from penstock.receiver.files import stores
from penstock.receiver.files.contents.structure import set_text, write_rows
from penstock.receiver.files.recovery.journal import Entry
from penstock.receiver.files.remedies import also_partial, in_the_file
from penstock.receiver.files.reopened import DAMAGED, detector_of, reopen_file
from penstock.receiver.files.stores.disk.superblock import FOR_SWMR, version_of
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.series.account import COUNTERS, Account
from penstock.receiver.series.running_series import MORE_UNKNOWN
from penstock.stins.texts import of_series, plural


class Untouched(Exception):
    """The file is not the one in the journal, or may not be written; it was left as it is."""


def look_at(entry: Entry) -> str:
    """Return the state of a series' file without changing the file.

    Raises:
        Untouched: the file is not the one in the journal, or may not be written; the sentence says why.
    """
    path = Path(entry.filename)
    try:
        found = path.stat()
    except OSError as error:
        raise Untouched(
            f"{path} cannot be found ({error.strerror}); it was moved, or its creator was killed"
        ) from error
    if (found.st_dev, found.st_ino) != (entry.device, entry.inode):
        raise Untouched(f"{path} is another file by now; it is left as it is")
    if not os.access(path, os.R_OK | os.W_OK):
        raise Untouched(
            f'{path} may not be written by the receiver (user id {os.geteuid()}), so it stays "in progress"; '
            "what was flushed is in it"
        )
    try:
        with h5py.File(path, "r", locking=False, swmr=version_of(path) == FOR_SWMR) as file:
            detector = detector_of(file)
            record = detector["series"]
            series, state = (record[name].asstr()[()] for name in ("id", "state"))
            len(detector["frame_status"])
    except DAMAGED as error:
        raise Untouched(
            f"{path} is damaged ({error}) and is left as it is; try h5dump, and keep a copy"
        ) from error
    if series != entry.series.replace("\0", "\ufffd"):
        raise Untouched(f"{path} is the file of another series; it is left as it is{of_series(series)}")
    return str(state)


def there(account: Account) -> str:
    """Return, in words, how many frames a file has whose writer died; the account is closed."""
    counts = account.counts()
    if account.announced:
        return in_the_file(counts)
    stored, partial = plural(counts.stored, "frame is", "frames are"), also_partial(counts)
    return f"{stored} in the file{partial}{MORE_UNKNOWN}"


def mark_interrupted(path: str | Path, reason: str) -> Account:
    """Mark a file whose writer died as incomplete; return the closed account of its frames.

    Frames that were flushed are there; the datasets are cut behind the last of them. A process that is killed
    while HDF5 writes the index can leave it damaged (docs/how-to/after-a-crash.md): then what can still be
    read counts, and nothing is cut.

    Args:
        reason: written into the file, with the number of frames.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    try:
        found, damaged = reopen_file(path), False
    except DAMAGED:
        found, damaged = reopen_file(path, damaged=True), True
    try:
        account, detector = found.account, found.detector
        record = detector["series"]
        account.close(None)
        counts = account.counts()
        statuses = account.statuses(account.highest + 1)
        if not damaged:
            try:
                stores.finish(detector, statuses)
                region_rows.cut(detector, len(statuses))
                write_rows(found.file["entry"], detector)
            except DAMAGED:
                damaged = True
        known = detector["frame_status"]
        known[:] = np.pad(statuses, (0, len(known) - len(statuses)))  # what is not cut is missing
        for name in COUNTERS:
            record[name][()] = getattr(counts, name)
        record["planned"][()] = counts.planned
        set_text(record, "state", "incomplete")
        holds = there(account)
        if damaged:
            holds += ", whose index was damaged: copy them to another file"
        set_text(record, "reason", f"{reason}; {holds}")
    finally:
        found.close()
    return account
