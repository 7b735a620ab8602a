"""An armed series that nobody triggers is stopped after a while that can be set; nothing else is."""

from __future__ import annotations

import pytest

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.settings import live_settings
from penstock.streamer.camera.settings import TriggerMode
from tests.devices._series.beamside import HeldClock, StandInLink, StandInReceiver, StandInStreamer
from tests.devices._series.test_control import DAY, LIMITS, Loop, settings

TRIGGERED = [mode for mode in TriggerMode if mode is not TriggerMode.INTERNAL]


class Limited(Loop):
    """A loop whose series have time limits, which may be changed at any time."""

    def __init__(self) -> None:
        self.limit = 100.0
        self.trigger_limit = 0.0
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.streamer = StandInStreamer(self.receiver)
        self.link = StandInLink(self.streamer)
        self.control = SeriesControl(
            self.link,
            self.receiver,
            clock=self.clock,
            limits=LIMITS,
            armed_limit=lambda: self.limit,  # type: ignore[arg-type]
            trigger_limit=lambda: self.trigger_limit,
        )
        self.control.step()
        self.observe()


@pytest.fixture
def loop() -> Limited:
    return Limited()


@pytest.mark.parametrize("mode", TRIGGERED)
def test_a_series_that_nobody_triggers_is_stopped_and_says_why(loop: Limited, mode: TriggerMode) -> None:
    loop.control.arm(settings(3, mode))
    loop.wait(99.0)
    assert loop.state is SeriesState.TAKING and loop.streamer.end_reasons == []
    loop.wait(1.5)
    assert loop.state is SeriesState.STOPPING
    cause = "no trigger came within 100 s of Arm (ArmedTimeLimit); the series was stopped"
    assert loop.streamer.end_reasons == [cause]
    assert "abort" not in loop.streamer.calls
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(0.1)
    loop.receiver.end(f"0 of 3 frames: 3 not triggered; ended by stop: {cause}")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert loop.sentence == (
        "Ready. No trigger came within 100 s of Arm (ArmedTimeLimit); the series was stopped. "
        "Last series: 0 of 3 frames stored in /data/x.h5, 3 not triggered."
    )
    assert "3 not triggered: no trigger came within 100 s" in loop.control.view.last_series
    loop.control.arm(settings(1, mode))
    loop.control.stop()
    assert loop.streamer.end_reasons[-1] == "", "that one was asked for"


def test_a_live_view_that_waits_for_triggers_is_stopped_too(loop: Limited) -> None:
    loop.control.arm(live_settings(settings(1, TriggerMode.SOFTWARE)))
    loop.wait(101.0)
    assert loop.state is SeriesState.STOPPING


@pytest.mark.parametrize("live", [False, True])
def test_a_series_at_the_detectors_own_pace_has_no_such_limit(loop: Limited, live: bool) -> None:
    wanted = settings(3, TriggerMode.INTERNAL, exposure_time=3600.0)
    loop.control.arm(live_settings(wanted) if live else wanted)
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING


def begins_by_a_frame(loop: Loop) -> None:
    loop.frame()


def begins_by_a_software_trigger(loop: Loop) -> None:
    loop.control.trigger()


def begins_by_a_trigger_that_the_hardware_tells(loop: Loop) -> None:
    loop.streamer.say(triggered=1)


@pytest.mark.parametrize(
    "begins", [begins_by_a_frame, begins_by_a_software_trigger, begins_by_a_trigger_that_the_hardware_tells]
)
def test_one_that_has_begun_may_pause_for_ever(loop: Limited, begins: object) -> None:
    loop.control.arm(settings(3))
    loop.wait(99.0)
    assert callable(begins)
    begins(loop)
    loop.wait(30 * DAY)
    assert loop.state is SeriesState.TAKING


def test_the_limit_holds_as_it_is_now_and_zero_is_none(loop: Limited) -> None:
    loop.limit = 0.0
    loop.control.arm(settings(3))
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING
    loop.limit = 2 * DAY
    loop.wait(0.5 * DAY)
    assert loop.state is SeriesState.TAKING
    loop.limit = DAY
    loop.wait(0.1)
    assert loop.state is SeriesState.STOPPING


@pytest.mark.parametrize("mode", TRIGGERED)
def test_a_series_whose_next_trigger_does_not_come_is_stopped_and_says_why(
    loop: Limited, mode: TriggerMode
) -> None:
    loop.control.arm(settings(3, mode))
    loop.frame()
    loop.trigger_limit = 50.0
    loop.wait(49.0)
    loop.frame()
    loop.wait(49.5)
    assert loop.state is SeriesState.TAKING, "counted from the last one"
    assert loop.control.view.status.endswith(" 2 of 3 triggers, the last 49 s ago.")
    loop.wait(1.5)
    assert loop.state is SeriesState.STOPPING
    cause = (
        "no trigger came within 50 s of the last trigger or frame (TriggerTimeLimit); the series was stopped"
    )
    assert loop.streamer.end_reasons == [cause]
    assert "abort" not in loop.streamer.calls


def test_a_trigger_whose_frame_is_being_exposed_counts(loop: Limited) -> None:
    loop.trigger_limit = 50.0
    loop.control.arm(settings(3, exposure_time=100.0))
    loop.control.trigger()
    loop.wait(149.0)
    assert loop.state is SeriesState.TAKING, "the exposure is not included"
    loop.wait(2.0)
    assert loop.state is SeriesState.STOPPING


def test_before_the_first_trigger_only_the_other_limit_holds(loop: Limited) -> None:
    loop.limit, loop.trigger_limit = 0.0, 50.0
    loop.control.arm(settings(3))
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING


def test_at_the_detectors_own_pace_no_trigger_is_waited_for(loop: Limited) -> None:
    loop.trigger_limit = 50.0
    loop.control.arm(settings(3, TriggerMode.INTERNAL))
    loop.frame()
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING
    assert "trigger" not in loop.control.view.status


def test_while_the_receiver_does_not_answer_no_limit_runs(loop: Limited) -> None:
    loop.trigger_limit = 50.0
    loop.control.arm(settings(3))
    loop.frame()
    loop.receiver.away = True
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.0, ""), (25.5, "the last 25 s ago."), (200.0, "the last 3 min ago."), (8000.0, "the last 2 h ago.")],
)
def test_status_says_how_long_ago_the_last_trigger_was_without_any_limit(
    loop: Limited, seconds: float, said: str
) -> None:
    loop.control.arm(settings(10))
    for _ in range(9):
        loop.frame()
    loop.wait(seconds)
    assert loop.control.view.waiting == (f"9 of 10 triggers, {said}" if said else "")
    loop.frame()
    assert loop.control.view.waiting == ""


def test_triggers_of_a_live_view_and_of_bursts_are_counted_as_such(loop: Limited) -> None:
    loop.control.arm(live_settings(settings(1)))
    loop.frame()
    loop.wait(10.5)
    assert loop.control.view.waiting == "1 trigger, the last 10 s ago."
    loop.control.stop()
    loop.streamer.say(state="idle", end_sent=True)
    loop.receiver.end()
    loop.wait(0.1)
    loop.control.arm(settings(4, n_frames_per_trigger=5))
    loop.streamer.say(triggered=10)
    loop.wait(10.5)
    assert loop.control.view.waiting == "2 of 4 triggers, the last 10 s ago."


def test_no_limit_runs_while_frames_may_wait_unseen(loop: Limited) -> None:
    loop.trigger_limit = 10.0
    loop.control.arm(settings(3))
    loop.frame()
    loop.receiver.stalled = 20.0
    loop.wait(30.0)
    assert loop.state is SeriesState.TAKING
    assert "frames wait" in loop.control.view.warning
    loop.receiver.stalled = 0.0
    loop.frame()
    loop.wait(9.0)
    assert loop.state is SeriesState.TAKING
    loop.wait(2.0)
    assert loop.state is SeriesState.STOPPING
