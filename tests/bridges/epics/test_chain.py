"""From an IOC to a program of PvaPy, by camera, receiver and bridge: every frame once; who dies is named."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.beamline.stage import json_line
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.models import FrameStatus, Status
from penstock.streamer.camera.driver import StreamerStatus
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient
from penstock_bench.receivers import line_with
from tests.bridges.epics.bridge_process import BridgeProcess
from tests.bridges.epics.test_pvapy import Program, connected, of_sums, until
from tests.receiver.processes import ReceiverProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
FRAMES, PERIOD = 10_000, 1 / 120
SIDE = 512
"""Rows and columns of a frame of uint8: 262 kB."""


def total(number: int) -> int:
    """The sum of the pixels of an array, whose rows but the first have its number (modulo 100)."""
    return (SIDE - 1) * SIDE * (number % 100) + int((np.arange(SIDE) % 100).sum())


class Chain:
    """All processes, each of which may be killed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.udp, self._stack = folder, free_port(), stack
        self._port = free_port()
        self.start_ioc()
        unit = {
            "NameServers": f"127.0.0.1:{self._port}", "DriverPrefix": "SIM:cam1:",
            "ImageRecord": "SIM:Pva1:Image",
        }  # fmt: skip
        command = [*PENSTOCK, "streamer", "AreaDetector", "--properties", json.dumps(unit)]
        command += ["--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
        streamer = stack.enter_context(Child("streamer", command, line_with("control")))
        self.streamer = StreamerClient(streamer.answer["control"], timeout=10.0)
        stack.callback(self.streamer.close)
        entry = {"name": "epics", "endpoint": "tcp://127.0.0.1:0", "queue_mb": 400}
        self.receiver = ReceiverProcess(folder, streamer.answer["data"], forward=[entry])
        stack.callback(self.receiver.close)
        self.receiver.connected()
        self.start_bridge()
        self._consumers: list[Program] = []
        stack.callback(self.kill_consumer)
        self.start_consumer()

    def start_ioc(self) -> None:
        """Start it, again at the same address."""
        command = [
            *PENSTOCK, "areadetector", "--tcp", f"127.0.0.1:{self._port}", "--sensor", f"{SIDE}x{SIDE}",
            "--pixel-type", "uint8", "--json",
        ]  # fmt: skip
        self.ioc = self._stack.enter_context(Child("IOC", command, json_line))

    def start_bridge(self) -> None:
        """Start it, connected to the receiver."""
        self.bridge = BridgeProcess(
            self.folder, self.udp, receiver=self.receiver.client.url, consumer="epics"
        )
        self._stack.callback(self.bridge.close)
        self.receiver.wait(lambda status: status.consumers[0].connected > 0)

    def start_consumer(self) -> None:
        """Start it, connected to the bridge."""
        self.consumer = Program(self.udp, "pvapy-hpc-consumer", "-ic", "T:IMAGE", *of_sums(self.folder))
        self._consumers.append(self.consumer)
        connected([self.consumer])

    def kill_consumer(self) -> None:
        """Kill it, if there is one."""
        while self._consumers:
            self._consumers.pop().close()

    def arm(self, name: str, frames: int) -> str:
        """Begin a series; return its id."""
        values = self.streamer.describe().values
        prepared = self.streamer.prepare(
            Settings(
                exposure_time=PERIOD / 2, latency_time=PERIOD / 2, n_triggers=frames, n_frames_per_trigger=1,
                trigger_mode=TriggerMode.INTERNAL, filename=f"{self.receiver.root}/{name}.h5",
                overwrite=False, save_raw=True, rotation=0, fliplr=False, flipud=False, metadata="{}",
                beam_center=(0.0, 0.0), distance=0.0, camera=dict(values),
            ),
            20.0,
        )  # fmt: skip
        self.streamer.announce()
        self.streamer.start(20.0)
        return prepared.series

    def until_sent(self, frames: int) -> StreamerStatus:
        """Wait until so many frames of the series were sent, or it has ended."""
        reached, found = threading.Event(), []

        def look(status: StreamerStatus | None) -> None:
            if status is not None and (status.sent >= frames or status.state in ("fault", "idle")):
                found.append(status)
                reached.set()

        end = self.streamer.subscribe(look)
        assert reached.wait(300.0)
        end()
        return found[-1]

    def ended(self, series: str) -> Status:
        """Wait for the end of a series in the receiver."""
        due, status = time.monotonic() + 300.0, self.receiver.client.status()
        while status.series is None or status.series.id != series or status.series.active:
            assert time.monotonic() < due, f"the series does not end: {status}"
            status = self.receiver.client.status(seen=status.version, wait=1.0)
        return status


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with ExitStack() as stack:
        yield Chain(tmp_path, stack)


def stored(path: Path) -> list[int]:
    """Indices of the frames in a file, each with its own pixels."""
    with h5py.File(path) as file:
        status = file["entry/instrument/sim_1/frame_status"][()]
        found = np.flatnonzero(status == FrameStatus.STORED).tolist()
        for index in found[:: max(1, len(found) // 200)]:
            assert (file["entry/data/data"][index][1:] == file["entry/data/data"][index][1, 0]).all()
        return found


def test_ten_thousand_frames_go_through_once_and_none_is_lost(chain: Chain) -> None:
    series = chain.arm("all", FRAMES)
    status = chain.ended(series)
    assert status.series is not None and status.series.complete, status.series
    assert status.counts.stored == FRAMES
    chain.bridge.wait(lambda status: status.series == series and not status.active)
    expected = [(number, total(number)) for number in range(1, FRAMES + 1)]
    assert until([chain.consumer], FRAMES) == expected
    assert stored(chain.receiver.root / "all.h5") == list(range(FRAMES))


def test_whoever_is_killed_the_account_of_the_file_is_exact_and_the_sentence_names_him(chain: Chain) -> None:
    # The consumer: nobody else notices it.
    series = chain.arm("consumer", 400)
    chain.until_sent(100)
    chain.kill_consumer()
    assert chain.ended(series).counts.stored == 400
    assert chain.bridge.wait(lambda status: status.series == series and not status.active).frames == 400
    chain.start_consumer()
    # The bridge: the file has all, and the receiver counts what nobody took.
    series = chain.arm("bridge", 400)
    chain.until_sent(100)
    chain.bridge.kill()
    status = chain.ended(series)
    assert status.counts.stored == 400
    (told,) = status.consumers
    assert told.connected == 0 and told.dropped > 0, told
    chain.start_bridge()
    # The IOC: the file has what was sent, and says why no more came.
    series = chain.arm("ioc", FRAMES)
    chain.until_sent(100)
    os.kill(chain.ioc.pid, signal.SIGKILL)
    fault = chain.until_sent(FRAMES)
    assert fault.state == "fault" and "the IOC is lost at index" in fault.message
    status = chain.ended(series)
    assert status.series is not None and "the IOC is lost at index" in status.series.reason
    assert stored(chain.receiver.root / "ioc.h5") == list(range(fault.sent))
    # All are back, and the next series is whole, up to the last of them.
    chain.start_ioc()
    chain.kill_consumer()
    chain.start_consumer()
    chain.streamer.reset(20.0)
    series = chain.arm("next", 50)
    assert chain.ended(series).counts.stored == 50
    assert until([chain.consumer], 50) == [(number, total(number)) for number in range(1, 51)]
