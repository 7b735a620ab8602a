"""Counters of regions over a detector and a receiver that the test moves by hand."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator

import pytest

from penstock.receiver.models import RoiSeries, RoiValues
from penstock.sardana.regions import counter as region_counter
from penstock.sardana.regions.counter import RegionCounter
from penstock.sardana.regions.source import Look, SourceError

AXIS = 1
PATIENCE = 5.0


class StandIn:
    """A detector and its receiver; frame n of region peak has the sum n."""

    name = "my/det/1"

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.state, self.series, self.acquired = "ON", "before", 0
        self.complete_below, self.end = 0, None
        self.missing: set[int] = set()
        self.refusal: SourceError | None = None
        self.requests: list[int] = []

    def publish(self, **changes: object) -> None:
        with self.changed:
            for name, value in changes.items():
                setattr(self, name, value)
            self.changed.notify_all()

    def arm(self, series: str = "new") -> None:
        self.publish(state="RUNNING", series=series, acquired=0, complete_below=0, end=None)

    def take(self, frames: int) -> None:
        self.publish(acquired=self.acquired + frames, complete_below=self.complete_below + frames)

    def look(self) -> Look:
        return Look(self.state, "The camera is on fire.", self.series, self.acquired)

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        with self.changed:
            self.requests.append(first)
            self.changed.wait_for(
                lambda: self.complete_below > first or self.end is not None or self.refusal, wait
            )
            if self.refusal is not None:
                raise self.refusal
            upto = max(first, min(first + count, self.complete_below if self.end is None else self.end))
            found = [None if index in self.missing else float(index) for index in range(first, upto)]
            known = RoiSeries(sum=found, mean=found, max=found)
            return RoiValues(
                series=series, first=first, upto=upto, ended=self.end is not None, values={"peak": known}
            )


@pytest.fixture
def detector() -> StandIn:
    return StandIn()


@pytest.fixture
def counter(detector: StandIn) -> Iterator[RegionCounter]:
    counter = RegionCounter(detector)
    counter.add(AXIS)
    counter.show(AXIS, region="peak")
    yield counter
    counter.close()


def wait(until: Callable[[], bool]) -> None:
    limit = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if until():
            return
        limit.wait(0.005)
    raise AssertionError("it has not come")


def test_a_step_waits_for_its_own_frame(counter: RegionCounter, detector: StandIn) -> None:
    counter.prepare(1)
    detector.arm()
    for point in range(3):
        counter.start()
        assert counter.state(AXIS)[0] == "Moving"
        assert math.isnan(counter.value(AXIS)), "the value of the frame before is none of this one"
        detector.take(1)
        wait(lambda: counter.state(AXIS)[0] == "On")
        assert counter.value(AXIS) == point


def test_it_makes_no_difference_who_is_prepared_first(counter: RegionCounter, detector: StandIn) -> None:
    detector.arm()
    counter.prepare(1)
    counter.start()
    detector.take(1)
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert counter.value(AXIS) == 0


def test_values_come_in_order_each_once_with_the_missing_as_nan(
    counter: RegionCounter, detector: StandIn
) -> None:
    counter.prepare(5)
    detector.missing = {1, 4}
    detector.arm()
    counter.start()
    detector.take(3)
    wait(lambda: "3 of 5" in counter.state(AXIS)[1])
    assert str(counter.new_values(AXIS)) == "[0.0, nan, 2.0]"
    assert counter.new_values(AXIS) == []
    assert counter.state(AXIS)[0] == "Moving"
    detector.publish(end=5, state="ON")
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert str(counter.new_values(AXIS)) == "[3.0, nan]"


def test_a_series_that_ends_early_leaves_nan(counter: RegionCounter, detector: StandIn) -> None:
    counter.prepare(4)
    detector.arm()
    counter.start()
    detector.take(2)
    wait(lambda: "2 of 4" in counter.state(AXIS)[1])
    detector.publish(end=2, state="ON")
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert str(counter.new_values(AXIS)) == "[0.0, 1.0, nan, nan]"


def test_a_frame_that_was_lost_on_its_way_does_not_hold_a_step_scan(
    counter: RegionCounter, detector: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(region_counter, "MISSING_AFTER", 0.2)
    monkeypatch.setattr(region_counter, "WAIT", 0.05)
    counter.prepare(1)
    detector.arm()
    counter.start()
    wait(lambda: len(detector.requests) > 8)
    assert counter.state(AXIS)[0] == "Moving", "it was not taken yet"
    detector.publish(acquired=1)
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert math.isnan(counter.value(AXIS))
    counter.start()
    detector.publish(acquired=2, complete_below=2)
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert counter.value(AXIS) == 1


def fault(counter: RegionCounter) -> str:
    counter.start()
    wait(lambda: counter.state(AXIS)[0] == "Fault")
    assert math.isnan(counter.value(AXIS))
    return counter.state(AXIS)[1]


def test_a_detector_that_nobody_armed(counter: RegionCounter, detector: StandIn) -> None:
    counter.prepare(1)
    assert "add that to the measurement group, too" in fault(counter)
    detector.arm()
    counter.prepare(1)
    counter.start()
    detector.take(1)
    wait(lambda: counter.state(AXIS)[0] == "On")
    counter.prepare(1)
    assert "my/det/1 was not armed" in fault(counter), "the last series is not taken for the next one"


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (SourceError("no_rois", "…"), "has no regions of interest; draw some in the viewer"),
        (SourceError("away", "receiver at … does not answer"), "receiver at … does not answer"),
    ],
)
def test_what_the_receiver_refuses(
    counter: RegionCounter, detector: StandIn, refusal: SourceError, sentence: str
) -> None:
    counter.prepare(1)
    detector.arm()
    detector.refusal = refusal
    assert sentence in fault(counter)


def test_an_unknown_region_and_none_at_all(counter: RegionCounter, detector: StandIn) -> None:
    counter.show(AXIS, region="peek")
    counter.prepare(1)
    detector.arm()
    counter.start()
    detector.take(1)
    wait(lambda: counter.state(AXIS)[0] == "Fault")
    assert "has no region 'peek', it has peak" in counter.state(AXIS)[1]
    counter.show(AXIS, region="")
    assert counter.state(AXIS) == ("Fault", "no region: write the name of one to the attribute Region")
    with pytest.raises(ValueError, match="sum, mean, max"):
        counter.show(AXIS, value="median")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"series": "another"}, "somebody else"), ({"state": "FAULT"}, "The camera is on fire.")],
)
def test_a_series_that_is_lost(
    counter: RegionCounter, detector: StandIn, changes: dict[str, object], sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(region_counter, "WAIT", 0.05)
    counter.prepare(2)
    detector.arm()
    counter.start()
    detector.take(1)
    wait(lambda: "1 of 2" in counter.state(AXIS)[1])
    detector.publish(**changes)
    wait(lambda: counter.state(AXIS)[0] == "Fault")
    assert sentence in counter.state(AXIS)[1]
    assert str(counter.new_values(AXIS)) == "[0.0, nan]"


def test_stop_ends_it_at_once_and_close_leaves_no_thread(counter: RegionCounter, detector: StandIn) -> None:
    counter.prepare(5)
    detector.arm()
    counter.start()
    detector.take(2)
    wait(lambda: "2 of 5" in counter.state(AXIS)[1])
    counter.stop()
    assert counter.state(AXIS)[0] == "On"
    assert counter.new_values(AXIS) == [0.0, 1.0], "no values for frames that nobody takes"
    counter.close()
    assert not any(thread.name == "penstock-regions" for thread in threading.enumerate())
