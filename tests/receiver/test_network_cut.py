"""A network that is interrupted for seconds: TCP sends again what was lost, and nothing else is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.streamer.remote.client import StreamerClient
from tests.network import SERVER, UNIT, Computers, Switch, unavailable
from tests.streamer.rig import settings

RATE = 100.0
FRAMES = "entry/instrument/sim_1/data"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    if why := unavailable():
        pytest.skip(why)
    with Switch(UNIT, SERVER) as switch:
        yield switch


def begin(computers: Computers, stack: ExitStack, frames: int) -> str:
    """Begin a series at the detector's own pace; returns its id."""
    streamer = StreamerClient(computers.control, timeout=10.0)
    stack.callback(streamer.close)
    prepared = streamer.prepare(
        settings(
            filename=str(computers.receiver.root / "cut.h5"),
            n_triggers=1,
            n_frames_per_trigger=frames,
            exposure_time=1 / RATE,
        )
    )
    streamer.announce()
    streamer.start()
    computers.receiver.received(frames // 10)
    return prepared.series


@pytest.mark.parametrize("sockets", [1, 2])
@pytest.mark.parametrize("seconds", [4, 8])
def test_a_cut_loses_nothing(switch: Switch, tmp_path: Path, seconds: int, sockets: int) -> None:
    frames = int((2 * seconds + 2) * RATE)
    with ExitStack() as stack:
        computers = Computers(switch, tmp_path, stack, sockets=sockets)
        series = begin(computers, stack, frames)
        switch.cut(UNIT)
        stack.callback(switch.mend, UNIT)
        during = computers.receiver.wait(lambda now: now.connections[0].silent_seconds >= seconds)
        assert during.state == "running"
        assert during.connections[0].connections == sockets, "the connection stands"
        switch.mend(UNIT)
        after = computers.receiver.ended(series)
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
        computers = Computers(switch, tmp_path, stack, keepalive_seconds=4)
        series = begin(computers, stack, frames=1000)
        switch.cut(UNIT)
        stack.callback(switch.mend, UNIT)
        computers.receiver.wait(lambda now: now.connections[0].silent_seconds > 1)
        after = computers.receiver.ended(series)
        assert after.series is not None
        assert "is gone: no connection" in after.series.reason
        assert not after.connections[0].connections


def test_a_streamer_that_is_killed_is_noticed_at_once(switch: Switch, tmp_path: Path) -> None:
    with ExitStack() as stack:
        computers = Computers(switch, tmp_path, stack, keepalive_seconds=3600)
        series = begin(computers, stack, frames=1000)
        computers.process.kill()
        after = computers.receiver.ended(series)
        assert after.series is not None
        assert "is gone: no connection" in after.series.reason
