"""Settings and Reset of a detector that streams by itself: what takes long, what fails, what is shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from penstock.devices._series import control
from penstock.devices._series.machine.states import TANGO_STATE, SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.streamer.remote.client import StreamerStatus
from tests.devices._series.beamside import refused
from tests.devices._series.test_arm_box import BoxLoop
from tests.devices._series.test_control import LIMITS, settings

ARMED_BY_OTHERS = StreamerStatus(
    state="fault", message="armed by somebody else; Reset disarms it", peers=None, acquired=None
)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[BoxLoop]:
    monkeypatch.setattr(control, "WAIT", 0.05)
    loop = BoxLoop()
    yield loop
    for event in loop.streamer.holds.values():
        event.set()


@pytest.fixture
def patient(loop: BoxLoop, monkeypatch: pytest.MonkeyPatch) -> BoxLoop:
    """A device whose writes wait for as long as in life."""
    monkeypatch.setattr(control, "WAIT", 0.7)
    return loop


def test_what_the_box_takes_at_once_moves_nothing(patient: BoxLoop) -> None:
    loop = patient
    loop.control.record.entered()
    loop.control.set({"Energy": 12000.0})
    loop.wait(0.5)
    assert loop.updates[-1] == 12000.0
    assert loop.control.record.entered() == []


def test_what_the_box_refuses_at_once_is_raised(patient: BoxLoop) -> None:
    loop = patient
    loop.streamer.refuses["set"] = refused("camera", "12 keV is too much")
    with pytest.raises(ArmRefused, match="12 keV is too much") as refusal:
        loop.control.set({"Energy": 12000.0})
    assert refusal.value.kind == "camera"
    assert loop.state is SeriesState.IDLE
    assert loop.updates[-1] == 8000.0


def test_a_slow_box_is_configuring_until_it_confirms(loop: BoxLoop) -> None:
    let_go = loop.hold("set")
    begun = time.monotonic()
    loop.control.set({"Energy": 12000.0})
    assert time.monotonic() - begun < 1.0
    assert loop.state is SeriesState.CONFIGURING
    assert TANGO_STATE[loop.state] == "MOVING"
    loop.wait(60.0)
    assert loop.state is SeriesState.CONFIGURING
    with pytest.raises(ArmRefused, match="Energy is being set in the detector") as refusal:
        loop.control.arm(settings())
    assert refusal.value.kind == "not_idle"
    with pytest.raises(ArmRefused, match="only in the state ON"):
        loop.control.set({"Energy": 9000.0})
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.IDLE, "ready")
    assert loop.updates[-1] == 12000.0
    assert loop.sentence == "Ready."


def test_a_late_failure_is_said_and_the_boxs_own_value_shown(loop: BoxLoop) -> None:
    let_go = loop.hold("set")
    loop.streamer.refuses["set"] = refused("camera", "12 keV is too much")
    loop.control.set({"Energy": 12000.0})
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.IDLE, "ready")
    assert loop.sentence == "Ready. Energy was not set: 12 keV is too much."
    assert loop.updates[-1] == 8000.0


def test_what_another_client_sets_is_seen_and_taken_over(loop: BoxLoop) -> None:
    loop.streamer.say(state="configuring", message="the detector takes Energy")
    loop.wait(LIMITS.lasting + 0.2)
    assert loop.state is SeriesState.CONFIGURING
    assert loop.sentence == "the detector takes Energy."
    loop.streamer.energy = 9000.0
    loop.streamer.say(state="idle")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert loop.updates[-1] == 9000.0


def test_a_snapshot_that_is_late_moves_nothing(loop: BoxLoop) -> None:
    loop.streamer.say(state="configuring")
    loop.wait(0.1)
    loop.streamer.say(state="idle")
    loop.wait(1.0)
    assert loop.state is SeriesState.IDLE
    assert SeriesState.CONFIGURING not in [view.state for view in loop.control.record.entered()]


def test_a_box_that_is_lost_between_series_is_a_fault_and_reset_reaches_it_again(loop: BoxLoop) -> None:
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(LIMITS.lasting + 0.2)
    assert loop.state is SeriesState.FAULT
    assert loop.sentence == "the detector at 10.0.0.1 does not answer. Call Reset."
    loop.control.reset()
    loop.until(lambda: loop.state is SeriesState.IDLE, "ready")
    assert loop.link.opened == 1, "nothing was restarted"


def test_a_box_found_armed_is_disarmed_by_reset_alone(loop: BoxLoop) -> None:
    loop.link.death, loop.link.fresh_status = "died", ARMED_BY_OTHERS
    loop.control.step()
    loop.control.reset()
    loop.control.step()
    assert loop.state is SeriesState.FAULT
    assert "armed by somebody else" in loop.sentence
    assert "reset" not in loop.streamer.calls
    assert "abort" not in loop.streamer.calls
    with pytest.raises(ArmRefused):
        loop.control.arm(settings())
    loop.control.reset()
    loop.until(lambda: loop.state is SeriesState.IDLE, "ready")
    assert loop.streamer.calls[-1] == "reset"


def test_reset_is_moving_until_the_box_is_idle(loop: BoxLoop) -> None:
    let_go = loop.hold("reset")
    loop.streamer.say(state="fault", message="the detector is not initialised")
    loop.wait(1.0)
    loop.control.reset()
    loop.wait(60.0)
    assert loop.state is SeriesState.CONFIGURING
    assert loop.sentence == "The detector is being reset."
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.IDLE, "ready")


def test_a_reset_that_fails_late_is_a_fault_again(loop: BoxLoop) -> None:
    let_go = loop.hold("reset")
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(1.0)
    loop.streamer.refuses_late["reset"] = refused("box_lost", "the detector at 10.0.0.1 does not answer")
    loop.control.reset()
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.FAULT, "fault")
    assert "does not answer" in loop.sentence


def test_a_box_that_is_being_reached_at_start_is_moving_and_then_shown(loop: BoxLoop) -> None:
    loop.link.death = "died"
    loop.control.step()
    loop.link.fresh_status = StreamerStatus(
        state="configuring", message="the detector is being reached", peers=None, acquired=None
    )
    loop.control.reset()
    loop.control.step()
    assert loop.state is SeriesState.CONFIGURING
    assert loop.sentence == "the detector is being reached."
    loop.streamer.energy = 15000.0
    loop.streamer.say(state="idle", message="")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert loop.updates[-1] == 15000.0


def test_a_streamer_that_dies_while_the_box_is_configured_is_a_fault(loop: BoxLoop) -> None:
    loop.hold("set")
    loop.control.set({"Energy": 12000.0})
    loop.link.death = "streamer of StandIn was killed by signal 9"
    loop.wait(0.2)
    assert loop.state is SeriesState.FAULT
    assert "signal 9" in loop.sentence


def test_the_waiting_client_and_the_devices_thread_do_not_both_finish(patient: BoxLoop) -> None:
    loop = patient
    let_go = loop.hold("set")
    writer = threading.Thread(target=loop.control.set, args=({"Energy": 12000.0},))
    writer.start()
    loop.until(lambda: loop.streamer.now.state == "configuring", "being set")
    loop.wait(1.0)
    assert loop.state is SeriesState.IDLE, "whoever asked still waits"
    let_go.set()
    writer.join(5.0)
    assert loop.updates == [8000.0, 12000.0]
