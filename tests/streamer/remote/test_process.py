from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
import zmq

from penstock.stins import codec
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame, Message, SeriesEnd, Start
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.remote.client import StreamerClient, StreamerStatus
from tests.streamer.rig import DEADLINE, settings

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "penstock.streamer.remote.process"]
UNIT = {"SensorWidth": 64, "SensorHeight": 32}


class Streamer:
    """A streamer process with a simulated detector, a client and a receiver."""

    def __init__(self, *options: str, properties: dict[str, Any] = UNIT) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "Simulator", "--properties", json.dumps(properties), "--data", "tcp://127.0.0.1:0",
             "--control", "tcp://127.0.0.1:0", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        self.client = StreamerClient(self.ready["control"], timeout=DEADLINE)
        self.context = zmq.Context()
        self.pull = self.context.socket(zmq.PULL)
        self.pull.connect(self.ready["data"])
        self.snapshots: SimpleQueue[StreamerStatus | None] = SimpleQueue()
        self.client.subscribe(self.snapshots.put, stale_after=1.0)
        self.until(lambda status: status is not None and status.peers == 1)

    def until(self, wanted: Any) -> Any:
        while not wanted(status := self.snapshots.get(timeout=DEADLINE)):
            pass
        return status

    def arm(self, **changes: Any) -> None:
        self.client.prepare(settings(**{"exposure_time": 1e-5} | changes))
        self.client.announce()
        self.client.start()

    def receive(self) -> Message:
        assert self.pull.poll(int(DEADLINE * 1000)), "no message in time"
        return codec.decode(self.pull.recv_multipart())

    def receive_end(self) -> SeriesEnd:
        while not isinstance(message := self.receive(), SeriesEnd):
            pass
        return message

    def close(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait(DEADLINE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.context.destroy(0)


@pytest.fixture
def streamer() -> Iterator[Streamer]:
    streamer = Streamer("--with-parent")
    yield streamer
    streamer.close()


def test_the_ready_line_names_both_endpoints_and_the_process(streamer: Streamer) -> None:
    assert streamer.ready["pid"] == streamer.process.pid == streamer.client.describe().streamer_pid
    assert streamer.ready["data"] == streamer.client.describe().data_endpoint


def test_it_ends_with_its_parent_and_sends_the_end_message_first(streamer: Streamer) -> None:
    streamer.arm(trigger_mode=TriggerMode.SOFTWARE)
    assert streamer.process.stdin is not None
    streamer.process.stdin.close()
    assert streamer.receive_end().reason == "fault"
    assert streamer.process.wait(DEADLINE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_the_end_message(streamer: Streamer, number: signal.Signals) -> None:
    streamer.arm(trigger_mode=TriggerMode.SOFTWARE)
    streamer.process.send_signal(number)
    assert streamer.receive_end().reason == "fault"
    assert streamer.process.wait(DEADLINE) == 0


def test_shutdown_ends_it(streamer: Streamer) -> None:
    streamer.client.shutdown()
    assert streamer.process.wait(DEADLINE) == 0


def test_kill_9_is_told_to_subscribers_as_silence(streamer: Streamer) -> None:
    streamer.arm(trigger_mode=TriggerMode.SOFTWARE)
    os.kill(streamer.ready["pid"], signal.SIGKILL)
    streamer.until(lambda status: status is None)
    assert streamer.process.wait(DEADLINE) == -signal.SIGKILL


def test_it_dies_at_the_frame_that_was_asked_for(streamer: Streamer) -> None:
    # What ZeroMQ has in hand dies with the process, so each frame has time to leave.
    streamer.arm(camera={"Faults": "die_at=2"}, exposure_time=0.4)
    streamer.receive()
    assert [streamer.receive().image.frame for _ in range(2)] == [0, 1]  # type: ignore[union-attr]
    assert streamer.process.wait(DEADLINE) == -signal.SIGKILL
    assert not streamer.pull.poll(0)


def test_a_lost_end_message_leaves_a_gap_in_the_numbers(streamer: Streamer) -> None:
    streamer.arm(camera={"Faults": "lose_end"}, exposure_time=1e-5, n_triggers=1)
    streamer.until(lambda status: status is not None and status.state == "idle" and status.sent == 1)
    streamer.arm(camera={"Faults": ""}, exposure_time=1e-5, n_triggers=1)
    kinds = [streamer.receive() for _ in range(5)]
    assert [isinstance(kind, Frame) for kind in kinds] == [False, True, False, True, False]
    assert kinds[2].header.msg_number == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (
            ["Zyla9000"],
            2,
            "there is no camera Zyla9000: no module penstock.devices.zyla9000; there are AreaDetector, ",
        ),
        (
            ["simulator"],
            2,
            "there is no camera simulator in penstock.devices.simulator; there are AreaDetector, Eiger, ",
        ),
        (["penstock.devices.simulator:Zyla"], 2, "there is no camera Zyla in penstock.devices.simulator"),
        (["Simulator", "--properties", "[]"], 2, "not a JSON object of values"),
        (
            ["Simulator", "--properties", '{"SensorWidht": 5}'],
            2,
            "no property of Simulator is called SensorWidht",
        ),
        (["Simulator", "--properties", '{"SensorWidth": 5}'], 2, "SensorWidth 5 pixel; the least is 8 pixel"),
        (["Simulator", "--data", "tcp://192.0.2.1:1"], 1, "cannot bind the data socket to tcp://192.0.2.1:1"),
        (["Simulator", "--control", "nonsense"], 1, "cannot bind the control socket to nonsense"),
    ],
)
def test_what_it_cannot_be_started_with_is_one_sentence(
    arguments: list[str], status: int, sentence: str
) -> None:
    ports = ["--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    command = [*COMMAND, arguments[0], *ports, *arguments[1:]]
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert result.returncode == status
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_every_blob_of_a_streamer_with_checksums_has_its_own(compression: str) -> None:
    streamer = Streamer("--checksum", "crc32", properties=UNIT | {"Modules": 2})
    try:
        streamer.arm(camera={"Compression": compression})
        start = streamer.receive()
        assert isinstance(start, Start) and start.header.checksum == "crc32"
        for _ in range(4):
            frame = streamer.receive()
            assert isinstance(frame, Frame)
            assert len(frame.blobs) == 2
            assert frame.image.checksums == checksums("crc32", frame.blobs)
    finally:
        streamer.close()
