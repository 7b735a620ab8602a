"""The bound of a receiver's memory, and what the check says when frames do not fit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck
from penstock.receiver.process import memory
from penstock.receiver.process.memory import Budget, Sizes
from penstock.receiver.transforms.steps import Transform
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.format import Format
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Header
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


def config(source: dict[str, Any] | None = None, **keys: Any) -> ReceiverConfig:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"], **(source or {})}, "data_root": "/data", **keys}
    return msgspec.convert(entry, ReceiverConfig)


def total(frame_bytes: int, source: dict[str, Any] | None = None, **keys: Any) -> int:
    return memory.bound(memory.parts(config(source, **keys), Sizes.of(frame_bytes)))


def test_the_queue_of_zeromq_counts_frames_and_holds_for_each_socket() -> None:
    one, two = (total(20_000_000, {"high_water_mark": mark}) for mark in (8, 9))
    assert two - one == pytest.approx(memory.SLACK * 20_001_000, abs=2)
    wide = total(20_000_000, {"sockets": 2}, hold_mb=100) - total(20_000_000)
    assert wide == pytest.approx(memory.SLACK * (66 * 20_001_000 + 100e6), abs=2)


def test_modules_share_a_frame_between_their_sockets() -> None:
    endpoints = [f"tcp://127.0.0.1:{port}" for port in (1, 2, 3)]
    joined = total(3_000_000, {"endpoints": endpoints, "join": "modules"}, hold_mb=1)
    one = total(3_000_000)
    assert joined - one == pytest.approx(memory.SLACK * 1e6, rel=0.2), "what waits for other modules"


def test_transforms_and_consumers_are_counted() -> None:
    consumer = {"name": "a", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 50}
    plain = total(1_000_000)
    assert total(1_000_000, forward=[consumer]) - plain == pytest.approx(memory.SLACK * 59e6, abs=2)
    shared = {**consumer, "shared": True}
    assert total(1_000_000, forward=[shared]) - plain == pytest.approx(memory.SLACK * 173e6, abs=2)
    chain = [{"type": "flip", "direction": "up-down"}]
    assert total(1_000_000, transforms=chain) - plain == pytest.approx(memory.SLACK * 2e6, abs=2)
    assert total(1_000_000, transforms=chain, workers=4) - plain == pytest.approx(memory.SLACK * 34e6, abs=2)


@pytest.mark.parametrize(
    ("side", "mb"),
    [(2000, 72), (1000, 32), (256, 16 * 0.131072), (255, 0)],
    ids=["8 MB", "2 MB", "128 kiB", "less"],
)
def test_frames_that_wait_for_their_announced_checksums_are_counted(
    side: int, mb: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)))
    plain = Header(filename="", shape=(side, side), type="uint16", compression="none")
    summed = msgspec.structs.replace(plain, checksum="crc32")
    bounds = [memory.announced(config(), header, header) for header in (plain, summed)]
    assert bounds[0] is not None and bounds[1] is not None
    assert bounds[1] - bounds[0] == pytest.approx(memory.SLACK * mb * 1e6, abs=2)


def test_the_mark_that_the_sentence_names_fits_and_the_next_does_not() -> None:
    sentence = memory.objection("sim-1", config(), Sizes.of(60_000_000))
    assert sentence is not None
    assert "memory_mb allows 4,096" in sentence
    found = re.search(r"high_water_mark to (\d+) or less", sentence)
    assert found is not None
    mark = int(found[1])
    assert memory.objection("sim-1", config({"high_water_mark": mark}), Sizes.of(60_000_000)) is None
    assert memory.objection("sim-1", config({"high_water_mark": mark + 1}), Sizes.of(60_000_000)) is not None


def test_where_no_mark_fits_the_sentence_names_what_else_can_be_done() -> None:
    sentence = memory.objection("sim-1", config(memory_mb=100), Sizes.of(1000))
    assert sentence is not None
    assert "Raise memory_mb" in sentence


def test_a_budget_that_no_series_fits_into_is_refused_at_the_start_with_what_would_do() -> None:
    with pytest.raises(
        ValueError, match="memory_mb of receiver sim-1 is 100, .* no series could be taken"
    ) as caught:
        memory.check("sim-1", config(memory_mb=100))
    found = re.search(r"[Rr]aise memory_mb to (\d+)", str(caught.value))
    assert found is not None
    raised = config(memory_mb=int(found[1]))
    memory.check("sim-1", raised)
    assert memory.objection("sim-1", raised, Sizes.of(1_000_000)) is None


def test_the_remedy_names_only_keys_that_count_in_this_configuration() -> None:
    sentence = memory.objection("sim-1", config(memory_mb=100), Sizes.of(1000))
    assert sentence is not None
    assert "or lower" not in sentence
    sentence = memory.objection("sim-1", config(memory_mb=100, files=2), Sizes.of(1000))
    assert sentence is not None
    assert "or lower files" in sentence


def test_what_waits_for_sixteen_files_is_counted_and_named_where_it_does_not_fit() -> None:
    frames = Sizes.of(20_000_000)
    found = memory.parts(config(files=16), frames)["several files (files)"]
    one = memory.parts(config(files=2), frames)["several files (files)"]
    assert found - one == 14 * 2 * 20_000_000  # two frames for each, since one is more than a block
    # 32 frames of 20 MB for the files; 10 frames of 20.001 MB for ZeroMQ, 5 at work, and 160 MB: 1.22 GB.
    sparse = {"high_water_mark": 8}
    sentence = memory.objection("sim-1", config(sparse, files=16, memory_mb=1000), frames)
    assert sentence is not None
    assert re.search(r" 6\d\d MB of it several files \(files\); its memory_mb allows 1,000\. ", sentence)
    assert "or lower files" in sentence
    assert memory.objection("sim-1", config(sparse, files=8, memory_mb=1000), frames) is None


def test_a_start_message_without_a_size_has_no_bound_and_an_absurd_one_does_no_harm() -> None:
    for header in (Header(filename=""), Header(filename="", shape=(-1,), type="mono12p")):
        assert memory.announced(config(), header, header) is None
        Budget("sim-1", config()).begin(header, header)
    absurd = Header(filename="", frame_bytes=2**53)
    assert memory.announced(config(), absurd, absurd) is not None
    with pytest.raises(StinsError, match="a live series: frames of"):
        Budget("sim-1", config()).begin(absurd, absurd)


def test_a_start_message_is_bounded_by_what_it_says_of_plain_frames_whatever_size_it_claims() -> None:
    small = Header(filename="", series="a", shape=(4000, 4000), type="uint16", compression="none")
    Budget("sim-1", config()).begin(small, small)
    large = msgspec.structs.replace(small, shape=(6000, 6000), frame_bytes=10)
    with pytest.raises(StinsError, match=r"^a live series: frames of 72 MB.*\(series a\)") as caught:
        Budget("sim-1", config()).begin(large, large)
    assert caught.value.kind == "over_memory"
    assert "source.high_water_mark to" in str(caught.value)


def test_packed_frames_of_unknown_size_are_taken_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    packed = Header(filename="", shape=(6000, 6000), type="uint16", compression="bslz4")
    Budget("sim-1", config()).begin(packed, packed)
    assert "its memory_mb allows 4,096" in caplog.text
    known = msgspec.structs.replace(packed, frame_bytes=8_000_000)
    caplog.clear()
    Budget("sim-1", config()).begin(known, known)
    assert not caplog.text


def test_frames_that_transforms_make_large_count_as_they_are_then() -> None:
    chain = [{"type": "decompress"}]
    packed = Header(
        filename="", shape=(6000, 6000), type="uint32", compression="bslz4", frame_bytes=1_000_000
    )
    plain = msgspec.structs.replace(packed, compression="none", frame_bytes=144_000_000)
    sizes = Sizes.announced(packed, plain)
    assert sizes == (1_000_000, 144_000_000, 144_000_000, 0, False)
    found = memory.parts(config(transforms=chain), sizes)
    assert found["frames at work and for the live view"] == 5 * 144_000_000
    assert found["transforms (workers)"] == 145_000_000


def test_what_only_the_frame_tells_is_refused_before_it_is_unpacked() -> None:
    budget = Budget("sim-1", config(memory_mb=300))
    chain = Chain(msgspec.convert([{"type": "decompress"}], list[Transform]), budget)
    small = Format((1000, 1000), "uint16", "bslz4")
    assert chain.follow(small).compression == "none"
    with pytest.raises(BlobError, match="its memory_mb allows 300") as caught:
        chain.follow(small._replace(shape=(8000, 8000)))
    assert caught.value.kind == "over_memory"


def test_what_does_not_fit_is_refused_at_the_check_and_at_the_start(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, memory_mb=300)
    try:
        receiver.connected()
        small = receiver.client.check(SeriesCheck(filename="", frames=1, frame_bytes=10_000))
        assert small.memory_bytes == memory.bound(memory.parts(config(), Sizes.of(10_000)))
        with pytest.raises(ReceiverRefused) as caught:
            receiver.client.check(SeriesCheck(filename="", frames=1, frame_bytes=3_000_000))
        assert caught.value.kind == "over_memory"
        streamer.start("", frames=1, frame_bytes=3_000_000)
        streamer.frame(0)
        streamer.end(reason="complete", triggered=1, sent=1)
        status = receiver.wait(lambda status: status.drained == 2)
        assert (status.state, status.errors) == ("idle", {"over_memory": 1})
        assert status.refused == status.last_error.removeprefix("over_memory: ")
        assert ": frames of " in status.last_error and "its memory_mb allows 300" in status.last_error
        series = streamer.start("", frames=1, frame_bytes=100_000)
        streamer.frame(0)
        streamer.end(reason="complete", triggered=1, sent=1)
        taken = receiver.ended(series).series
        assert taken is not None
        assert (taken.complete, taken.memory_bytes) == (True, total(100_000))
    finally:
        receiver.close()
        streamer.close()
