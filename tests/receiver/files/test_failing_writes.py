"""One after another, each write of a series fails, and all that follow: what counts as stored can be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from tests.receiver.files.stores.written import DETECTOR, Written, array, frame
from tests.receiver.sample_series import start

FRAMES = 12


class Disk:
    """Takes so many writes, and none that follows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 10**9
        for module, name in ((disk_file, "pwrite_all"), (os, "ftruncate")):
            monkeypatch.setattr(module, name, self._failing(getattr(module, name)))

    def _failing(self, real: Any) -> Any:
        def write(*what: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*what)

        return write


def test_whichever_write_fails_with_all_that_follow_the_counts_are_of_frames_that_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    outcomes = set()
    for writes in range(1000):
        disk.left = writes
        path = tmp_path / f"{writes}" / "x.h5"
        outcome = take(path)
        disk.left = 10**9
        outcomes.add(outcome)
        if outcome == "complete":
            break
    assert outcomes == {"not created", "failed", "complete"}


def take(path: Path) -> str:
    """A series of two batches, and what is in its file."""
    try:
        written = Written(path, start(frames=None))
    except StorageError:
        assert not path.exists()
        return "not created"
    failed = None
    try:
        for batch in (range(FRAMES - 2), range(FRAMES - 2, FRAMES)):
            written.add(*(frame(number) for number in batch))
            written.writer.flush()
    except WriterError as error:
        failed = error
    try:
        written.close(*([] if failed is None else [str(failed)]), triggered=FRAMES, sent=FRAMES)
    except WriterError as error:
        failed = error
    counts = written.series.account.counts()
    with h5py.File(path) as file:
        known = file[f"{DETECTOR}/frame_status"][()]
        for index in np.flatnonzero(known == FrameStatus.STORED).tolist():
            np.testing.assert_array_equal(file["entry/data/data"][index], array(index))
        assert np.count_nonzero(known == FrameStatus.STORED) == counts.stored
    assert counts.stored + counts.missing + counts.not_triggered == counts.planned
    assert failed is not None or counts.stored == FRAMES
    return "complete" if failed is None else "failed"
