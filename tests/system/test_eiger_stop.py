"""Stop, Abort and Live of an Eiger: its end message says neither why the series ends nor how far it came."""

from __future__ import annotations

from collections.abc import Iterator

import h5py
import pytest

from tests.system.beamline import ON, Beamline, until, wait_state
from tests.system.eigers import EigerUnit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unit(beamline: Beamline) -> Iterator[EigerUnit]:
    unit = EigerUnit(beamline, "stopped", "v1", sensor=(16, 24))
    yield unit
    unit.close()


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_frames_that_were_not_taken_are_not_triggered(unit: EigerUnit, command: str) -> None:
    file = unit.arm("SOFTWARE", 5)
    for _ in range(2):
        unit.trigger()
    unit.detector.command_inout(command)
    wait_state(unit.detector, ON)
    said = f"2 of 5 frames stored in {file}, 3 not triggered (ended by {command.lower()})."
    assert unit.detector.Status() == f"Ready. Last series: {said}"
    assert (unit.detector.nFramesMissing, unit.detector.nFramesNotTriggered) == (0, 3)
    assert unit.last()["lost"] == [[2, 4, "not_triggered"]]
    with h5py.File(file) as opened:
        reason = opened["entry/instrument/stopped/series/reason"].asstr()[()]
        assert reason == f"2 of 5 frames: 3 not triggered; ended by {command.lower()}"


@pytest.mark.parametrize(("command", "complete"), [("Stop", True), ("Abort", False)])
def test_without_a_number_of_triggers_the_box_gets_its_most_and_frames_come_until_stop(
    unit: EigerUnit, command: str, complete: bool
) -> None:
    file = unit.arm("INTERNAL", 0)
    until(lambda: unit.detector.nFramesWritten > 2, "frames")
    assert unit.detector.nFramesPlanned == -1
    unit.detector.command_inout(command)
    wait_state(unit.detector, ON)
    series, counts = unit.receiver.client.status().series, unit.receiver.client.status().counts
    assert (series.filename, series.complete, counts.missing) == (str(file), complete, 0), series.reason
    assert f"ended by {command.lower()}" in series.reason
    last = unit.last()
    assert (last["complete"], last["planned"], last["lost"]) == (complete, counts.stored, [])


def test_a_live_series_has_lost_nothing(unit: EigerUnit) -> None:
    unit.detector.Continuous()
    until(lambda: unit.detector.nFramesAcquired > 2, "frames")
    unit.detector.Stop()
    wait_state(unit.detector, ON)
    last = unit.last()
    assert (last["complete"], last["lost"]) == (True, [])
    assert "missing" not in unit.detector.Status() and unit.detector.nFramesMissing == 0


def test_a_limit_says_why_it_has_stopped_the_series(unit: EigerUnit) -> None:
    unit.detector.ArmedTimeLimit = 0.2
    try:
        file = unit.arm("SOFTWARE", 5)
        wait_state(unit.detector, ON)
    finally:
        unit.detector.ArmedTimeLimit = 3600.0
    past = unit.receiver.client.history(1)[0].series
    assert (past.filename, past.lost) == (str(file), [(0, 4, "not_triggered")])
    assert "ended by stop: no trigger came within" in past.reason
