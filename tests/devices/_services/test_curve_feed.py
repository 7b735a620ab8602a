"""Which curves become events, of a pipeline and a clock that the test moves by hand."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.devices._services import curve_feed
from penstock.devices._services.curve_feed import BURST, LATE, PER_SECOND, CurveFeed
from penstock.processing.client import Newest, PipelineRefused, Rows
from penstock.processing.models import FINAL

POINTS = 3


class StandIn:
    """A pipeline: frame n has the curve (n, n + 0.5, no number)."""

    def __init__(self) -> None:
        self.series = "a"
        self.states: list[str] = []
        self.without: set[int] = set()
        self.asked: list[str] = []

    def finish(self, *states: str) -> None:
        self.states += states

    def newest(self, name: str, *, series: str | None = None) -> Newest:
        done = [n for n, state in enumerate(self.states) if state == "done" and n not in self.without]
        if not done:
            raise PipelineRefused("no_results", "no frame has a value yet")
        return Newest(self.series, done[-1], None, np.array(self._value(done[-1]), dtype=float))

    def rows(self, name: str, frames: str, *, series: str | None = None) -> Rows:
        assert series == self.series
        self.asked.append(frames)
        first, end = map(int, frames.split(":"))
        codes = [1 + FINAL.index(state) if state in FINAL else 255 for state in self.states[first:end]]
        has = [
            code == 1 and frame not in self.without
            for frame, code in zip(range(first, end), codes, strict=True)
        ]
        values = np.array([self._value(frame) for frame in range(first, end)], dtype=float)
        return Rows(self.series, first, 1, np.array(codes, np.uint8), np.array(has), values)

    def _value(self, frame: int) -> list[float | None]:
        return [frame, frame + 0.5, None]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def pipeline() -> StandIn:
    return StandIn()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def feed(pipeline: StandIn, clock: Clock) -> CurveFeed:
    return CurveFeed(pipeline, "I", POINTS, clock)


def frames(feed: CurveFeed) -> list[int]:
    found = feed.next()
    for curve in found:
        np.testing.assert_array_equal(curve.values, [curve.frame, curve.frame + 0.5, np.nan])
    return [curve.frame for curve in found]


def test_each_curve_comes_once_while_they_come_slowly(
    feed: CurveFeed, pipeline: StandIn, clock: Clock
) -> None:
    seen = []
    for _ in range(50):
        pipeline.finish("done", "done")
        clock.now += 0.2
        seen += frames(feed)
        assert frames(feed) == []
    assert seen == list(range(100))


def test_curves_that_come_together_have_an_event_each_up_to_a_burst(
    feed: CurveFeed, pipeline: StandIn, clock: Clock
) -> None:
    pipeline.finish(*["done"] * int(BURST))
    assert frames(feed) == list(range(int(BURST)))
    pipeline.finish(*["done"] * 10)
    assert frames(feed) == [], "that would be more than any client wants"
    assert feed.owes
    clock.now += 1.01 / PER_SECOND
    assert frames(feed) == [int(BURST) + 9], "then the newest"
    assert not feed.owes


def test_of_fast_ones_the_newest_come_and_their_frames_ascend(
    feed: CurveFeed, pipeline: StandIn, clock: Clock
) -> None:
    seen, newest = [], []
    for _ in range(200):
        pipeline.finish(*["done"] * 5)
        clock.now += 0.05
        found = frames(feed)
        seen += found
        newest += [found[-1]] if found else []
        if found:
            assert found[-1] == len(pipeline.states) - 1
    assert seen == sorted(set(seen))
    assert 10 * PER_SECOND - 5 <= len(seen) <= 10 * PER_SECOND + BURST, "in ten seconds"


def test_frames_that_have_none_are_passed_over(feed: CurveFeed, pipeline: StandIn) -> None:
    pipeline.finish("done", "failed", "lost", "dropped", "absent", "done", "done")
    pipeline.without = {5}
    assert frames(feed) == [0, 6]
    assert not feed.owes


def test_a_frame_that_is_late_holds_back_later_ones_for_a_while(
    feed: CurveFeed, pipeline: StandIn, clock: Clock
) -> None:
    pipeline.finish("done", "pending", "done")
    assert frames(feed) == [0]
    assert feed.owes
    clock.now += LATE / 2
    pipeline.states[1] = "done"
    assert frames(feed) == [1, 2]
    pipeline.finish("pending", "done")
    assert frames(feed) == []
    clock.now += LATE
    assert frames(feed) == [4], "that one is not awaited any longer"
    pipeline.states[3] = "done"
    assert frames(feed) == [], "its turn is over: frames ascend"


def test_a_new_series_begins_anew(feed: CurveFeed, pipeline: StandIn) -> None:
    pipeline.finish("done", "done")
    assert frames(feed) == [0, 1]
    pipeline.series, pipeline.states = "b", []
    with pytest.raises(PipelineRefused):
        feed.next()
    pipeline.finish("done")
    found = feed.next()
    assert [(each.series, each.frame) for each in found] == [("b", 0)]


def test_many_long_curves_are_not_asked_for_at_once(
    feed: CurveFeed, pipeline: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curve_feed, "MOST_VALUES", 4 * POINTS)
    pipeline.finish(*["done"] * 5)
    assert frames(feed) == [4]
    assert pipeline.asked == []
