"""How a series of the 2D channel ends: Stop and Abort in every phase, faults, series of somebody else."""

from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import replace

import pytest

from penstock.sardana.channel.channel import ENDED_WITHIN, Channel
from penstock.sardana.channel.detector import Refused
from penstock.sardana.channel.phases import TABLE, Event, Phase
from penstock.sardana.reference import parse
from penstock.stins.table import IllegalEvent
from tests.sardana.stand_in_detector import Clock, StandIn


def test_an_abort_ends_the_context_of_the_scan(channel: Channel) -> None:
    """Sardana runs no hook then, and the next count does not belong to the scan."""
    channel.arming.context = '{"scan_id": 7}'
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.stop()
    assert channel.arming.context
    channel.abort()
    assert channel.arming.context == ""


def test_what_the_context_leaves_open_is_as_outside_a_scan(channel: Channel) -> None:
    channel.arming.context = '{"scan_dir": "", "scan_file": "", "scan_id": 7}'
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.file.endswith("/ct_00007_sim_0001.h5"), channel.file


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("phase", [Phase.ARMED, Phase.EXPOSING, Phase.CLOSING])
def test_stop_and_abort_in_every_phase(
    channel: Channel, detector: StandIn, clock: Clock, phase: Phase, how: str
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    if phase is not Phase.ARMED:
        channel.start()
    if phase is Phase.CLOSING:
        detector.take(1)
        channel.state()
    assert channel.phase is phase
    getattr(channel, how)()
    assert how in detector.calls
    assert channel.state()[0] == "On", "the series has ended within a moment"
    getattr(channel, how)()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.phase is Phase.ARMED


def test_stop_does_not_wait_for_a_long_exposure(channel: Channel, detector: StandIn, clock: Clock) -> None:
    channel.prepare("SoftwareTrigger", 30.0, 1, 0.0, 1)
    channel.start()
    detector.closes_at = 30.0
    channel.stop()
    assert clock() == pytest.approx(ENDED_WITHIN, abs=0.05)
    assert channel.state()[0] == "Moving"
    channel.stop()
    clock.now = 30.0
    assert channel.state()[0] == "On"


def test_nothing_is_stopped_that_is_not_its_own(channel: Channel, detector: StandIn) -> None:
    channel.stop()
    channel.abort()
    assert not {"stop", "abort"} & set(detector.calls)


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("phase", [Phase.ARMED, Phase.EXPOSING, Phase.CLOSING, Phase.ENDING, Phase.FAILED])
def test_a_series_that_somebody_has_armed_meanwhile_is_not_stopped(
    channel: Channel, detector: StandIn, phase: Phase, how: str
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    if phase is not Phase.ARMED:
        channel.start()
    channel.phase = phase
    detector.state, detector.series, detector.status = "RUNNING", "theirs", "Taking frames until Stop."
    getattr(channel, how)()
    assert not {"stop", "abort"} & set(detector.calls)
    assert channel.state()[0] == "Fault"
    if phase is not Phase.FAILED:
        assert "somebody else has armed it since" in channel.warning


def test_a_series_that_got_its_id_after_arm_is_stopped(channel: Channel, detector: StandIn) -> None:
    detector.slow_arm = True
    plain = detector.arm

    def unnamed() -> None:
        plain()
        detector.series = ""

    detector.arm = unnamed  # type: ignore[method-assign]
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    detector.series = "named since"
    channel.stop()
    assert "stop" in detector.calls


def test_hardware_that_is_set_up_slowly_gets_its_id_and_its_dataset_later(
    channel: Channel, detector: StandIn
) -> None:
    whole, plain = detector.known, detector.arm

    def unnamed() -> None:
        plain()
        detector.series, detector.ready, detector.state = "", False, "MOVING"
        detector.known = replace(detector.known, dataset="")

    detector.arm = unnamed  # type: ignore[method-assign]
    detector.refuses["trigger"] = Refused("not_ready", "SoftwareTrigger refused: Arm first")
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    channel.start()
    assert channel.state()[0] == "Moving"
    detector.series = "named since"
    assert channel.state()[0] == "Moving"
    detector.refuses.clear()
    detector.state, detector.ready = "RUNNING", True
    detector.known = replace(detector.known, dataset=whole.dataset)
    assert channel.state()[0] == "Moving"
    detector.take(1)
    assert channel.state()[0] == "On"
    found = parse(channel.reference())
    assert found is not None
    assert found.dataset == whole.dataset
    detector.series = "theirs"
    assert "somebody else has armed it since" in channel.state()[1]


def test_a_series_that_somebody_arms_slowly_meanwhile_is_not_stopped(
    channel: Channel, detector: StandIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector.slow_arm = True
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)

    def rearmed(seconds: float) -> None:
        clock.pause(seconds)
        detector.series = "theirs"

    monkeypatch.setattr(channel, "_pause", rearmed)
    channel.start()
    assert "stop" not in detector.calls
    assert "somebody else has armed it since" in channel.state()[1]


def test_a_server_that_dies_is_a_fault_with_a_sentence(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.vanish()
    state, sentence = channel.state()
    assert (state, sentence) == (
        "Fault", "the detector device sim/det/1 does not answer; is its server running?",
    )  # fmt: skip
    channel.stop()
    channel.abort()
    channel.start()
    assert channel.state()[0] == "Fault"


def test_a_server_that_was_restarted_is_a_fault(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.state, detector.series, detector.acquired = "ON", "", 0
    state, sentence = channel.state()
    assert state == "Fault"
    assert "has lost the series" in sentence


@pytest.mark.parametrize("synchronization", ["SoftwareTrigger", "HardwareTrigger"])
@pytest.mark.parametrize("series", ["series 1", ""])
def test_a_detector_in_init_is_waited_for_and_its_verdict_fails_the_point(
    channel: Channel, detector: StandIn, synchronization: str, series: str
) -> None:
    channel.prepare(synchronization, 0.1, 1, 0.0, 3)
    channel.start()
    detector.state, detector.series, detector.acquired = "INIT", "", 0
    detector.status = "Init is ending the series."
    assert channel.state() == ("Moving", "Init is ending the series.")
    detector.series = series
    detector.close_file(complete=False, sentence="0 of 3 frames stored in x.h5: ended by Init.")
    detector.series = ""
    state, sentence = channel.state()
    assert state == "Fault"
    known = series == "series 1"
    assert sentence == "sim: 0 of 3 frames stored in x.h5: ended by Init." if known else "lost" in sentence


def test_init_while_slow_hardware_is_armed_for_the_first_series_fails_the_point(
    channel: Channel, detector: StandIn
) -> None:
    detector.slow_arm = True
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.state, detector.status = "INIT", "Init is ending the series."
    assert channel.state()[0] == "Moving"
    detector.state, detector.status = "ON", "Ready. Init has ended the last Arm."
    state, sentence = channel.state()
    assert state == "Fault" and sentence.endswith("It says: Ready. Init has ended the last Arm.")


def test_somebody_who_stops_a_step_scan_at_the_panel_fails_it(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.close_file(complete=False, not_triggered=3, sentence="0 of 3 frames stored: stopped.")
    assert channel.state() == ("Fault", "sim: 0 of 3 frames stored: stopped.")


def test_an_idle_channel_shows_what_the_device_says(channel: Channel, detector: StandIn) -> None:
    assert channel.state() == ("On", "Ready.")
    detector.fail("The camera is not cooled.")
    assert channel.state() == ("Fault", "The camera is not cooled.")


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("call", ["settings", "arm", "write", "snapshot"])
def test_what_is_armed_while_stop_comes_is_stopped(
    channel: Channel, detector: StandIn, clock: Clock, monkeypatch: pytest.MonkeyPatch, call: str, how: str
) -> None:
    """Sardana's threads: one prepares, another one stops."""
    channel.arming.context = '{"scan_id": 7}'
    stopper = threading.Thread(target=getattr(channel, how))
    plain = getattr(detector, call)

    def interrupted(*arguments: object) -> object:
        answer = plain(*arguments)
        if stopper.ident is None:
            stopper.start()
            deadline = time.monotonic() + 5.0
            while not channel._cancelled:
                assert time.monotonic() < deadline
        return answer

    monkeypatch.setattr(detector, call, interrupted)
    with pytest.raises(Refused, match="sim: stopped while the series was being armed"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    stopper.join(5.0)
    assert not stopper.is_alive()
    assert (channel.arming.context == "") == (how == "abort")
    if "arm" in detector.calls:
        assert "stop" in detector.calls[detector.calls.index("arm") :]
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert channel.phase is Phase.ARMED, "it does not cancel the next one"


def test_an_exception_in_the_waiting_thread_leaves_nothing_armed(
    channel: Channel, detector: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AbortMacro, where Pool and MacroServer are one process."""

    class AbortException(Exception):
        pass

    plain, macro = detector.arm, threading.get_ident()

    def aborted() -> None:
        plain()
        # A library of its own: Sardana declares other types for the function of `ctypes.pythonapi`.
        ctypes.PyDLL(None).PyThreadState_SetAsyncExc(ctypes.c_ulong(macro), ctypes.py_object(AbortException))

    monkeypatch.setattr(detector, "arm", aborted)
    with pytest.raises(AbortException):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert "stop" in detector.calls[detector.calls.index("arm") :]
    monkeypatch.undo()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert channel.phase is Phase.ARMED


def test_a_device_that_answers_nonsense_after_arm_is_not_left_armed(
    channel: Channel, detector: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = detector.arm

    def broken() -> None:
        plain()
        monkeypatch.setattr(detector, "facts", lambda: int("nonsense"))

    monkeypatch.setattr(detector, "arm", broken)
    with pytest.raises(ValueError, match="nonsense"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert detector.calls[-1] == "stop"


def test_an_illegal_event_raises_and_every_phase_can_be_left() -> None:
    with pytest.raises(IllegalEvent, match="LAST while idle"):
        TABLE.after(Phase.IDLE, Event.LAST)
    for phase in Phase:
        assert {after for (before, _), after in TABLE.items() if before is phase} - {phase}
