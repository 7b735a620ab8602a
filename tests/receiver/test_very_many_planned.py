"""A series of 2**48 planned frames, as many as an EIGER takes, of which three arrive.

Nothing may be proportional to what was only planned: no memory, file, time or answer. The memory is that of
the real processes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.stins.checksums import checksums
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

PLANNED = 2**48
SHAPE = (40, 60)
ANNOUNCED = {"shape": SHAPE, "type": "uint16", "compression": "bslz4", "frame_bytes": 5_000}
MOST_MB = 500
ENDS = {
    "stopped": ({"reason": "stop", "triggered": 4}, "2", {"missing": 1, "not_triggered": PLANNED - 4}),
    "lost": ({"reason": "complete", "triggered": PLANNED}, f"2, 4-{PLANNED - 1}", {"missing": PLANNED - 3}),
}

WHO_LOOKS = """
import re, sys
from pathlib import Path
from penstock.cli.main import main
from penstock.gui.live.texts import sentences
from penstock.gui.model.series.account import FATES, account
from penstock.gui.model.series.fate_bar import in_words, legend, segments
from penstock.gui.model.series.past import PastRow
from penstock.receiver.client import ReceiverClient
from penstock.receiver.reading.reader import SeriesFile

url, path = sys.argv[1:]
assert main(["check", "--json", path]) == 1
assert main(["verify", path]) == 0
receiver = ReceiverClient(url, timeout=5.0)
counts = receiver.status().counts
assert sentences.progress(counts) == "3 of 281,474,976,710,656 frames"
shown = account(
    {"nFramesPlanned": counts.planned, **{name: getattr(counts, fate) for fate, (name, _) in FATES.items()}}
)
assert sum(each.width for each in segments(shown, 1000)) == 1000 and in_words(shown) and legend(shown)
[past] = receiver.history(1)
assert PastRow(past, 0.0).frames == "3 of 281,474,976,710,656" and PastRow(past, 0.0).lost
with SeriesFile(path) as file:
    assert (file.planned, len(file), sum(1 for _ in file)) == (counts.planned, 4, 4)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Checks and verifies a file, takes it through the reader and the windows' models, and says how much memory
all that took at most, in kB: what `wait4` gives includes the memory of the tests."""


def sent(number: int) -> np.ndarray[Any, Any]:
    return pixels(number, SHAPE)


def send(streamer: Streamer, *numbers: int) -> None:
    for number in numbers:
        blobs = [bslz4.compress(sent(number))]
        streamer.frame(
            number, sent(number), blobs=blobs, compression="bslz4", checksums=checksums("crc32", blobs)
        )


def peak_mb(process: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1000


def holds(path: Path) -> None:
    """The file has the three frames, and a place for the one between them."""
    with h5py.File(path) as file:
        data, detector = file["entry/data/data"], file["entry/instrument/sim_1"]
        assert data.shape == (4, *SHAPE)
        for number in (0, 1, 3):
            np.testing.assert_array_equal(data[number], sent(number))
        assert (data[2] == 65535).all()
        assert detector["frame_status"][()].tolist() == [1, 1, 0, 1]
        assert detector["series/planned"][()] == PLANNED
    assert sum(each.stat().st_size for each in path.parent.glob("*.h5")) < 1_000_000


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({"gap": {"seconds": 0.3, "policy": "pad"}}, id="one file"),
        pytest.param({"frames_per_file": 2}, id="segments", marks=pytest.mark.slow),
    ],
)
def pair(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    streamer = Streamer()
    regions = {"peak": {"x": 0, "y": 0, "width": 4, "height": 4}}
    receiver = ReceiverProcess(
        tmp_path_factory.mktemp("receiver"), streamer.endpoint, rois=regions, memory_mb=4096,
        forward=[{"name": "all", "endpoint": "tcp://127.0.0.1:*"}], **request.param,
    )  # fmt: skip
    receiver.connected()
    yield receiver, streamer
    receiver.close()
    streamer.close()


@pytest.mark.parametrize("ending", ENDS)
def test_three_frames_of_them_cost_what_three_frames_cost(
    ending: str, pair: tuple[ReceiverProcess, Streamer]
) -> None:
    receiver, streamer = pair
    path = receiver.root / f"{ending}.h5"
    end, missing, counts = ENDS[ending]
    series = streamer.start(str(path), frames=PLANNED, checksum="crc32", **ANNOUNCED)
    send(streamer, 0, 1, 3)
    streamer.end(sent=3, **end)
    status = receiver.ended(series)
    assert (status.state, status.error, status.counts.stored) == ("idle", "", 3)
    assert {name: getattr(status.counts, name) for name in counts} == counts
    assert status.series is not None
    assert len(status.series.lost) <= 3
    values = receiver.client.roi_values(0, 10_000, series)
    assert (values.upto, values.ended) == (4, True)
    holds(path)
    looked = subprocess.run(
        [sys.executable, "-c", WHO_LOOKS, receiver.client.url, str(path)],
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert looked.returncode == 0, looked.stderr
    checked, _, verified, peak = looked.stdout.splitlines()
    verdict = json.loads(checked)["files"][0]
    assert (verdict["missing"], verdict["frames_read"]) == (missing, 3)
    assert {finding["kind"] for finding in verdict["findings"]} == {"incomplete"}
    assert "3 of 3 stored frames are as they were received" in verified
    assert int(peak) / 1000 < MOST_MB
    for process in (receiver.process.pid, receiver.data_process()):
        assert peak_mb(process) < MOST_MB


@pytest.mark.slow
def test_a_series_of_them_is_resumed_after_a_crash(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver()
    receiver.connected()
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), frames=PLANNED, trigger_mode="SOFTWARE", checksum="crc32", **ANNOUNCED)
    send(streamer, 0, 1)
    receiver.flushed(2)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(
        lambda status: (
            status.series is not None
            and status.series.restarts == 1
            and status.connections[0].connections == 1
        )
    )
    send(streamer, 3)
    streamer.end(reason="stop", triggered=4)
    status = receiver.ended(series)
    assert (status.counts.stored, status.counts.not_triggered) == (3, PLANNED - 4)
    holds(path)
    assert peak_mb(receiver.data_process()) < MOST_MB
