"""A file whose writer died, opened again, and the frames that it reliably has.

What was flushed is in the file. Between two flushes HDF5 may write any part of its own structures: a frame
can be stored by its status before its chunk is in the index, and the index can name chunks beyond the end of
file according to the superblock. So each frame is looked up in the index, and the end of file is moved behind
all that was ever written before anything new is written (as `h5clear --filesize` does).
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

from penstock.receiver.files.contents import per_frame
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.superblock import FOR_SWMR, is_followed, repair, version_of
from penstock.receiver.files.stores.reopen import take_back_modules, whole
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import COUNTERS, Account
from penstock.receiver.validity.frames import WITH_DATA

log = logging.getLogger(__name__)

DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError)
"""Errors that h5py may raise for a damaged file."""


@dataclass
class Reopened:
    """A file whose writer died, open for writing."""

    file: h5py.File
    detector: h5py.Group
    account: Account
    """Account according to the file; frames that the file does not know are pending."""

    def close(self) -> None:
        """Close the file."""
        disk_file.close(self.file)


def reopen_file(path: str | Path, *, damaged: bool = False) -> Reopened:
    """Open a file whose writer died for writing.

    Args:
        path: path of the file.
        damaged: whether its index is known to be damaged; each frame is then looked up by itself.

    Raises:
        OSError, RuntimeError, ValueError, KeyError …: `DAMAGED`.
    """
    repair(path)
    bounds = disk_file.SWMR_VERSIONS if version_of(path) == FOR_SWMR else None
    file = disk_file.open_file(os.open(path, os.O_RDWR | os.O_CLOEXEC), path, "r+", bounds)
    try:
        detector = detector_of(file)
        record = detector["series"]
        for name in COUNTERS:
            if name not in record:  # an earlier version began the file
                record[name] = 0
        statuses = detector["frame_status"][:]
        take_back_modules(detector, statuses, damaged=damaged)
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


def count_what_reads(path: str | Path, account: Account) -> None:
    """Count a frame as stored if it can be read from the file, whose end could not be written."""
    found = np.zeros(account.highest + 1, bool)
    try:
        # With swmr for no other file: HDF5 would retry reading a damaged one for seconds.
        with h5py.File(path, "r", locking=False, swmr=is_followed(path)) as file:
            detector = detector_of(file)
            statuses = detector["frame_status"][: len(found)]
            try:
                there = whole(detector, len(statuses))
            except DAMAGED:
                there = whole(detector, len(statuses), damaged=True)
        found[: len(statuses)] = np.isin(statuses, WITH_DATA) & there
    except DAMAGED as error:
        log.error("%s cannot be read back: %s", path, error)
    for index, reads in enumerate(found.tolist()):
        if not reads and account.status(index) in WITH_DATA:
            account.revise(index, FrameStatus.MISSING, late=False)
        elif reads and account.status(index) is FrameStatus.MISSING:
            account.revise(index, FrameStatus.STORED, late=False)
    counts = account.counts()
    account.flushed = counts.stored + counts.partial


def detector_of(file: h5py.File) -> Any:
    """Return the NXdetector group of a file.

    Raises:
        OSError, KeyError: there is none.
    """
    instrument = file["entry/instrument"]
    for name, group in instrument.items():
        if isinstance(instrument.get(name, getlink=True), h5py.SoftLink):
            continue  # another name of the detector
        if group.attrs.get("NX_class") == "NXdetector":
            return group
    raise OSError(f"{disk_file.path_of(file)} has no NXdetector")
