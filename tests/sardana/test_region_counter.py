"""Counters of regions over a detector and a receiver that the test moves by hand."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import pytest

from penstock.sardana import regions as region_counter
from penstock.sardana.armed_series import SourceError
from penstock.sardana.regions import RegionCounter
from tests.sardana.stand_in_source import StandInReceiver, wait

AXIS = 1


@pytest.fixture
def detector() -> StandInReceiver:
    return StandInReceiver()


@pytest.fixture
def counter(detector: StandInReceiver) -> Iterator[RegionCounter]:
    counter = RegionCounter(detector)
    counter.add(AXIS)
    counter.show(AXIS, region="peak")
    yield counter
    counter.close()


def test_a_step_waits_for_its_own_frame(counter: RegionCounter, detector: StandInReceiver) -> None:
    counter.prepare(1)
    detector.arm()
    for point in range(3):
        counter.start()
        assert counter.state(AXIS)[0] == "Moving"
        assert math.isnan(counter.value(AXIS)), "the value of the frame before is none of this one"
        detector.take(1)
        wait(lambda: counter.state(AXIS)[0] == "On")
        assert counter.value(AXIS) == point


def test_it_makes_no_difference_who_is_prepared_first(
    counter: RegionCounter, detector: StandInReceiver
) -> None:
    detector.arm()
    counter.prepare(1)
    counter.start()
    detector.take(1)
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert counter.value(AXIS) == 0


def test_values_come_in_order_each_once_with_the_missing_as_nan(
    counter: RegionCounter, detector: StandInReceiver
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


@pytest.mark.parametrize(("is_old", "found"), [(False, "[0.0, 1.0]"), (True, "[nan, nan]")])
def test_saturated_pixels_are_a_value_which_an_older_receiver_has_not(
    counter: RegionCounter, detector: StandInReceiver, is_old: bool, found: str
) -> None:
    detector.is_old = is_old
    counter.show(AXIS, value="saturated")
    counter.prepare(2)
    detector.arm()
    counter.start()
    detector.take(2)
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert str(counter.new_values(AXIS)) == found


def test_a_series_that_ends_early_leaves_nan(counter: RegionCounter, detector: StandInReceiver) -> None:
    counter.prepare(4)
    detector.arm()
    counter.start()
    detector.take(2)
    wait(lambda: "2 of 4" in counter.state(AXIS)[1])
    detector.publish(end=2, state="ON")
    wait(lambda: counter.state(AXIS)[0] == "On")
    assert str(counter.new_values(AXIS)) == "[0.0, 1.0, nan, nan]"


def test_a_frame_that_was_lost_on_its_way_does_not_hold_a_step_scan(
    counter: RegionCounter, detector: StandInReceiver, monkeypatch: pytest.MonkeyPatch
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


def test_a_detector_that_nobody_armed(counter: RegionCounter, detector: StandInReceiver) -> None:
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
    counter: RegionCounter, detector: StandInReceiver, refusal: SourceError, sentence: str
) -> None:
    counter.prepare(1)
    detector.arm()
    detector.refusal = refusal
    assert sentence in fault(counter)


def test_an_unknown_region_and_none_at_all(counter: RegionCounter, detector: StandInReceiver) -> None:
    counter.show(AXIS, region="peek")
    counter.prepare(1)
    detector.arm()
    counter.start()
    detector.take(1)
    wait(lambda: counter.state(AXIS)[0] == "Fault")
    assert "has no region 'peek', it has peak" in counter.state(AXIS)[1]
    counter.show(AXIS, region="")
    assert counter.state(AXIS) == ("Fault", "no region: write the name of one to the attribute Region")
    with pytest.raises(ValueError, match="sum, mean, max, saturated"):
        counter.show(AXIS, value="median")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"series": "another"}, "somebody else"), ({"state": "FAULT"}, "The camera is on fire.")],
)
def test_a_series_that_is_lost(
    counter: RegionCounter, detector: StandInReceiver, changes: dict[str, object], sentence: str,
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


def test_stop_ends_it_at_once_and_close_leaves_no_thread(
    counter: RegionCounter, detector: StandInReceiver
) -> None:
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
