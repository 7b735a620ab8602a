"""Frames that are entered together: the outcome is that of frames entered one by one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import msgspec
import pytest

from penstock.receiver.files.refusals import StorageError
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.run import MOST_FRAMES
from penstock.stins.messages import Frame, Message
from tests.receiver.sample_series import Bench, corrupt, end, frame, start


def numbered(index: int) -> Frame:
    return frame(index, index + 1)


def changed(index: int, **keys: object) -> Frame:
    sound = numbered(index)
    return Frame(msgspec.structs.replace(sound.image, **keys), sound.blobs)


ODD: dict[str, Callable[[int], Message]] = {
    "a gap": lambda index: numbered(index + 1),
    "a lower number": lambda index: numbered(index - 2),
    "a repeated frame": lambda index: frame(index - 1, index + 1),
    "another message number": lambda index: frame(index, index + 2),
    "no message number": lambda index: frame(index, None),
    "another series": lambda index: frame(index, index + 1, "b"),
    "no series": lambda index: frame(index, index + 1, None),
    "no number": lambda index: changed(index, frame=None),
    "another shape": lambda index: changed(index, shape=(6, 4)),
    "another type": lambda index: changed(index, type="int16"),
    "another compression": lambda index: changed(index, compression="bslz4"),
    "discarded": lambda index: changed(index, discard=True),
    "partial": lambda index: changed(index, partial="module 3 was lost"),
    "a short blob": lambda index: corrupt(index, message=index + 1),
    "two blobs": lambda index: Frame(numbered(index).image, [*numbered(index).blobs, b"more"]),
    "no blob": lambda index: Frame(numbered(index).image, ()),
    "out of range": lambda index: frame(10**6, index + 1),
    "a repeated start": lambda index: start(0, frames=100),
    "a repeated start without names": lambda index: start(0, None),
    "the next start": lambda index: start(50, "b"),
    "the end": lambda index: end(index + 1, triggered=index),
}


def outcome(messages: list[Message], *, gathers: bool, planned: int | None) -> object:
    """Return all that a stream leads to, in turns of random length."""
    bench = Bench()
    bench.sink.most_run_bytes *= gathers
    bench.say(start(0, frames=planned))
    rest, lengths = list(messages), random.Random(len(messages))
    while rest:
        size = lengths.randint(1, 20)
        bench.say(*rest[:size])
        rest = rest[size:]
    bench.stop("the test ends it")
    assert bool(bench.sink.runs) <= gathers
    accounts = [
        (series.account.counts(), series.account.statuses(120).tolist(), series.numbering.messages)
        for series, _ in bench.sink.ended
    ]
    said = [each for _, each in bench.sink.ended]
    ids = [series.id for series in bench.sink.begun]  # random ones for series without a name
    frames = [(ids.index(series), index, status) for series, index, status in bench.sink.frames]
    sentences = [re.sub("[0-9a-f]{32}", "…", sentence) for sentence in bench.sink.sentences]
    return accounts, said, frames, sentences, bench.collector.drained


def test_frames_in_order_are_entered_together() -> None:
    bench = Bench()
    bench.say(start(frames=100), *map(numbered, range(100)))
    assert bench.sink.runs == [MOST_FRAMES, MOST_FRAMES, MOST_FRAMES, 3]
    assert bench.sink.indices == [*range(100)]
    bench.say(end(101))
    assert bench.sink.outcome.complete


def test_a_turn_of_the_loop_leaves_none_behind() -> None:
    bench = Bench()
    bench.say(start(), *map(numbered, range(5)))
    assert bench.sink.runs == [4]
    assert bench.collector.series is not None
    assert bench.collector.series.account.counts().stored == 5
    bench.say(numbered(5))
    assert bench.sink.indices == [*range(6)]


def test_a_run_goes_on_in_the_next_turn_unless_the_sink_takes_none_meanwhile() -> None:
    bench = Bench()
    bench.say(start(), numbered(0), numbered(1))
    bench.say(numbered(2), numbered(3))
    assert bench.sink.runs == [1, 2]
    bench.sink.most_run_bytes = 0
    bench.say(*map(numbered, range(4, 9)))
    assert (bench.sink.runs, bench.sink.indices) == ([1, 2], [*range(9)])


@pytest.mark.parametrize("what", ["stopped", "failed", "reconnected"])
def test_a_run_ends_with_its_series_and_with_its_connection(what: str) -> None:
    bench = Bench()
    bench.say(start(), numbered(0), numbered(1))
    match what:
        case "stopped":
            bench.stop("the test ends it")
        case "failed":
            bench.collector.fail("the disk is full")
        case "reconnected":
            bench.collector.on_reconnect()
    bench.say(numbered(2))
    assert bench.sink.runs == [1]
    if what == "reconnected":
        assert bench.sink.indices == [0, 1, 2] and not bench.collector.is_suspended
    else:
        assert bench.sink.indices == [0, 1] and bench.collector.drained == 1


@pytest.mark.parametrize("planned", [None, 60])
@pytest.mark.parametrize("what", ODD)
def test_whatever_comes_between_them_has_the_same_outcome(what: str, planned: int | None) -> None:
    for at in (1, 2, 20, 33, 34, 59):
        messages = [*map(numbered, range(at)), ODD[what](at), *map(numbered, range(at + 1, 62))]
        together = outcome(messages, gathers=True, planned=planned)
        assert together == outcome(messages, gathers=False, planned=planned), at


def test_random_streams_have_the_same_outcome() -> None:
    for seed in range(60):
        choice = random.Random(seed)
        messages: list[Message] = []
        for index in range(100):
            odd = choice.random() < 0.05
            messages.append(ODD[choice.choice([*ODD])](index) if odd else numbered(index))
        planned = choice.choice([None, 100, 80])
        together = outcome(messages, gathers=True, planned=planned)
        assert together == outcome(messages, gathers=False, planned=planned), seed


def test_a_run_that_cannot_be_stored_is_missing_as_a_whole() -> None:
    bench = Bench()
    bench.say(start(), *map(numbered, range(10)))
    bench.sink.fails_at = 15
    with pytest.raises(StorageError):
        bench.say(*map(numbered, range(10, 20)))
    bench.collector.fail("the disk is full")
    counts = bench.sink.counts
    assert (counts.stored, counts.missing, counts.planned) == (10, 10, 20)
    account = bench.sink.ended[-1][0].account
    assert account.statuses(20)[9:11].tolist() == [FrameStatus.STORED, FrameStatus.MISSING]


@pytest.mark.parametrize(
    ("rows", "most_run_bytes", "runs"),
    [
        (2**12, 2**16, [9]),
        (2**12 + 1, 2**16, []),
        (2**12 + 1, 2**30, [9]),
        (2**17, 2**30, [8, 1]),
        (2**19, 2**30, [2, 2, 2, 2, 1]),
        (2**19 + 1, 2**30, []),
    ],
)
def test_a_run_has_frames_that_the_sink_takes_together_and_at_most_16_mib(
    rows: int, most_run_bytes: int, runs: list[int]
) -> None:
    """Frames of `rows` times 16 bytes; the first one is entered by itself."""
    bench = Bench()
    bench.sink.most_run_bytes = most_run_bytes
    blob = bytes(rows * 16)
    frames = [
        Frame(msgspec.structs.replace(numbered(index).image, shape=(rows, 8), type="uint16"), [blob])
        for index in range(10)
    ]
    bench.say(start(), *frames)
    assert bench.sink.indices == [*range(10)]
    assert bench.sink.runs == runs


def test_a_sink_that_takes_no_runs_is_asked_again_after_32_frames_and_in_the_next_series() -> None:
    bench = Bench()
    bench.sink.most_run_bytes = 0
    bench.say(start(), *map(numbered, range(3)))
    bench.sink.most_run_bytes = 2**30
    bench.say(*map(numbered, range(3, 40)))
    assert bench.sink.runs == [6]  # the sink was asked after frames 0 and 33
    bench.sink.most_run_bytes = 0
    bench.say(*map(numbered, range(40, 42)), end(43, triggered=42))
    bench.sink.most_run_bytes = 2**30
    bench.say(start(44, "b"), *(frame(index, index + 45, "b") for index in range(5)))
    assert bench.sink.runs == [6, 4]
