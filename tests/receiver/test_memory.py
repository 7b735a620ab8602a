"""The bound of a receiver's memory, and what the check says when frames do not fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver import memory
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck
from penstock.stins.messages import Header
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


def config(source: dict[str, Any] | None = None, **keys: Any) -> ReceiverConfig:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"], **(source or {})}, "data_root": "/data", **keys}
    return msgspec.convert(entry, ReceiverConfig)


def total(frame_bytes: int, source: dict[str, Any] | None = None, **keys: Any) -> int:
    return memory.bound(memory.parts(config(source, **keys), frame_bytes, frame_bytes))


def test_the_queue_of_zeromq_counts_frames_and_holds_for_each_socket() -> None:
    one, two = (total(20_000_000, {"high_water_mark": mark}) for mark in (8, 9))
    assert two - one == pytest.approx(memory.SLACK * 20_001_000, abs=2)
    wide = total(20_000_000, {"sockets": 2}, hold_mb=100) - total(20_000_000)
    assert wide == pytest.approx(memory.SLACK * (66 * 20_001_000 + 100e6), abs=2)


def test_modules_share_a_frame_between_their_sockets() -> None:
    endpoints = [f"tcp://127.0.0.1:{port}" for port in (1, 2, 3)]
    joined = total(3_000_000, {"endpoints": endpoints, "join": "modules"}, hold_mb=1)
    apart = total(3_000_000, {"endpoints": endpoints}, hold_mb=1)
    assert apart - joined == pytest.approx(memory.SLACK * 2 * 66 * 3_000_000, rel=0.01)


def test_transforms_and_consumers_are_counted() -> None:
    consumer = {"name": "a", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 50}
    plain = total(1_000_000)
    assert total(1_000_000, forward=[consumer]) - plain == pytest.approx(memory.SLACK * 59e6, abs=2)
    chain = [{"type": "flip", "direction": "up-down"}]
    assert total(1_000_000, transforms=chain) - plain == pytest.approx(memory.SLACK * 2e6, abs=2)
    assert total(1_000_000, transforms=chain, workers=4) - plain == pytest.approx(memory.SLACK * 34e6, abs=2)


def test_the_mark_that_the_sentence_names_fits_and_the_next_does_not() -> None:
    sentence = memory.objection("sim-1", config(), 60_000_000)
    assert sentence is not None
    assert "memory_mb allows 4,096" in sentence
    found = re.search(r"high_water_mark to (\d+) or less", sentence)
    assert found is not None
    mark = int(found[1])
    assert memory.objection("sim-1", config({"high_water_mark": mark}), 60_000_000) is None
    assert memory.objection("sim-1", config({"high_water_mark": mark + 1}), 60_000_000) is not None


def test_where_no_mark_fits_the_sentence_names_what_else_can_be_done() -> None:
    sentence = memory.objection("sim-1", config(memory_mb=100), 1000)
    assert sentence is not None
    assert "Raise memory_mb" in sentence


def test_a_start_message_without_a_size_has_no_bound_and_an_absurd_one_does_no_harm() -> None:
    assert memory.announced("sim-1", config(), Header(filename="")) is None
    assert memory.announced("sim-1", config(), Header(filename="", shape=(-1,), type="mono12p")) is None
    assert memory.announced("sim-1", config(), Header(filename="", frame_bytes=2**53)) is not None


def test_the_check_refuses_what_does_not_fit_and_a_stream_that_asks_nobody_is_taken(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, memory_mb=300)
    try:
        receiver.connected()
        small = receiver.client.check(SeriesCheck(filename="", frames=1, frame_bytes=10_000))
        assert small.memory_bytes == memory.bound(memory.parts(config(), 10_000, 10_000))
        with pytest.raises(ReceiverRefused) as caught:
            receiver.client.check(SeriesCheck(filename="", frames=1, frame_bytes=3_000_000))
        assert caught.value.kind == "over_memory"
        series = streamer.start("", frames=1, frame_bytes=3_000_000)
        streamer.frame(0)
        streamer.end(reason="complete", triggered=1, sent=1)
        status = receiver.ended(series)
        assert status.series is not None
        assert (status.series.complete, status.series.memory_bytes) == (True, total(3_000_000))
        assert "its memory_mb allows 300" in receiver.log.read_text()
    finally:
        receiver.close()
        streamer.close()
