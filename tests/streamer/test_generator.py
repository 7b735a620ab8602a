from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import zmq

from penstock.stins import blobs, codec
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.generator import Plan, pixels, pool_size
from tests.streamer.rig import DEADLINE


class Generator:
    """`penstock generate` as a process, and a receiver."""

    def __init__(self, *options: str, connect: bool = True) -> None:
        self.process = subprocess.Popen(
            ["penstock", "generate", "--endpoint", "tcp://127.0.0.1:0", "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.endpoint = json.loads(self.process.stdout.readline())["data"]
        self.context = zmq.Context()
        self.pull = self.context.socket(zmq.PULL)
        if connect:
            self.pull.connect(self.endpoint)

    def receive(self) -> Start | Frame | SeriesEnd:
        assert self.pull.poll(int(DEADLINE * 1000)), "no message in time"
        return codec.decode(self.pull.recv_multipart())

    def receive_series(self) -> list[Any]:
        messages: list[Any] = []
        while not messages or not isinstance(messages[-1], SeriesEnd):
            messages.append(self.receive())
        return messages

    def summary(self) -> dict[str, Any]:
        stdout, _ = self.process.communicate(timeout=DEADLINE)
        summary: dict[str, Any] = json.loads(stdout.splitlines()[-1])
        return summary

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.context.destroy(0)


@pytest.fixture
def generate() -> Iterator[Callable[..., Generator]]:
    started: list[Generator] = []

    def start(*options: str, **kwargs: bool) -> Generator:
        started.append(Generator(*options, **kwargs))
        return started[-1]

    yield start
    for generator in started:
        generator.close()


def test_every_frame_arrives_with_its_own_pixels(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "8,16", "--frames", "200", "--filename", "/data/a.h5")
    start, *frames, end = generator.receive_series()
    assert (start.header.filename, start.header.frames, start.header.shape) == ("/data/a.h5", 200, (8, 16))
    assert [message.image.msg_number for message in frames] == list(range(1, 201))
    plan = Plan(frames=200, shape=(8, 16))
    assert pool_size(plan) == 64
    for number, frame in enumerate(frames):
        blobs.check(frame)
        assert bytes(frame.blobs[0]) == pixels(plan, number).tobytes()
    assert (end.reason, end.sent) == ("complete", 200)
    summary = generator.summary()
    assert (summary["sent"], summary["planned"], summary["series"]) == (200, 200, start.header.series)
    assert summary["rate"] > 0
    assert summary["cpu_microseconds_per_frame"] > 0


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32", "float32"])
@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_every_type_and_compression_is_what_its_header_says(
    generate: Callable[..., Generator], dtype: str, compression: str
) -> None:
    options = ("--shape", "2,8,16", "--frames", "2", "--dtype", dtype, "--compression", compression)
    _, *frames, _ = generate(*options).receive_series()
    for frame in frames:
        assert (frame.image.type, frame.image.shape) == (dtype, (2, 8, 16))
        blobs.check(frame)


def test_nothing_is_lost_when_the_receiver_reads_only_after_the_last_frame(
    generate: Callable[..., Generator],
) -> None:
    generator = generate("--frame-bytes", "20000", "--frames", "500", "--hwm", "1000")
    assert generator.process.stderr is not None
    while "500 of 500 frames sent" not in generator.process.stderr.readline():
        pass
    assert len(generator.receive_series()) == 502


def test_it_keeps_the_rate(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "100", "--rate", "400")
    generator.receive_series()
    assert generator.summary()["seconds"] > 0.2


def test_faults_are_committed_and_reported(generate: Callable[..., Generator]) -> None:
    generator = generate(
        "--shape", "4,4", "--frames", "6", "--drop", "1", "--duplicate", "2", "--corrupt", "4"
    )
    _, *frames, end = generator.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 2, 2, 3, 4, 5]
    assert [frame.image.msg_number for frame in frames] == [1, 3, 4, 5, 6, 7]
    assert [len(frame.blobs[0]) for frame in frames] == [32, 32, 32, 32, 31, 32]
    assert end.sent == 6
    assert generator.summary()["faults"] == {"drop": [1], "duplicate": [2], "corrupt": [4], "lose_end": False}


def test_a_lost_end_is_not_sent(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "2", "--lose-end")
    messages = [generator.receive() for _ in range(3)]
    assert generator.summary()["faults"]["lose_end"] is True
    assert isinstance(messages[-1], Frame)
    assert not generator.pull.poll(0)


def test_it_dies_at_the_frame_that_was_asked_for(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "20", "--die-at", "3")
    assert generator.process.wait(DEADLINE) == -signal.SIGKILL


def test_interrupted_it_sends_the_end_message(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "1000000", "--rate", "100")
    generator.receive()
    generator.receive()
    generator.process.send_signal(signal.SIGINT)
    *_, end = generator.receive_series()
    summary = generator.summary()
    assert (end.reason, end.sent) == ("stop", summary["sent"])
    assert generator.process.returncode == 1


def test_without_a_receiver_it_says_so_and_ends(generate: Callable[..., Generator]) -> None:
    generator = generate("--wait", "0.2", connect=False)
    _, stderr = generator.process.communicate(timeout=DEADLINE)
    assert generator.process.returncode == 2
    assert f"fewer than 1 receiver(s) connected to {generator.endpoint} in 0.2 s" in stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--shape", "0,4"], "shape [0, 4]"),
        (["--rate", "-1"], "--rate -1.0"),
        (["--endpoint", "tcp://192.0.2.1:1"], "cannot bind the data socket to tcp://192.0.2.1:1"),
        (["--frames", "0"], "0 is below 1"),
    ],
)
def test_a_mistake_is_one_sentence(options: list[str], sentence: str) -> None:
    command = ["penstock", "generate", "--wait", "0", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_photons_differ_from_frame_to_frame() -> None:
    plan = Plan(frames=2, shape=(8, 16))
    assert not np.array_equal(pixels(plan, 0)[1:], pixels(plan, 1)[1:])
