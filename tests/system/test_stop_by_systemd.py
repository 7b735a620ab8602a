"""systemd stops a unit by SIGTERM to all of its processes at once: no frame that has come is lost by that."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import h5py
import pytest

from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer
from tests.system.beamline import RUNNING, Station, children, until, wait_state

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "to_parent", [signal.SIGTERM, signal.SIGKILL], ids=["a stop", "its parent was killed"]
)
def test_a_receiver_keeps_what_has_come(tmp_path: Path, to_parent: signal.Signals) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, min_free_mb=1, flush_seconds=60.0)
    try:
        receiver.connected()
        file = receiver.root / "stopped.h5"
        streamer.start(str(file), frames=100)
        for number in range(7):
            streamer.frame(number)
        receiver.received(7)
        data_process = receiver.data_process()
        os.kill(receiver.process.pid, to_parent)
        os.kill(data_process, signal.SIGTERM)
        status = receiver.process.wait(DEADLINE)
        assert status == (0 if to_parent == signal.SIGTERM else -to_parent), receiver.log.read_text()
        until(lambda: not Path(f"/proc/{data_process}").exists(), "the data process has ended")
        with h5py.File(file) as written:  # nothing was flushed before: flush_seconds is a minute
            groups = written["entry/instrument"].values()
            assert [group["series/stored"][()] for group in groups if "series" in group] == [7]
    finally:
        receiver.close()
        streamer.close()


@pytest.mark.slow
def test_a_device_server_ends_its_series_and_the_receiver_learns_why(station: Station) -> None:
    station.set(
        TriggerMode="INTERNAL", ExposureTime=0.01, nTriggers=100_000,
        DestinationFilename=str(station.new_file()),
    )  # fmt: skip
    station.detector.Arm()
    wait_state(station.detector, RUNNING)
    until(lambda: station.detector.nFramesWritten > 3, "frames")
    for pid in (*children(station.process.pid), station.process.pid):
        os.kill(pid, signal.SIGTERM)
    assert station.process.wait(DEADLINE) == 0
    until(lambda: station.receiver.client.status().state == "idle", "the series has ended")
    series = station.receiver.client.status().series
    assert series is not None and series.reason.endswith("the streamer was told to end")
    station.restart_server()
