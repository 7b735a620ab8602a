"""The loop of the data process."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.live import last_frame
from penstock.receiver.process.outputs import Outputs
from penstock.receiver.process.pipeline import BURST_SECONDS, Pipeline
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins import tcp
from penstock.stins.messages import Frame, Header, SeriesEnd
from penstock.stins.series import SeriesEncoder
from penstock.stins.tcp import Silence
from tests.streams import Streamer, image, pixels

DEADLINE = 10.0


class SlowClock:
    """Each look at it costs time, as each frame does on a slow disk."""

    def __init__(self, step: float) -> None:
        self._now = 0.0
        self._step = step

    def __call__(self) -> float:
        self._now += self._step
        return self._now


class HeldClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_slow_disk_does_not_keep_the_loop_from_commands_and_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = msgspec.convert(
        {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path), "peer_gone": 1e6},
        ReceiverConfig,
    )
    each = BURST_SECONDS / 2.5
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, SlowClock(each))
    encoder, waiting = SeriesEncoder(), deque[list[memoryview]]()
    parts = [encoder.start(Header(filename="", series="a", frames=20, trigger_mode="SOFTWARE"))]
    for number in range(20):
        array = pixels(number)
        parts.append([encoder.image(image(number, array, series="a")), array.tobytes()])
    parts.append(encoder.end(SeriesEnd(triggered=20, sent=20)))
    waiting.extend([memoryview(part) for part in message] for message in parts)

    def messages() -> Iterator[list[memoryview]]:
        while waiting:
            yield waiting.popleft()

    monkeypatch.setattr(pipeline.ingest, "messages", messages)
    try:
        received = [0]
        while waiting:
            pipeline.step(0)
            received.append(pipeline.status(1).counts.received)
        assert max(later - earlier for earlier, later in pairwise(received)) <= 3
        assert received[-1] == 20
    finally:
        pipeline.close()


def test_on_a_slow_disk_what_waits_on_another_of_several_sockets_is_neither_late_nor_missing(
    tmp_path: Path,
) -> None:
    streamer = Streamer()
    source = {"endpoints": [streamer.endpoint], "sockets": 8}
    gap = {"policy": "fail", "seconds": 2.0}
    config = msgspec.convert({"source": source, "data_root": str(tmp_path), "gap": gap}, ReceiverConfig)
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, SlowClock(0.3))
    due = time.monotonic() + DEADLINE
    try:
        while pipeline.ingest.connections()[0].connections < 8:
            assert time.monotonic() < due
            pipeline.step(0.01)
        series = streamer.series_of(str(tmp_path / "x.h5"), 60)
        while (shown := pipeline.status(1).series) is None or shown.id != series or shown.active:
            assert time.monotonic() < due
            pipeline.step(0.01)
        status = pipeline.status(1)
        assert (status.state, status.errors) == ("idle", {})
        assert (status.counts.stored, status.counts.late, status.counts.missing) == (60, 0, 0)
    finally:
        pipeline.close()
        streamer.close()


@pytest.mark.parametrize("interrupted", [False, True])
def test_while_the_network_is_interrupted_a_frame_that_is_under_way_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    streamer, clock = Streamer(), HeldClock()
    config = msgspec.convert(
        {"source": {"endpoints": [streamer.endpoint]}, "data_root": str(tmp_path), "gap": {"seconds": 2.0}},
        ReceiverConfig,
    )
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, clock)

    def until(condition: Callable[[], bool]) -> None:
        due = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < due
            pipeline.step(0.01)

    try:
        until(lambda: pipeline.ingest.connections()[0].connections == 1)
        streamer.start(str(tmp_path / "x.h5"), frames=3)
        for number in (0, 2):
            streamer.frame(number)
        until(lambda: pipeline.status(1).counts.received == 2)
        if interrupted:  # as the kernel would say
            monkeypatch.setattr(tcp, "silence", lambda descriptor: Silence(60.0, 60.0))
        for _ in range(50):
            clock.now += 0.1
            pipeline.step(0)
        assert pipeline.status(1).counts.missing == (0 if interrupted else 1)
    finally:
        pipeline.close()
        streamer.close()


@pytest.mark.parametrize("files", [1, 2])
def test_a_series_that_its_writing_holds_up_says_so_with_the_number_of_files_to_set(
    files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)))
    monkeypatch.setattr(os, "getloadavg", lambda: (4.0, 0.0, 0.0))
    streamer, clock = Streamer(), HeldClock()
    config = msgspec.convert(
        {"source": {"endpoints": [streamer.endpoint]}, "data_root": str(tmp_path), "files": files},
        ReceiverConfig,
    )
    add = SeriesWriter.add

    def slow(writer: SeriesWriter, index: int, frame: Frame) -> None:
        clock.now += 0.9
        add(writer, index, frame)

    if files == 1:
        monkeypatch.setattr(SeriesWriter, "add", slow)
    else:
        monkeypatch.setattr(SeriesWriter, "held_seconds", property(lambda writer: clock.now))
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, clock)
    due = time.monotonic() + DEADLINE
    try:
        while not pipeline.ingest.connections()[0].connections:
            assert time.monotonic() < due
            pipeline.step(0.01)
        streamer.start(str(tmp_path / "x.h5"), frames=16)
        reasons = []
        for number in range(10):
            streamer.frame(number)
            while pipeline.status(1).counts.received <= number:
                assert time.monotonic() < due
                pipeline.step(0.01)
            clock.now += 0.1 if files == 1 else 1.0
            series = pipeline.status(1).series
            assert series is not None
            reasons.append(series.reason)
        assert reasons[0] == ""
        assert f"cores are idle: set files: {files + 1} (penstock check-storage {tmp_path} " in reasons[-1]
        assert sum("12 of 16 cores are idle" in message for message in caplog.messages) == 1
    finally:
        pipeline.close()
        streamer.close()


def test_frames_of_several_sockets_are_entered_together_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[range] = []
    entered_run = Outputs.frame_run

    def noted(outputs: Outputs, series: RunningSeries, first: int, frames: list[Frame], status: Any) -> None:
        runs.append(range(first, first + len(frames)))
        assert [frame.image.frame for frame in frames] == [*runs[-1]]
        entered_run(outputs, series, first, frames, status)

    monkeypatch.setattr(Outputs, "frame_run", noted)
    streamer = Streamer()
    source = {"endpoints": [streamer.endpoint], "sockets": 3}
    config = msgspec.convert({"source": source, "data_root": str(tmp_path)}, ReceiverConfig)
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, HeldClock())
    due = time.monotonic() + DEADLINE
    try:
        while pipeline.ingest.connections()[0].connections < 3:
            assert time.monotonic() < due
            pipeline.step(0.01)
        series = streamer.series_of("", 150)
        while (shown := pipeline.status(1).series) is None or shown.id != series or shown.active:
            assert time.monotonic() < due
            pipeline.step(0.01)
        counts = pipeline.status(1).counts
        assert (counts.delivered, counts.missing, counts.late, counts.duplicate) == (150, 0, 0, 0)
        assert sum(map(len, runs)) > 75, "most of them"
    finally:
        pipeline.close()
        streamer.close()
