"""Frames of several channels: one that is broken leaves the others, and what of the header is whose."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.contents import nexus
from penstock.receiver.models import FrameStatus
from penstock.receiver.transforms.channels import PartialFrame
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.steps.chain import Chain
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame, Header, Start
from tests.receiver.files.recovery.test_recover import Deaths
from tests.receiver.pixels import pixels as unpacked
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sample_series import Bench, end, start
from tests.streams import Streamer, image, pixels

NAMES = ("threshold_1", "threshold_2", "difference")
SHAPE = (3, 4, 6)
DETECTOR = "entry/instrument/sim_1"
STORED, CORRUPT, MISSING = FrameStatus.STORED, FrameStatus.CORRUPT, FrameStatus.MISSING


def frame(number: int = 0, *, broken: dict[int, bytes] | None = None, **keys: Any) -> Frame:
    """Three images; `broken` has other blobs for some. Checksums are those of the sound ones, in capitals."""
    blobs = [part.tobytes() for part in pixels(number, SHAPE)]
    sums = tuple(map(str.upper, checksums("crc32", blobs)))
    head = image(number, pixels(number, SHAPE), series="a", checksums=sums, **keys)
    return Frame(head, [(broken or {}).get(place, blob) for place, blob in enumerate(blobs)])


@pytest.fixture
def bench() -> Bench:
    running = Bench()
    running.say(start(0, frames=3, channels=NAMES, checksum="crc32"))
    return running


FLIPPED = b"\1" * 48


@pytest.mark.parametrize(
    ("broken", "expected", "sentence"),
    [
        ({1: b"cut"}, (STORED, CORRUPT, STORED), "threshold_2: frame 1: blob of 3 bytes, 48 expected"),
        ({1: FLIPPED}, (STORED, CORRUPT, STORED), "threshold_2: the checksum does not match"),
        ({0: b""}, (MISSING, STORED, STORED), "threshold_1 did not arrive"),
        ({0: b"", 2: FLIPPED}, (MISSING, STORED, CORRUPT), "threshold_1 did not arrive; difference: the"),
    ],
)
def test_sound_channels_of_a_frame_outlive_a_broken_one(
    broken: dict[int, bytes], expected: tuple[FrameStatus, ...], sentence: str
) -> None:
    worker = FrameProcessor()
    worker.begin(Start(Header(filename="", channels=NAMES, checksum="crc32"), {}))
    sent = frame(1, broken=broken)
    left = worker.sound_channels(sent)
    assert isinstance(left, PartialFrame)
    assert left.statuses == expected
    assert left.image.partial is not None and sentence in left.image.partial
    assert left.image.shape == SHAPE
    assert sent.image.checksums is not None and left.image.checksums is not None
    for place, status in enumerate(expected):
        good = status is STORED
        assert bytes(left.blobs[place]) == (sent.blobs[place] if good else b"")
        assert left.image.checksums[place] == (sent.image.checksums[place] if good else "")


def test_a_frame_with_a_broken_channel_is_partial_and_one_with_none_that_is_sound_corrupt(
    bench: Bench,
) -> None:
    bench.say(frame(0), frame(1, broken={1: FLIPPED}), frame(2, broken=dict.fromkeys(range(3), FLIPPED)))
    bench.say(end())
    counts = bench.sink.counts
    assert (counts.stored, counts.partial, counts.corrupt, counts.missing) == (1, 1, 1, 0)
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, FrameStatus.PARTIAL)]
    assert bench.sink.errors == ["partial", "checksum"]
    assert not bench.sink.outcome.complete


def test_blobs_that_nobody_has_named_are_corrupt_together() -> None:
    bench = Bench()
    bench.say(start(0, frames=1), frame(0, broken={1: b"cut"}), end())
    assert bench.sink.counts.corrupt == 1


def test_a_frame_with_too_few_blobs_is_corrupt_since_nobody_knows_whose_they_are(bench: Bench) -> None:
    whole = frame(0)
    bench.say(Frame(whole.image, whole.blobs[:2]), end())
    assert bench.sink.counts.corrupt == 1


def test_sound_channels_pass_the_transforms() -> None:
    entry = {"data_root": "/", "source": {"endpoints": ["tcp://127.0.0.1:1"]}}
    entry |= {"transforms": [{"type": "rotate", "quarter_turns": 1}, {"type": "bslz4"}]}
    worker = FrameProcessor(Chain(msgspec.convert(entry, ReceiverConfig).transforms))
    worker.begin(Start(Header(filename="", channels=NAMES), {}))
    left = worker.sound_channels(frame(1, broken={1: b""}))
    assert left is not None
    assert (left.image.shape, left.image.compression) == ((3, 6, 4), "bslz4")
    single = msgspec.structs.replace(left.image, shape=(6, 4))
    for place in (0, 2):
        turned = np.rot90(pixels(1, SHAPE)[place])
        assert np.array_equal(unpacked(Frame(single, [left.blobs[place]])), turned)


# Through a receiver -------------------------------------------------------------------------------


def stream(streamer: Streamer, path: Path, frames: int) -> str:
    """A series of six frames, or their beginning; number 1 has a broken channel."""
    series = streamer.start(str(path), frames=6, channels=NAMES, checksum="crc32", trigger_mode="SOFTWARE")
    for number in range(frames):
        made = frame(number, broken={1: FLIPPED} if number == 1 else None)
        streamer.frame(number, pixels(number, SHAPE), blobs=made.blobs, checksums=made.image.checksums)
    return series


def test_channels_of_a_stins_stream_are_stored_shown_and_verified(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"
    series = stream(streamer, path, 6)
    receiver.received(6)
    while_running = receiver.client.frame(1).array
    streamer.end(reason="complete", triggered=6, sent=6)
    ended = receiver.ended(series)
    counts = ended.counts
    assert (counts.stored, counts.partial, counts.corrupt) == (5, 1, 0)
    assert ended.series is not None
    assert (ended.series.shape, ended.series.dtype) == (list(SHAPE[1:]), "uint16")
    assert ended.series.dataset == f"{DETECTOR}/data"
    expected = pixels(1, SHAPE)
    expected[1] = 65535
    assert np.array_equal(while_running, expected)
    assert np.array_equal(receiver.client.frame(1).array, expected)
    verified = subprocess.run(["penstock", "verify", str(path)], capture_output=True, text=True, timeout=60)
    assert (verified.returncode, "6 of 6 stored frames" in verified.stdout) == (0, True), verified.stdout
    with h5py.File(path, "r+") as file:
        file[f"{DETECTOR}/difference"].id.write_direct_chunk((4, 0, 0), FLIPPED)
    verified = subprocess.run(["penstock", "verify", str(path)], capture_output=True, text=True, timeout=60)
    assert verified.returncode == 1 and "frames 4 are WRONG" in verified.stdout


@pytest.mark.slow
def test_kill_9_loses_no_channel_of_what_was_flushed(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(resume=False)
    path = receiver.root / "x.h5"
    stream(streamer, path, 4)
    receiver.flushed(4)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.state == "error" and status.counts.pending == 0)
    with h5py.File(path) as file:
        detector = file[DETECTOR]
        for place, name in enumerate(NAMES):
            for number in range(4):
                lost = (number, place) == (1, 1)
                expected = np.full(SHAPE[1:], 65535) if lost else pixels(number, SHAPE)[place]
                assert np.array_equal(detector[name][number], expected)
        assert detector["channel_status"][()].tolist() == [[1, 1, 1], [1, 4, 1], [1, 1, 1], [1, 1, 1]]
        assert detector["frame_status"][()].tolist() == [1, 6, 1, 1]
        assert detector["series/partial"][()] == 1


@pytest.mark.slow
def test_a_series_of_channels_goes_on_after_the_death_of_its_receiver(
    tmp_path: Path, streamer: Streamer
) -> None:
    deaths = Deaths(tmp_path / "receiver", streamer)
    try:
        path = deaths.root / "x.h5"
        series = stream(streamer, path, 4)
        deaths.now.flushed(4)
        deaths.kill()
        deaths.start().wait(lambda status: status.state == "running")
        for number in (4, 5):
            made = frame(number)
            streamer.frame(number, pixels(number, SHAPE), blobs=made.blobs, checksums=made.image.checksums)
        streamer.end(reason="complete", triggered=6, sent=6)
        ended = deaths.now.ended(series)
        counts = ended.counts
        assert ended.series is not None
        assert (ended.series.shape, ended.series.dataset) == (list(SHAPE[1:]), f"{DETECTOR}/data")
    finally:
        deaths.now.close()
    assert (counts.stored, counts.partial, counts.corrupt, counts.missing) == (5, 1, 0, 0)
    with h5py.File(path) as file:
        detector = file[DETECTOR]
        for place, name in enumerate(NAMES):
            for number in range(6):
                lost = (number, place) == (1, 1)
                expected = np.full(SHAPE[1:], 65535) if lost else pixels(number, SHAPE)[place]
                assert np.array_equal(detector[name][number], expected)
        assert detector["channel_status"][()].tolist() == [[1, 1, 1], [1, 4, 1], *([[1, 1, 1]] * 4)]


# Header -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        (("threshold_1", "threshold_2"), ("threshold_1", "threshold_2")),
        (("low energy", "2"), ("low_energy", "_2")),
        (("one",), ()),
        ((), ()),
        (("a b", "a_b"), ()),
        (("data", "other"), ()),
        (("pixel_mask", "other"), ()),
        (("one", "one_channel"), ()),
    ],
)
def test_channels_have_datasets_of_their_names_unless_these_are_taken(
    sent: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert nexus.channel_names(sent) == names


def fields_by_path(metadata: dict[str, Any], channels: tuple[str, ...]) -> dict[tuple[str, ...], nexus.Field]:
    found = list(nexus.fields(metadata, "sim", channels))
    assert len({field.path for field in found}) == len(found)
    return {field.path[2:]: field for field in found}


def test_a_value_for_each_channel_goes_to_its_group_and_the_firsts_to_the_detector_too() -> None:
    found = fields_by_path({"threshold_energy": {"low": 4000.0, "high": 7000.0}}, ("low", "high"))
    assert found["low_channel", "threshold_energy"].value == 4000.0
    assert found["high_channel", "threshold_energy"].value == 7000.0
    assert found["high_channel", "threshold_energy"].units == "eV"
    assert found["high_channel", "threshold_energy"].classes[-1] == "NXdetector_channel"
    assert found[("threshold_energy",)].same_as == ("instrument", "sim", "low_channel", "threshold_energy")


def test_values_for_other_channels_than_announced_are_kept_in_header() -> None:
    found = fields_by_path({"threshold_energy": {"low": 4000.0, "middle": 7000.0}}, ("low", "high"))
    assert set(found) == {("header", "threshold_energy")}


def test_a_free_key_does_not_take_the_place_of_a_channel() -> None:
    found = fields_by_path({"low": 1, "low_channel": 2}, ("low", "high"))
    assert set(found) == {("low_2",), ("low_channel_2",)}
