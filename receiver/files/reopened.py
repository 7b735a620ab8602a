"""A file whose writer died, opened again: what it holds, as far as it can be believed.

What was flushed is there. Between two flushes HDF5 writes what it likes of its own structures: a frame can
count as stored while no chunk is in the index yet, and the index can name chunks beyond the end of the
file as the superblock has it. So each frame is looked for in the index, and the end is put behind
everything that was ever written, before anything new is (as `h5clear --filesize` does).
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters that frames are packed with)
import numpy as np

from penstock.receiver.files import per_frame
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.reopen import whole
from penstock.receiver.files.stores.superblock import FOR_SWMR, is_followed, repair, version_of
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import COUNTERS, IN_FILE, Account

log = logging.getLogger(__name__)

DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError)
"""What h5py raises for a file that is not what it should be depends on where it stumbles."""


@dataclass
class Reopened:
    """A file whose writer died, open for writing."""

    file: h5py.File
    detector: h5py.Group
    account: Account
    """As far as the file knows it; what is not known is pending."""

    def close(self) -> None:
        """Let go of it."""
        disk_file.close(self.file)


def reopen_file(path: str | Path, *, damaged: bool = False) -> Reopened:
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
        detector = detector_of(file)
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
    return Reopened(file, detector, account)


def frames_in(path: str | Path) -> np.ndarray[Any, Any]:
    """Which frames somebody finds in a file whose end could not be written: bool, one an index.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    # HDF5 reads a damaged file for seconds, again and again, where it believes that somebody is writing it.
    with h5py.File(path, "r", locking=False, swmr=is_followed(path)) as file:
        detector = detector_of(file)
        statuses: np.ndarray[Any, Any] = detector["frame_status"][:]
        try:
            there = whole(detector, len(statuses))
        except DAMAGED:
            there = whole(detector, len(statuses), damaged=True)
        found: np.ndarray[Any, Any] = np.isin(statuses, IN_FILE) & there
        return found


def count_what_reads(path: str | Path, account: Account) -> None:
    """Let a frame count as stored if somebody finds it who opens the file, whose end could not be written."""
    found = np.zeros(account.highest + 1, bool)
    try:
        there = frames_in(path)[: len(found)]
        found[: len(there)] = there
    except DAMAGED as error:
        log.error("%s cannot be read back: %s", path, error)
    for index, reads in enumerate(found.tolist()):
        if not reads and account.status(index) in IN_FILE:
            account.revise(index, FrameStatus.MISSING, late=False)
        elif reads and account.status(index) is FrameStatus.MISSING:
            account.revise(index, FrameStatus.STORED, late=False)
    counts = account.counts()
    account.flushed = counts.stored + counts.partial


def detector_of(file: h5py.File) -> Any:
    """The NXdetector group of a file.

    Raises:
        OSError, KeyError: there is none.
    """
    for group in file["entry/instrument"].values():
        if group.attrs.get("NX_class") == "NXdetector":
            return group
    raise OSError(f"{disk_file.path_of(file)} has no NXdetector")
