"""A file whose writer died: what it holds, marking it as incomplete, and opening it to go on.

What was flushed is there. Between two flushes HDF5 writes what it likes of its own structures: a frame can
count as stored while no chunk is in the index yet, and the index can name chunks beyond the end of the
file as the superblock has it. So each frame is looked for in the index, and the end is put behind
everything that was ever written, before anything new is (as `h5clear --filesize` does).
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters that frames are packed with)
import numpy as np

from penstock.receiver.files import per_frame, stores
from penstock.receiver.files.recovery.journal import Entry
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.reopen import whole
from penstock.receiver.files.stores.superblock import FOR_SWMR, is_followed, repair, version_of
from penstock.receiver.files.structure import set_text
from penstock.receiver.models import FrameStatus
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.series.account import COUNTERS, IN_FILE, Account
from penstock.stins.texts import of_series, plural

DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError)
"""What h5py raises for a file that is not what it should be depends on where it stumbles."""


class Untouched(Exception):
    """The file is not what the journal says, or may not be written: it was left as it is."""


@dataclass
class Interrupted:
    """An interrupted file, open for writing."""

    file: h5py.File
    detector: h5py.Group
    account: Account
    """As far as the file knows it; what is not known is pending."""

    def close(self) -> None:
        """Let go of it."""
        disk_file.close(self.file)


def drop_draft(entry: Entry) -> bool:
    """Remove the name under which a file was made, if it is still there; says whether the file had no other:
    then nothing is left of it, and nothing was in it."""
    try:
        found = os.lstat(entry.draft)
        if (found.st_dev, found.st_ino) != (entry.device, entry.inode):
            return False
        os.unlink(entry.draft)
    except OSError:
        return False
    return found.st_nlink == 1


def look_at(entry: Entry) -> str:
    """The state that stands in a file; nothing is touched.

    Raises:
        Untouched: why not, in a sentence.
    """
    path = Path(entry.filename)
    try:
        found = path.stat()
    except OSError as error:
        raise Untouched(f"{path} cannot be found any more ({error.strerror}); was it moved?") from error
    if (found.st_dev, found.st_ino) != (entry.device, entry.inode):
        raise Untouched(f"{path} is another file by now; it is left as it is")
    if not os.access(path, os.R_OK | os.W_OK):
        raise Untouched(
            f'{path} may not be written by the receiver (user id {os.geteuid()}), so it stays "in progress"; '
            "what was flushed is in it"
        )
    try:
        with h5py.File(path, "r", locking=False, swmr=version_of(path) == FOR_SWMR) as file:
            detector = _detector(file)
            record = detector["series"]
            series, state = (record[name].asstr()[()] for name in ("id", "state"))
            len(detector["frame_status"])
    except DAMAGED as error:
        raise Untouched(
            f"{path} is damaged ({error}) and is left as it is; try h5dump, and keep a copy"
        ) from error
    if series != entry.series.replace("\0", "\ufffd"):
        raise Untouched(f"{path} has become another file; it is left as it is{of_series(series)}")
    return str(state)


def open_again(path: str | Path, *, damaged: bool = False) -> Interrupted:
    """Open a file whose writer died to write in it.

    Args:
        damaged: its index is known to be damaged; each frame is looked for by itself.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    repair(path)
    bounds = "latest" if version_of(path) == FOR_SWMR else None
    file = disk_file.open_file(os.open(path, os.O_RDWR | os.O_CLOEXEC), path, "r+", bounds)
    try:
        detector = _detector(file)
        record = detector["series"]
        statuses = detector["frame_status"][:]
        there = whole(detector, len(statuses), damaged=damaged)
        if not damaged:
            there &= per_frame.accompanied(detector, len(statuses))
        statuses[(statuses == FrameStatus.STORED) & ~there] = FrameStatus.MISSING
        if (partial := statuses == FrameStatus.PARTIAL).any():
            some = whole(detector, len(statuses), damaged=damaged, partly=True)
            statuses[partial & ~some] = FrameStatus.MISSING
        known = statuses != FrameStatus.MISSING
        with contextlib.suppress(*(DAMAGED if damaged else ())):
            per_frame.forget(detector, known)
        length = int(np.flatnonzero(known)[-1]) + 1 if known.any() else 0
        planned = int(record["planned"][()])
        account = Account(None if planned < 0 else planned)
        account.restore(statuses[:length], {name: int(record[name][()]) for name in COUNTERS})
    except BaseException:
        with contextlib.suppress(OSError, RuntimeError):
            disk_file.close(file)
        raise
    return Interrupted(file, detector, account)


def frames_in(path: str | Path) -> np.ndarray[Any, Any]:
    """Which frames somebody finds in a file whose end could not be written: bool, one an index.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    # HDF5 reads a damaged file for seconds, again and again, where it believes that somebody is writing it.
    with h5py.File(path, "r", locking=False, swmr=is_followed(path)) as file:
        detector = _detector(file)
        statuses: np.ndarray[Any, Any] = detector["frame_status"][:]
        try:
            there = whole(detector, len(statuses))
        except DAMAGED:
            there = whole(detector, len(statuses), damaged=True)
        found: np.ndarray[Any, Any] = np.isin(statuses, IN_FILE) & there
        return found


def mark_interrupted(path: str | Path, reason: str) -> Account:
    """Mark a file whose writer died as incomplete; returns the closed account of what it holds.

    Frames that were flushed are there; the datasets are cut behind the last of them. A process that is killed
    while HDF5 writes the index can leave it damaged (docs/how-to/after-a-crash.md): then what can still be
    read counts, and nothing is cut.

    Args:
        reason: goes into the file, with the number of frames.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    try:
        found, damaged = open_again(path), False
    except DAMAGED:
        found, damaged = open_again(path, damaged=True), True
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
            except DAMAGED:
                damaged = True
        known = detector["frame_status"]
        known[:] = np.pad(statuses, (0, len(known) - len(statuses)))  # what is not cut is missing
        for name in COUNTERS:
            record[name][()] = getattr(counts, name)
        record["planned"][()] = counts.planned
        set_text(record["state"], "incomplete")
        holds = f"{counts.stored} of {plural(counts.planned, 'frame is', 'frames are')} in the file"
        if damaged:
            holds += ", whose index was damaged: copy them to another file"
        set_text(record["reason"], f"{reason}; {holds}")
    finally:
        found.close()
    return account


def _detector(file: h5py.File) -> Any:
    for group in file["entry/instrument"].values():
        if group.attrs.get("NX_class") == "NXdetector":
            return group
    raise OSError(f"{disk_file.path_of(file)} has no NXdetector")
