"""The threads behind the thread that receives: what waits, who waits for whom, and what is said of it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.http import rois as http_rois
from penstock.receiver.models import Status
from penstock.receiver.process.supervisor.supervisor import Supervisor
from penstock.receiver.regions import memory, threads
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.regions.series import RegionSeries, Row
from penstock.receiver.regions.threads import FRAMES_PER_THREAD, RegionThreads
from penstock.service.models import Refused
from penstock.stins.messages import Frame
from tests.streams import image, pixels

DEADLINE = 10.0
ROIS = {"peak": Rectangle(1, 1, 2, 2)}


class Gated(RegionSeries):
    """Finds no value before the gate is open."""

    def __init__(self, rois: dict[str, Rectangle]) -> None:
        super().__init__("a", rois, {})
        self.gate = threading.Event()

    def row(self, frame: Frame) -> Row | None:
        assert self.gate.wait(DEADLINE)
        return super().row(frame)


class Bench:
    """One thread, and both ends of its memory."""

    def __init__(self) -> None:
        self.descriptor = memory.create()
        self.theirs = RegionMemory(self.descriptor)
        self.threads = RegionThreads(RegionMemory(self.descriptor), 1)
        self.series = Gated(ROIS)

    def begin(self, rois: dict[str, Rectangle] = ROIS) -> None:
        self.series = Gated(rois)
        self.threads.begin(self.series)

    def complete_below(self) -> int:
        progress = self.theirs.progress()
        assert progress is not None
        return progress.complete_below


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.series.gate.set()
    made.threads.close()
    os.close(made.descriptor)


def frame(number: int) -> Frame:
    array = pixels(number)
    return Frame(image(number, array), [array.tobytes()])


def test_without_regions_there_is_no_thread(bench: Bench) -> None:
    before = threading.active_count()
    bench.begin({})
    assert bench.threads.active is None
    assert threading.active_count() == before
    bench.begin()
    assert threading.active_count() == before + 1


def test_whoever_receives_waits_while_too_many_frames_wait_and_none_is_left_out(bench: Bench) -> None:
    bench.begin()
    for number in range(FRAMES_PER_THREAD):
        bench.threads.offer(number, frame(number))
    assert bench.threads.nbytes == FRAMES_PER_THREAD * 48
    offering = threading.Thread(target=bench.threads.offer, args=(FRAMES_PER_THREAD, frame(0)))
    offering.start()
    offering.join(0.2)
    assert offering.is_alive(), "the fifth frame is not taken while four wait"
    bench.series.gate.set()
    offering.join(DEADLINE)
    assert not offering.is_alive()
    bench.threads.drain()
    assert bench.threads.nbytes == 0
    bench.threads.step(FRAMES_PER_THREAD + 1)
    assert bench.complete_below() == FRAMES_PER_THREAD + 1


def test_one_frame_may_wait_however_large_it_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BYTES", 10)
    bench.begin()
    bench.threads.offer(0, frame(0))
    offering = threading.Thread(target=bench.threads.offer, args=(1, frame(1)))
    offering.start()
    offering.join(0.2)
    assert offering.is_alive()
    bench.series.gate.set()
    offering.join(DEADLINE)
    assert not offering.is_alive()


def test_a_frame_is_accounted_for_once_its_values_are_there(bench: Bench) -> None:
    bench.begin()
    bench.threads.offer(0, frame(0))
    bench.threads.step(3)  # 1 and 2 never came
    assert bench.complete_below() == 0
    bench.series.gate.set()
    bench.threads.drain()
    assert bench.complete_below() == 3


def test_a_fault_of_ours_costs_the_values_of_its_frame_and_no_more(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.begin()
    bench.series.gate.set()
    values = threads.RegionSeries.row

    def fails(series: RegionSeries, shown: Frame) -> Row | None:
        if shown.image.frame == 1:
            raise RuntimeError("no way")
        return values(series, shown)

    monkeypatch.setattr(Gated, "row", fails)
    for number in range(3):
        bench.threads.offer(number, frame(number))
    bench.threads.drain()
    bench.threads.step(3)
    progress = bench.theirs.progress()
    assert progress is not None
    found = bench.theirs.read(progress, 0, 3)
    assert found is not None
    assert np.isnan(found[:, 0, 0]).tolist() == [False, True, False]
    assert "regions of interest: frame 1 has no values" in caplog.text


def test_a_frame_that_cannot_be_unpacked_is_said(bench: Bench) -> None:
    bench.begin()
    bench.series.gate.set()
    bench.threads.offer(0, Frame(image(0, pixels(0), compression="bslz4"), [b"\0" * 20]))
    bench.threads.drain()
    (sentence,) = bench.threads.step(1)
    assert sentence.kind == "roi_not_unpacked"
    assert "frame 0 has no values: a bslz4 blob" in str(sentence)


def test_values_that_are_no_longer_kept_are_refused_with_a_sentence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_VALUES", 4 * 4)
    bench.begin()
    bench.series.gate.set()
    for number in range(10):
        bench.threads.offer(number, frame(number))
    bench.threads.drain()
    bench.threads.step(10)

    class FakeSupervisor:
        name, roi_memory, status = "sim-1", bench.theirs, Status(state="running")

    def ask(first: int) -> Any:
        return asyncio.run(http_rois.values(cast(Supervisor, FakeSupervisor()), first, 10, "a", 0.0))

    with pytest.raises(Refused, match="are kept from frame 6 on, and 5 was asked for; the file has them all"):
        ask(5)
    answer = ask(6)
    assert (answer.first, answer.upto, answer.ended) == (6, 10, False)
    assert answer.values["peak"].sum == [float(pixels(number)[1:3, 1:3].sum()) for number in range(6, 10)]
