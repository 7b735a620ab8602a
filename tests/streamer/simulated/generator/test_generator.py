from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import zmq

from penstock.cli.main import main
from penstock.stins import blobs, codec
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.simulated.generator.faults import KINDS, draw
from penstock.streamer.simulated.generator.pixels import pixels, pool_size
from penstock.streamer.simulated.generator.plan import GENERATED, Plan
from tests.streamer.rig import DEADLINE


class Generator:
    """`penstock generate` as a process, and a receiver."""

    def __init__(self, *options: str, connect: bool = True) -> None:
        self.process = subprocess.Popen(
            ["penstock", "generate", "--endpoint", "tcp://127.0.0.1:0", "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.endpoint, self.endpoints = ready["data"], ready["endpoints"]
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


@pytest.mark.parametrize(
    ("dtype", "compression"),
    [
        pytest.param(dtype, compression, marks=() if dtype in ("uint8", "float32") else pytest.mark.slow)
        for dtype in ("uint8", "uint16", "uint32", "int32", "float32")
        for compression in ("none", "bslz4")
    ],
)
def test_every_type_and_compression_is_what_its_header_says(
    generate: Callable[..., Generator], dtype: str, compression: str
) -> None:
    options = ("--shape", "2,8,16", "--frames", "2", "--dtype", dtype, "--compression", compression)
    _, *frames, _ = generate(*options).receive_series()
    for frame in frames:
        assert (frame.image.type, frame.image.shape) == (dtype, (2, 8, 16))
        blobs.check(frame)


@pytest.mark.parametrize("shape", [(300,), (40, 30, 3)], ids=["spectra", "colours"])
def test_spectra_and_colours_are_one_blob_each(
    shape: tuple[int, ...], generate: Callable[..., Generator]
) -> None:
    lengths = ",".join(map(str, shape))
    _, *frames, _ = generate("--shape", lengths, "--dtype", "uint8", "--frames", "3").receive_series()
    assert [frame.image.shape for frame in frames] == [shape] * 3
    for frame in frames:
        blobs.check(frame)
    received = [np.frombuffer(frame.blobs[0], np.uint8).reshape(shape) for frame in frames]
    assert not np.array_equal(received[0], received[1])


def test_nothing_is_lost_when_the_receiver_reads_only_after_the_last_frame(
    generate: Callable[..., Generator],
) -> None:
    generator = generate("--frame-bytes", "20000", "--frames", "500", "--hwm", "1000")
    assert generator.process.stderr is not None
    while "500 of 500 frames sent" not in generator.process.stderr.readline():
        pass
    assert len(generator.receive_series()) == 502


def test_it_need_not_say_how_many_frames_will_come(generate: Callable[..., Generator]) -> None:
    start, *frames, end = generate("--shape", "8,16", "--frames", "5", "--unannounced").receive_series()
    assert start.header.frames is None
    assert "triggers" not in start.metadata["acquisition"]
    assert (len(frames), end.sent) == (5, 5)


def test_it_keeps_the_rate(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "100", "--rate", "400")
    generator.receive_series()
    assert generator.summary()["seconds"] > 0.2


@pytest.mark.parametrize(("options", "seconds"), [((), 1e-3), (("--rate", "200"), 5e-3)])
def test_it_says_how_long_a_frame_counts(
    generate: Callable[..., Generator], options: tuple[str, ...], seconds: float
) -> None:
    start = generate("--frames", "2", *options).receive()
    assert isinstance(start, Start)
    assert start.metadata["count_time"] == start.metadata["exptime"] == seconds
    assert start.metadata.get("frame_time") == (seconds if options else None)
    assert start.metadata["acquisition"] == {
        "trigger_mode": "INTERNAL",
        "triggers": 2,
        "frames_per_trigger": 1,
    }


def test_faults_are_committed_and_reported(generate: Callable[..., Generator]) -> None:
    generator = generate(
        "--shape", "4,4", "--frames", "6", "--drop", "1", "--duplicate", "2", "--truncate", "4"
    )
    _, *frames, end = generator.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 2, 2, 3, 4, 5]
    assert [frame.image.msg_number for frame in frames] == [1, 3, 4, 5, 6, 7]
    assert [len(frame.blobs[0]) for frame in frames] == [32, 32, 32, 32, 31, 32]
    assert end.sent == 6
    (log,) = generator.summary()["faults"]
    assert log == {kind: [] for kind in KINDS} | {
        "drop": [1], "duplicate": [2], "truncate": [4], "start_sent": True, "died_at": None, "end_sent": True
    }  # fmt: skip


def test_a_lost_end_is_not_sent(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "2", "--lose-end")
    messages = [generator.receive() for _ in range(3)]
    assert generator.summary()["faults"][0]["end_sent"] is False
    assert isinstance(messages[-1], Frame)
    assert not generator.pull.poll(0)


def test_it_dies_at_the_frame_that_was_asked_for(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "20", "--die-at", "3")
    assert generator.process.wait(DEADLINE) == -signal.SIGKILL


@pytest.mark.parametrize("rate", ["100", "0.001"])
def test_interrupted_it_sends_the_end_message(rate: str, generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "1000000", "--rate", rate)
    generator.receive()
    generator.receive()
    generator.process.send_signal(signal.SIGINT)
    *_, end = generator.receive_series()
    summary = generator.summary()
    assert (end.reason, end.sent) == ("stop", summary["sent"])
    assert generator.process.returncode == 130


def test_without_a_receiver_it_says_so_and_ends(generate: Callable[..., Generator]) -> None:
    generator = generate("--wait", "0.2", connect=False)
    _, stderr = generator.process.communicate(timeout=DEADLINE)
    assert generator.process.returncode == 2
    assert f"fewer than 1 receiver connected to {generator.endpoint} within 0.2 s" in stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--shape", "0,4"], "shape [0, 4]"),
        (["--rate", "-1"], '--rate: "-1"; give a number of at least 0'),
        (["--endpoint", "tcp://192.0.2.1:1"], "cannot bind the data socket to tcp://192.0.2.1:1"),
        (["--frames", "0"], "0 is below 1"),
        (["--drop", "0.6", "--delay", "0.6"], "a frame has one fault at most, so 1 is the limit"),
        (["--drop", "1.5"], "a probability lies between 0.0 and 1.0"),
        (
            ["--drop", "7,200"],
            "--drop 200: there are 100 frames, numbered from 0 to 99; a probability has a decimal point",
        ),
        (["--duplicate", "-1"], "--duplicate -1: there are 100 frames"),
        (["--wrong-type", "100"], "--wrong-type 100: there are 100 frames"),
        (["--stream-dies-at", "100"], "--stream-dies-at 100: there are 100 frames"),
        (["--die-at", "101"], "--die-at 101: the series has 100 frames"),
        (["--streams", "2", "--faults-in", "2"], "--faults-in 2: there are 2 streams, numbered from 0 to 1"),
    ],
)
def test_a_mistake_is_one_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "--wait", "0", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_photons_differ_from_frame_to_frame() -> None:
    plan = Plan(frames=2, shape=(8, 16))
    assert not np.array_equal(pixels(plan, 0)[1:], pixels(plan, 1)[1:])


def test_damaged_frames_are_what_their_fault_says(generate: Callable[..., Generator]) -> None:
    options = ("--shape", "4,4", "--frames", "3", "--corrupt", "0", "--wrong-type", "1")
    _, *frames, _ = generate(*options, "--checksum", "crc32").receive_series()
    plan = Plan(frames=3, shape=(4, 4))
    sound = [pixels(plan, number).tobytes() for number in range(3)]
    bits = [bin(a ^ b).count("1") for a, b in zip(bytes(frames[0].blobs[0]), sound[0], strict=True)]
    assert sum(bits) == 1
    assert frames[0].image.checksums == checksums("crc32", [sound[0]])
    assert (frames[1].image.type, frames[2].image.type) == ("uint8", "uint16")
    assert [frame.image.checksums for frame in frames[1:]] == [
        checksums("crc32", [blob]) for blob in sound[1:]
    ]


def test_frames_are_overtaken_by_as_many_as_the_window_says(generate: Callable[..., Generator]) -> None:
    options = ("--shape", "4,4", "--frames", "8", "--reorder", "1,6", "--window", "3")
    _, *frames, _ = generate(*options).receive_series()
    assert [frame.image.frame for frame in frames] == [0, 2, 3, 4, 1, 5, 7, 6]
    assert [frame.image.msg_number for frame in frames] == [1, 3, 4, 5, 2, 6, 8, 7]


def test_a_delayed_frame_comes_after_the_others_and_before_the_end(
    generate: Callable[..., Generator],
) -> None:
    generator = generate("--shape", "4,4", "--frames", "5", "--delay", "2", "--delay-seconds", "0.1")
    _, *frames, end = generator.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 1, 3, 4, 2]
    assert (end.reason, generator.summary()["faults"][0]["delay"]) == ("complete", [2])


def test_the_frames_before_its_death_have_left_and_stand_in_its_last_words(
    generate: Callable[..., Generator],
) -> None:
    generator = generate("--shape", "4,4", "--frames", "20", "--die-at", "6", "--reorder", "4", "--drop", "1")
    messages = [generator.receive() for _ in range(6)]
    assert sorted(message.image.frame for message in messages[1:]) == [0, 2, 3, 4, 5]
    summary = generator.summary()
    assert (summary["reason"], summary["sent"], summary["faults"][0]["drop"]) == ("died", 6, [1])
    assert generator.process.returncode == -signal.SIGKILL


def test_its_last_sentence_names_the_faults() -> None:
    said = subprocess.Popen(
        ["penstock", "generate", "--endpoint", "tcp://127.0.0.1:0", "--shape", "4,4", "--frames", "20",
         "--drop", "1,2", "--wrong-type", "5"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with said, zmq.Context() as context, context.socket(zmq.PULL) as pull:
        assert said.stderr is not None
        words = (word for line in said.stderr for word in line.split())
        pull.connect(next(word for word in words if word.startswith("tcp://")).strip(";"))
        sentence, _ = said.communicate(timeout=DEADLINE)
    assert sentence.startswith("20 of 20 frames handed over")
    assert sentence.endswith("; faults as requested: drop 2, wrong type 1\n")


def test_it_never_ends_until_it_is_interrupted(generate: Callable[..., Generator]) -> None:
    generator = generate("--shape", "4,4", "--frames", "2", "--never-end")
    for _ in range(3):
        generator.receive()
    assert generator.process.poll() is None
    generator.process.send_signal(signal.SIGINT)
    assert generator.summary()["faults"][0]["end_sent"] is False
    assert not generator.pull.poll(0)


def test_streams_are_modules_of_one_detector_with_the_same_frame_numbers(
    generate: Callable[..., Generator],
) -> None:
    generator = generate(
        "--streams", "2", "--shape", "4,6", "--frames", "3", "--drop", "1", "--faults-in", "1", connect=False
    )
    pulls = [generator.context.socket(zmq.PULL) for _ in range(2)]
    for pull, endpoint in zip(pulls, generator.endpoints, strict=True):
        pull.connect(endpoint)
    series = []
    for number, pull in enumerate(pulls):
        messages: list[list[bytes]] = []
        while not messages or json.loads(messages[-1][0])["htype"] != "series_end":
            assert pull.poll(int(DEADLINE * 1000)), "no message in time"
            messages.append(pull.recv_multipart())
        place = {"x": 0, "y": 12 * number, "rotation": 0, "full_shape": [16, 6]}
        header, metadata = map(json.loads, messages[0])
        assert header["streams"] == 2
        assert place.items() <= metadata.items()
        images = [json.loads(parts[0]) for parts in messages[1:-1]]
        assert [image["frame"] for image in images] == [[0, 1, 2], [0, 2]][number]
        assert all(place.items() <= image.items() for image in images)
        series.append(header["series"])
        pull.close()
    assert series[0] == series[1]
    assert [log["drop"] for log in generator.summary()["faults"]] == [[], [1]]


@pytest.mark.parametrize("pattern", GENERATED)
def test_every_pattern_is_in_range_for_every_type(pattern: str) -> None:
    for dtype in ("uint8", "int32", "float32"):
        plan = Plan(frames=3, shape=(2, 8, 16), dtype=dtype, pattern=pattern, streams=2)
        image = pixels(plan, 1, 1)
        assert (image.shape, image.dtype.name) == ((2, 8, 16), dtype)
        if pattern not in ("noise", "opaque"):
            assert image.min() >= 0


def test_the_modules_show_their_part_of_one_picture() -> None:
    plan = Plan(frames=1, shape=(40, 60), dtype="float32", pattern="powder", streams=2)
    whole = pixels(Plan(frames=1, shape=(88, 60), dtype="float32", pattern="powder"), 0)
    lower = pixels(plan, 0, 1)
    assert np.array_equal(lower[1:], whole[49:])


def test_the_same_seed_draws_the_same_faults_and_no_frame_has_two() -> None:
    chances = dict.fromkeys(KINDS, 0.1)
    drawn = draw(5000, 7, 0, chances)
    assert drawn == draw(5000, 7, 0, chances)
    assert drawn != draw(5000, 8, 0, chances)
    assert drawn != draw(5000, 7, 1, chances)
    assert all(400 < len(frames) < 600 for frames in drawn.values())
    assert len(frozenset().union(*drawn.values())) == sum(map(len, drawn.values()))


def test_without_a_chance_nothing_is_drawn_however_many_frames_are_planned() -> None:
    assert draw(2**48, 7, 0, {"drop": 0.0}) == {"drop": frozenset()}


def test_a_stream_dies_lags_and_loses_its_start_while_the_others_go_on(
    generate: Callable[..., Generator],
) -> None:
    options = ("--shape", "4,4", "--frames", "6", "--streams", "2", "--faults-in", "1", "--linger", "5")
    generator = generate(*options, "--stream-dies-at", "3", "--lag", "2", "--lose-start", connect=False)
    pulls = [generator.context.socket(zmq.PULL) for _ in range(2)]
    for pull, endpoint in zip(pulls, generator.endpoints, strict=True):
        pull.connect(endpoint)
    whole, odd = generator.summary()["faults"]
    assert (whole["start_sent"], whole["died_at"], whole["end_sent"]) == (True, None, True)
    assert (odd["start_sent"], odd["died_at"], odd["end_sent"]) == (False, 3, False)
    assert pulls[1].poll(int(DEADLINE * 1000))
    frames = []
    while pulls[1].poll(100):
        frames.append(codec.decode(pulls[1].recv_multipart()))
    assert [frame.image.frame for frame in frames if isinstance(frame, Frame)] == [0, 1, 2]
    for pull in pulls:
        pull.close(0)
