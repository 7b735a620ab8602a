"""Results of a pipeline as channels, over a detector and a pipeline that the test moves by hand."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from penstock.sardana.controllers.penstock_pipeline import PenstockPipelineCurve
from penstock.sardana.pipelines import reading
from penstock.sardana.pipelines.frame_results import FrameResults
from tests.sardana.stand_in_source import StandInPipeline, wait

REFERENCE = Path(__file__).resolve().parents[2] / "docs/reference/sardana.md"
NUMBER, CURVE = 1, 2
RESULT_SECONDS = 0.3


@pytest.fixture
def source() -> StandInPipeline:
    return StandInPipeline()


@pytest.fixture
def results(source: StandInPipeline, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrameResults]:
    monkeypatch.setattr(reading, "ROW_POLL", 0.02)
    monkeypatch.setattr(reading, "LOOK_SECONDS", 0.05)
    found = FrameResults(source, RESULT_SECONDS)
    found.add(NUMBER)
    found.show(NUMBER, "n")
    found.add(CURVE)
    found.show(CURVE, "I")
    found.set_points(CURVE, 3)
    yield found
    found.close()


def idle(results: FrameResults, axis: int = NUMBER) -> None:
    wait(lambda: results.state(axis)[0] == "On")


def test_each_point_of_a_step_scan_has_the_result_of_its_own_frame(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(1, 0.01)
    source.arm()
    source.begin()
    for point in range(3):
        results.start()
        assert results.state(NUMBER)[0] == "Moving"
        assert math.isnan(results.value(NUMBER)), "the value of the frame before is none of this one"
        assert np.isnan(results.value(CURVE)).tolist() == [True] * 3
        source.take("done")
        idle(results)
        assert results.value(NUMBER) == point
        assert results.value(CURVE).tolist() == [point, point + 1, point + 2]
    assert results.warning == ""


def test_values_come_in_the_order_of_the_frames_and_those_without_are_nan(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(6, 0.1)
    source.arm()
    results.start()
    source.begin()
    source.take("done", "failed", "pending", "done")
    wait(lambda: "2 of 6" in results.state(NUMBER)[1])
    assert str(results.new_values(NUMBER)) == "[0.0, nan]"
    assert results.new_values(NUMBER) == []
    source.codes[2] = 3
    source.take("dropped", "done")
    idle(results)
    assert str(results.new_values(NUMBER)) == "[nan, 3.0, nan, 5.0]"
    assert [curve[0] for curve in results.new_values(CURVE)][-1] == 5
    assert results.warning == "rings: 3 of 6 frames without a result: 1 failed; 2 lost; 4 dropped"
    assert results.state(NUMBER) == ("On", results.warning)


def test_a_series_that_is_over_ends_the_wait_for_what_it_does_not_have(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(5, 0.1)
    source.arm()
    results.start()
    source.begin()
    source.take("done", "absent")
    source.publish(state="ON", active=False)
    idle(results)
    assert str(results.new_values(NUMBER)) == "[0.0, nan, nan, nan, nan]"
    assert results.warning == "rings: 4 of 5 frames without a result: 1 to 4 absent"


def test_a_scan_waits_so_many_seconds_after_its_last_frame_and_no_longer(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(4, 0.1)
    source.arm()
    results.start()
    source.begin()
    source.take("done", "pending", "done")
    asked = source.asked
    wait(lambda: source.asked > asked + 2 * RESULT_SECONDS / reading.ROW_POLL)
    assert results.state(NUMBER)[0] == "Moving", "its last frame has not come"
    source.take("pending")
    idle(results)
    assert str(results.new_values(NUMBER)) == "[0.0, nan, 2.0, nan]", "what has come by then is shown"
    assert results.warning == (
        "rings: 2 of 4 frames without a result: 1, 3 pending 0.3 s after the last frame"
    )


def test_after_a_point_was_given_up_the_next_ones_wait_less_until_one_is_in_time(
    results: FrameResults, source: StandInPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "AGAIN", 0.0)
    results.prepare(1, 0.01)
    source.arm()
    source.begin()
    results.start()
    source.take("pending")
    idle(results)
    monkeypatch.setattr(results._reading, "result_seconds", 1000.0)
    results.start()
    source.take("pending")
    idle(results)
    results.start()
    source.take("done")
    idle(results)
    assert results.value(NUMBER) == 2
    results.start()
    source.take("pending")
    asked = source.asked
    wait(lambda: source.asked > asked + 5)
    assert results.state(NUMBER)[0] == "Moving", "the pipeline had caught up"


def test_a_frame_whose_trigger_was_lost_does_not_hold_a_step_scan(
    results: FrameResults, source: StandInPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "NOT_DELIVERED", 0.1)
    results.prepare(1, 0.05)
    source.arm()
    source.begin()
    results.start()
    idle(results)
    assert math.isnan(results.value(NUMBER))
    assert "0 pending" in results.warning


def test_a_pipeline_that_goes_away_leaves_nan_and_says_so(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(3, 0.1)
    source.arm()
    results.start()
    source.begin()
    source.take("done")
    wait(lambda: "1 of 3" in results.state(NUMBER)[1])
    source.publish(away=True)
    source.take("done", "done")
    idle(results)
    assert str(results.new_values(NUMBER)) == "[0.0, nan, nan]"
    assert results.warning.endswith(
        "1 to 2 pending 0.3 s after the last frame: no pipeline answers at http://…"
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"known": "another"}, "the pipeline has not got this series"),
        ({"file": False}, "it stores no results of this series: set results_root"),
    ],
)
def test_why_there_are_no_results_is_said(
    results: FrameResults, source: StandInPipeline, changes: dict[str, object], says: str
) -> None:
    results.prepare(1, 0.01)
    source.arm()
    source.begin()
    source.publish(**changes)
    results.start()
    source.publish(acquired=1)
    idle(results)
    assert results.warning.endswith(f"0 pending 0.3 s after the last frame: {says}")


def test_a_result_that_frames_do_not_have_is_nan_and_the_others_are_named(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.show(NUMBER, "m")
    results.prepare(3, 0.1)
    source.without = {1}
    source.arm()
    results.start()
    source.begin()
    source.take("done", "done", "done")
    idle(results)
    assert str(results.new_values(NUMBER)) == "[nan, nan, nan]"
    assert "3 of 3 frames done without m (0 to 2); results of the series: n, I" in results.warning
    assert "1 of 3 frames done without I (1)" in results.warning


def fault(results: FrameResults, axis: int = NUMBER) -> str:
    results.start()
    wait(lambda: results.state(axis)[0] == "Fault")
    return results.state(axis)[1]


def test_a_result_of_another_kind_is_said(results: FrameResults, source: StandInPipeline) -> None:
    results.show(NUMBER, "I")
    results.prepare(1, 0.01)
    source.arm()
    source.begin()
    source.take("done")
    assert "I is no number, it has the shape (3,)" in fault(results)
    assert math.isnan(results.value(NUMBER))
    results.show(NUMBER, "n")
    results.prepare(1, 0.01)
    source.arm("next")
    source.begin()
    source.points = 4
    source.take("done")
    assert "I has 4 points, and the scan was begun for 3" in fault(results)
    results.set_points(CURVE, 0)
    results.prepare(1, 0.01)
    source.arm("third")
    source.begin()
    results.start()
    source.take("done")
    idle(results)
    assert results.value(CURVE).tolist() == [0, 1, 2, 3], "any length, where none was said"


def test_what_ends_an_acquisition_is_said(results: FrameResults, source: StandInPipeline) -> None:
    results.show(CURVE, "")
    assert results.state(CURVE) == ("Fault", "no result: write the name of one to the attribute Result")
    results.prepare(1, 0.01)
    assert "results are those of the frames that its own channel takes, so add that" in fault(results)
    source.away = True
    results.prepare(1, 0.01)
    assert fault(results) == "no pipeline answers at http://…"
    source.away, source.error = False, "100 frames have failed in a row."
    results.prepare(1, 0.01)
    assert fault(results) == "pipeline rings is in error: 100 frames have failed in a row."
    source.error = ""
    results.prepare(2, 0.1)
    source.arm()
    source.publish(state="FAULT")
    assert fault(results) == "The camera is on fire."
    assert str(results.new_values(NUMBER)) == "[nan, nan]"


def test_what_is_missing_is_counted_over_the_series_of_a_scan(
    results: FrameResults, source: StandInPipeline
) -> None:
    def point(series: str, state: str) -> None:
        results.prepare(1, 0.01)
        source.arm(series)
        source.begin()
        results.start()
        source.take(state)
        idle(results)

    point("a", "failed")
    results.in_scan = True
    assert results.warning == ""
    for series, state in zip("bcd", ("done", "lost", "lost"), strict=True):
        point(series, state)
    assert results.warning == "rings: 2 of 3 frames without a result: 1 to 2 lost"
    results.in_scan = False
    assert "2 of 3" in results.warning, "it stays readable"
    point("e", "absent")
    assert results.warning == "rings: 1 of 1 frame without a result: 0 absent"


def test_stop_ends_it_at_once_and_close_leaves_no_thread(
    results: FrameResults, source: StandInPipeline
) -> None:
    results.prepare(5, 0.1)
    source.arm()
    results.start()
    source.begin()
    source.take("done", "done")
    wait(lambda: "2 of 5" in results.state(NUMBER)[1])
    results.stop()
    assert results.state(NUMBER)[0] == "On"
    assert results.new_values(NUMBER) == [0.0, 1.0], "no values for frames that nobody takes"
    results.close()
    assert not any(thread.name == "penstock-results" for thread in threading.enumerate())


def test_every_property_and_attribute_of_the_controllers_is_described() -> None:
    _, _, page = REFERENCE.read_text().partition("## Results of a pipeline")
    for name in [*PenstockPipelineCurve.ctrl_properties, *PenstockPipelineCurve.axis_attributes]:
        assert f"`{name}` |" in page, name


def test_the_length_of_a_curve_is_remembered(results: FrameResults, source: StandInPipeline) -> None:
    assert results.points_of(CURVE) == 3
    results.show(CURVE, "unknown")
    assert results.points_of(CURVE) == 0
    results.show(CURVE, "I")
    source.away = True
    assert results.points_of(CURVE) == 3


@pytest.mark.parametrize(
    ("points", "says"),
    [(16385, "I has 16,385 points, and a 1D channel of Sardana 16,384 at most"), (0, "is not known before")],
)
def test_a_scan_of_curves_that_no_scan_file_could_have_is_refused(points: int, says: str) -> None:
    keys = {"DetectorDevice": "a/b/c", "Pipeline": "http://127.0.0.1:1", "ResultSeconds": 10.0}
    controller = PenstockPipelineCurve("curves", keys)
    controller.AddDevice(1)
    try:
        controller.SetAxisExtraPar(1, "Result", "I")
        controller.SetAxisExtraPar(1, "Points", points)
        with pytest.raises(ValueError, match=says):
            controller.PrepareOne(1, 0.1, 1, 0.0, 10)
        with pytest.raises(ValueError, match="write the number of points"):
            controller.SetAxisExtraPar(1, "Points", -1)
    finally:
        controller.DeleteDevice(1)
