"""What other programs read of a file while its receiver writes it, and after the receiver was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.reading.reader import SeriesFile
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

FILL = 65535
READER = """
import json, sys
import h5py

with h5py.File(sys.argv[1], **json.loads(sys.argv[2])) as file:
    found = []
    for index in range(len(file["entry/data/data"])):
        try:
            found.append(int(file["entry/data/data"][index].max()))
        except OSError as error:
            found.append(type(error).__name__)
print(json.dumps(found))
"""


def read_elsewhere(path: Path, how: Mapping[str, Any], **environment: str) -> list[int | str] | str:
    """The highest pixel of each frame, or the name of its error, as another process reads it with h5py; the
    last line of the error if it cannot open the file."""
    command = [sys.executable, "-c", READER, str(path), json.dumps(how)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )
    if done.returncode:
        return done.stderr.splitlines()[-1]
    found: list[int | str] = json.loads(done.stdout)
    return found


def test_a_frame_of_an_open_segment_is_an_error_of_the_lock_and_is_read_without_locks(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=4)
    receiver.connected()
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), frames=10, trigger_mode="SOFTWARE")
    for number in range(6):
        streamer.frame(number)
    receiver.flushed(6)
    # 24 pixels each, counted on from frame to frame: 23, 47, 71, 95, 119, 143.
    closed = [23, 47, 71, 95]
    refused = [*closed, *["BlockingIOError"] * 4, FILL, FILL]
    flushed = [*closed, 119, 143, *[FILL] * 4]
    if h5py.version.hdf5_version_tuple < (2, 0, 0):
        refused = [*closed, *[FILL] * 6]
    assert read_elsewhere(path.with_name("x_000001.h5"), {}) == closed
    assert "unable to lock file" in read_elsewhere(path.with_name("x_000002.h5"), {})
    assert read_elsewhere(path, {}) == refused
    assert read_elsewhere(path, {"locking": False}) == flushed
    assert read_elsewhere(path, {}, HDF5_USE_FILE_LOCKING="FALSE") == flushed
    with SeriesFile(path) as file:
        np.testing.assert_array_equal(file.frame(5), pixels(5))
    streamer.end()
    receiver.ended(series)
    assert read_elsewhere(path, {}) == [*closed, 119, 143]


@pytest.mark.slow
def test_a_killed_swmr_file_opens_as_such_only_until_a_receiver_has_marked_it(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path
) -> None:
    receiver = start_receiver(swmr=True, resume=False)
    receiver.connected()
    path = receiver.root / "x.h5"
    streamer.start(
        str(path), frames=10, shape=(4, 6), type="uint16", compression="none", trigger_mode="SOFTWARE"
    )
    for number in range(3):
        streamer.frame(number)
    receiver.flushed(3)
    os.killpg(receiver.process.pid, signal.SIGKILL)
    receiver.process.wait()
    for how in ({}, {"locking": False}):
        assert "file is already open for write" in read_elsewhere(path, how)
    assert read_elsewhere(path, {"mode": "r", "swmr": True})[:3] == [23, 47, 71]
    again = ReceiverProcess(tmp_path / "receiver-0", streamer.endpoint, swmr=True, resume=False)
    try:
        again.wait(lambda status: status.state == "idle")
        assert read_elsewhere(path, {}) == [23, 47, 71]
    finally:
        again.close()
