"""A network that is interrupted for seconds: TCP sends again what was lost, and nothing else is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.streamer.client import StreamerClient
from tests.network import Switch, unavailable
from tests.receiver.processes import ReceiverProcess
from tests.streamer.rig import settings

RATE = 100.0
DATA, CONTROL = 9999, 9998
FRAMES = "entry/instrument/sim_1/data"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    if why := unavailable():
        pytest.skip(why)
    with Switch("control unit", "server") as switch:
        yield switch


class Beamline:
    """A streamer on one computer, a receiver on another."""

    def __init__(self, switch: Switch, folder: Path, stack: ExitStack, **source: Any) -> None:
        unit, server = switch.address("control unit"), switch.address("server")
        data, control = f"tcp://{unit}:{DATA}", f"tcp://{unit}:{CONTROL}"
        self.process = stack.enter_context(
            subprocess.Popen(
                [*switch.on("control unit"), "penstock", "streamer", "Simulator", "--data", data,
                 "--control", control, "--properties", '{"SensorWidth": 64, "SensorHeight": 32}'],
                stdout=subprocess.PIPE,
            )
        )  # fmt: skip
        stack.callback(self.process.kill)
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "it is ready"
        self.receiver = ReceiverProcess(
            folder, data, source, http=f"{server}:0", within=switch.on("server"), gap={"seconds": 2.0}
        )
        stack.callback(self.receiver.close)
        self.receiver.connected()
        self.streamer = StreamerClient(control, timeout=10.0)
        stack.callback(self.streamer.close)

    def begin(self, frames: int) -> str:
        """Begin a series at the detector's own pace; returns its id."""
        prepared = self.streamer.prepare(
            settings(
                filename=str(self.receiver.root / "cut.h5"),
                n_triggers=1,
                n_frames_per_trigger=frames,
                exposure_time=1 / RATE,
            )
        )
        self.streamer.announce()
        self.streamer.start()
        self.receiver.received(frames // 10)
        return prepared.series


@pytest.mark.parametrize("sockets", [1, 2])
@pytest.mark.parametrize("seconds", [4, 8])
def test_a_cut_loses_nothing(switch: Switch, tmp_path: Path, seconds: int, sockets: int) -> None:
    frames = int((2 * seconds + 2) * RATE)
    with ExitStack() as stack:
        beamline = Beamline(switch, tmp_path, stack, sockets=sockets)
        series = beamline.begin(frames)
        switch.cut("control unit")
        stack.callback(switch.mend, "control unit")
        during = beamline.receiver.wait(lambda now: now.connections[0].silent_seconds >= seconds)
        assert during.state == "running"
        assert during.connections[0].connections == sockets, "the connection stands"
        switch.mend("control unit")
        after = beamline.receiver.ended(series)
        assert after.series is not None
        assert after.series.complete, after.series.reason
        assert (after.counts.stored, after.counts.late, after.counts.duplicate) == (frames, 0, 0)
        assert not after.errors
        assert after.connections[0].silent_seconds == 0
        assert after.series.filename is not None
        with h5py.File(after.series.filename) as file:
            status = file["entry/instrument/sim_1/frame_status"][()]
            assert np.count_nonzero(status == 1) == frames == len(file[FRAMES])


def test_a_host_that_vanished_ends_the_series_within_the_keep_alive(switch: Switch, tmp_path: Path) -> None:
    with ExitStack() as stack:
        beamline = Beamline(switch, tmp_path, stack, keepalive_seconds=4)
        series = beamline.begin(frames=1000)
        switch.cut("control unit")
        stack.callback(switch.mend, "control unit")
        beamline.receiver.wait(lambda now: now.connections[0].silent_seconds > 1)
        after = beamline.receiver.ended(series)
        assert after.series is not None
        assert "is gone: no connection" in after.series.reason
        assert not after.connections[0].connections


def test_a_streamer_that_is_killed_is_noticed_at_once(switch: Switch, tmp_path: Path) -> None:
    with ExitStack() as stack:
        beamline = Beamline(switch, tmp_path, stack, keepalive_seconds=3600)
        series = beamline.begin(frames=1000)
        beamline.process.kill()
        after = beamline.receiver.ended(series)
        assert after.series is not None
        assert "is gone: no connection" in after.series.reason
