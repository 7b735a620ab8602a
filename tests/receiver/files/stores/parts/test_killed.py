"""A writer of several files that is killed: its files open, and every flushed frame is in them."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores import Writing
from penstock.receiver.files.stores.parts import views
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.reopen import format_of
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Flushed, Written, array, frame, status_of
from tests.receiver.sample_series import start
from tests.streams import image

pytestmark = pytest.mark.usefixtures("small_blocks")

FILL = 65535
TRIALS = [
    pytest.param(range(4), id="four times"),
    *(
        pytest.param(range(first, first + 24), id=f"from {first}", marks=pytest.mark.slow)
        for first in (4, 28, 52, 76)
    ),
]


def packed(number: int) -> Frame:
    blobs = [bslz4.compress(array(number))]
    return Frame(image(number, array(number), compression="bslz4", series="a"), blobs)


MAKES: dict[str, tuple[Callable[[int], Frame], dict[str, Any]]] = {
    "plain": (frame, {"frames": 10**6}),
    "packed": (packed, {"frames": 10**6}),
    "plain, announced": (frame, {"frames": 5_000, "shape": SHAPE, "type": "uint16", "compression": "none"}),
    "unannounced": (frame, {"frames": None}),
}


@pytest.mark.parametrize("trials", TRIALS)
def test_kill_9_at_any_moment_leaves_files_that_open_with_every_flushed_frame(
    trials: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another view per GB, not per 12 frames: while one is added the others cannot be found, for two writes.
    monkeypatch.setattr(views, "BLOCKS", 128)
    for trial in trials:
        dice = random.Random(trial)
        make, keys = MAKES[list(MAKES)[trial % len(MAKES)]]
        path = tmp_path / f"{trial}.h5"
        told, tell = os.pipe()
        if (pid := os.fork()) == 0:
            write_until_killed(path, tell, make, keys, 2 + trial % 3)
        os.close(tell)
        flushed = Flushed(told)
        flushed.wait(dice.randrange(1, 60))
        time.sleep(dice.uniform(0, 0.01))  # the moment of death, nothing is waited for
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        flushed.close()
        holds(path, flushed.count)
        mark_interrupted(path, "it was killed")
        holds(path, flushed.count)
        with h5py.File(path) as file:
            statuses = np.array(status_of(file))
            data = file["entry/data/data"]
            assert len(data) == len(statuses)
            for index in range(len(statuses)):
                stored = statuses[index] == FrameStatus.STORED
                np.testing.assert_array_equal(data[index], array(index) if stored else np.full(SHAPE, FILL))


def write_until_killed(
    path: Path, tell: int, make: Callable[[int], Frame], keys: dict[str, Any], files: int
) -> None:
    """In a child: frames without end, a flush after every few; tells what is flushed."""
    try:
        written = Written(path, start(**keys), files=files)
        for number in range(keys["frames"] or 10**6):
            written.add(make(number))
            if number % 7 == 6:
                written.writer.flush()
                os.write(tell, (number + 1).to_bytes(8, "little"))
    finally:
        os._exit(1)


def holds(path: Path, count: int) -> None:
    with h5py.File(path) as file:
        assert status_of(file)[:count] == [FrameStatus.STORED] * count
        assert DETECTOR in file
        for index in range(count):
            np.testing.assert_array_equal(file["entry/data/data"][index], array(index))


@pytest.mark.parametrize("kind", MAKES)
def test_another_process_goes_on_in_the_files_as_they_were_dealt_whatever_its_entry_says(
    kind: str, tmp_path: Path
) -> None:
    make, keys = MAKES[kind]
    path = tmp_path / "x.h5"
    told, tell = os.pipe()
    if (pid := os.fork()) == 0:
        write_until_killed(path, tell, make, keys, 3)
    os.close(tell)
    flushed = Flushed(told)
    flushed.wait(21)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    flushed.close()
    reopened = reopen_file(path)
    known = reopened.account.highest + 1
    assert known >= flushed.count
    series = RunningSeries(start(**keys), 0, ResumedSeries(reopened.account, (), str(path), 0.0))
    writer = SeriesWriter(path, "sim-1", series, "", Writing(files=5), reopened=reopened)
    assert isinstance(writer._store, PartsStore) and writer._store._dealing.files == 3
    for number in range(known, known + 30):
        if number != known + 5:
            writer.add(number, make(number))
            series.account.take(number, FrameStatus.STORED)
    writer.close(series.close("stopped"), synced=False)
    assert len(list(tmp_path.iterdir())) == 4
    with SeriesFile(path) as file:
        assert len(file) == known + 30
        statuses = file.frame_status
        assert statuses is not None
        for index in range(known + 30):
            there = statuses[index] == FrameStatus.STORED
            np.testing.assert_array_equal(file.frame(index), array(index) if there else np.full(SHAPE, FILL))
            assert there or index >= flushed.count  # between two flushes some may be lost
        assert statuses[known + 5] == FrameStatus.MISSING and statuses[known + 6] == FrameStatus.STORED


@pytest.mark.parametrize("harm", ["truncated", "exchanged", "a folder"])
def test_if_a_part_is_damaged_together_with_the_writer_the_other_frames_stay(
    harm: str, tmp_path: Path
) -> None:
    path, part = tmp_path / "x.h5", tmp_path / "x_part2.h5"
    if (child := os.fork()) == 0:
        written = Written(path, start(frames=1000), files=2)
        for number in range(12):  # four blocks of three
            written.add(frame(number))
        written.writer.flush()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    if harm == "truncated":
        os.truncate(part, part.stat().st_size // 2)
    elif harm == "exchanged":
        shutil.copy(tmp_path / "x_part1.h5", part)
    else:
        part.unlink()
        part.mkdir()
    reopened = reopen_file(path)
    with pytest.raises(ValueError, match=re.escape(str(part))):  # so that it is not continued
        format_of(reopened.detector, None)
    reopened.close()
    counts = mark_interrupted(path, "it was killed").counts()
    assert (counts.stored, counts.missing) == (6, 994)
    with SeriesFile(path) as file:
        assert file.reason == "it was killed; 6 of 1,000 frames are in the file"
        assert np.asarray(file.frame_status).tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1] and len(file) == 9
        for index in (0, 1, 2, 6, 7, 8):
            np.testing.assert_array_equal(file.frame(index), array(index))
