"""The closed loop under a held clock: what ends a series, what never does, and what is said."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import live_settings
from penstock.receiver.client import ReceiverUnavailable
from penstock.receiver.models import Counts
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerRefused, StreamerUnavailable
from tests.devices._series.beamside import HeldClock, StandInLink, StandInReceiver, StandInStreamer, refused

DAY = 86400.0
LIMITS = WatchdogLimits()


def settings(frames: int = 3, mode: TriggerMode = TriggerMode.SOFTWARE, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "exposure_time": 0.01, "latency_time": 0.0, "n_triggers": frames, "n_frames_per_trigger": 1,
        "trigger_mode": mode, "filename": "/data/x.h5", "overwrite": False, "save_raw": True, "rotation": 0,
        "fliplr": False, "flipud": False, "metadata": "{}", "beam_center": (0.0, 0.0),
        "distance": 0.0, "camera": {},
    }  # fmt: skip
    return Settings(**values | changes)


class Loop:
    """A control with everything around it, connected and idle."""

    def __init__(self, limits: WatchdogLimits = LIMITS) -> None:
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.streamer = StandInStreamer(self.receiver)
        self.link = StandInLink(self.streamer)
        self.control = SeriesControl(self.link, self.receiver, clock=self.clock, limits=limits)  # type: ignore[arg-type]
        self.control.step()
        self.observe()

    @property
    def state(self) -> SeriesState:
        return self.control.view.state

    @property
    def sentence(self) -> str:
        return self.control.view.sentence

    def observe(self) -> None:
        """The receiver's snapshot arrives."""
        silence = ReceiverUnavailable("receiver away", refused=self.receiver.refused)
        self.control.record.on_receiver(silence if self.receiver.away else self.receiver.snapshot())

    def receiver_dies(self) -> None:
        """Its connection is lost, and nobody listens at its address."""
        self.receiver.away = self.receiver.refused = True
        self.streamer.say(peers=0)

    def wait(self, seconds: float, *, observing: bool = True) -> None:
        """Time passes, with snapshots as they come in life."""
        steps = min(200, max(1, round(seconds / 0.05)))
        for _ in range(steps):
            self.clock.now += seconds / steps
            if observing:
                self.observe()
            self.control.step()

    def frame(self) -> None:
        """One frame goes all the way."""
        self.streamer.say(acquired=self.streamer.now.acquired + 1, sent=self.streamer.now.sent + 1)
        self.receiver.take(1)
        self.observe()
        self.control.step()


@pytest.fixture
def loop() -> Loop:
    loop = Loop()
    assert loop.state is SeriesState.IDLE
    return loop


def test_a_series_goes_from_arm_to_the_closed_file(loop: Loop) -> None:
    loop.control.arm(settings(3))
    assert loop.state is SeriesState.TAKING
    for _ in range(3):
        loop.frame()
    loop.streamer.say(state="idle", end_sent=True)
    loop.control.step()
    assert loop.state is SeriesState.CLOSING
    loop.receiver.end()
    loop.observe()
    loop.control.step()
    assert loop.state is SeriesState.IDLE
    assert "3 of 3 frames stored in /data/x.h5" in loop.sentence
    assert [view.state for view in loop.control.record.entered()][-4:] == [
        SeriesState.ARMING, SeriesState.TAKING, SeriesState.CLOSING, SeriesState.IDLE,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "mode", [TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE]
)
def test_a_paused_triggered_series_completes_after_weeks(loop: Loop, mode: TriggerMode) -> None:
    loop.control.arm(settings(3, mode))
    loop.frame()
    loop.wait(30 * DAY)
    assert loop.state is SeriesState.TAKING
    loop.frame()
    loop.wait(DAY)
    loop.frame()
    loop.streamer.say(state="idle", end_sent=True)
    loop.control.step()
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    counts = loop.control.view.counts
    assert (counts.stored, counts.missing, counts.not_triggered, counts.pending) == (3, 0, 0, 0)


def test_a_receiver_that_stalls_for_a_while_is_said_and_ends_nothing(loop: Loop) -> None:
    loop.control.arm(settings(3, TriggerMode.INTERNAL))
    loop.receiver.stalled = 20.0
    loop.streamer.say(acquired=2, sent=2, ring_used=30, ring_total=100)
    loop.wait(20)
    assert loop.state is SeriesState.TAKING
    warning = loop.control.view.warning
    assert "has not answered for 20 s" in warning
    assert "30% of whose buffers" in warning
    assert loop.control.record.entered()[-1].warning == warning
    loop.receiver.stalled = 0.0
    loop.wait(0.1)
    assert loop.control.view.warning == ""


def test_a_file_that_takes_its_time_to_close_is_waited_for(loop: Loop) -> None:
    loop.control.arm(settings(1))
    loop.frame()
    loop.streamer.say(state="idle", end_sent=True)
    loop.receiver.stalled = 40.0
    loop.wait(40)
    assert loop.state is SeriesState.CLOSING
    assert "has not answered for 40 s" in loop.control.view.warning
    assert loop.receiver.stops == []
    loop.receiver.stalled = 0.0
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_is_slower_than_the_detector_is_said(loop: Loop) -> None:
    loop.control.arm(settings(3, TriggerMode.INTERNAL))
    loop.streamer.say(ring_used=80, ring_total=100)
    loop.wait(0.1)
    assert "80% of the streamer's buffers" in loop.control.view.warning


def test_a_streamer_without_a_receiver_is_said_instead_of_a_slow_one(loop: Loop) -> None:
    loop.control.arm(settings(3, TriggerMode.INTERNAL))
    loop.receiver.away = True
    loop.streamer.say(peers=0, ring_used=80, ring_total=100)
    loop.wait(0.1)
    warning = loop.control.view.warning
    assert warning.startswith("No receiver is connected")
    assert "slower" not in warning


def test_an_endless_series_is_told_without_the_frames_that_were_never_to_come(loop: Loop) -> None:
    loop.control.arm(live_settings(settings(1, TriggerMode.INTERNAL)))
    assert "until Stop" in loop.sentence
    loop.control.stop()
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(0.1)
    assert loop.control.view.planned_now == -1
    loop.receiver.counts = Counts(planned=3, received=3, delivered=3)
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.sentence == "Ready. Last series: 3 frames for live view."


def test_what_an_endless_series_has_lost_is_told(loop: Loop) -> None:
    loop.control.arm(live_settings(settings(1, TriggerMode.INTERNAL)))
    loop.control.stop()
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(0.1)
    loop.receiver.counts = Counts(planned=5, received=3, delivered=3, missing=2)
    loop.receiver.end("3 of 5 frames: 2 missing")
    loop.wait(0.1)
    assert loop.sentence == "Ready. Last series: 3 frames for live view, 2 missing."


def test_a_consumer_that_comes_in_the_middle_of_a_series_is_said_then_and_at_the_end(loop: Loop) -> None:
    loop.control.arm(settings(2))
    loop.streamer.say(peers=2, peer_addresses=("10.0.0.1:1", "10.0.0.2:2"))
    loop.wait(LIMITS.disagreement + 0.2)
    assert loop.state is SeriesState.TAKING
    assert "10.0.0.2:2" in loop.control.view.warning
    loop.streamer.say(state="idle", end_sent=True, peers=1)
    loop.wait(0.1)
    loop.receiver.end("0 of 2 frames: 2 missing")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert "went to another program" in loop.sentence
    loop.control.arm(settings(2))
    loop.wait(LIMITS.disagreement + 0.2)
    assert loop.control.view.warning == ""


def test_the_counts_of_a_fault_are_those_that_are_safe_in_the_file(loop: Loop) -> None:
    loop.control.arm(settings(5))
    loop.frame()
    loop.frame()
    loop.receiver.state, loop.receiver.error = "error", "the data process ended"
    loop.wait(0.3)
    assert loop.state is SeriesState.FAILING, "one frame of two had been flushed, nobody knows that yet"
    loop.streamer.say(state="fault")
    loop.receiver.counts = Counts(planned=5, received=1, stored=1, missing=4)
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT
    assert "1 of 5 frames stored, 4 missing" in loop.sentence


def test_the_answer_of_the_receiver_decides_arm_before_anything_is_sent(loop: Loop) -> None:
    loop.receiver.away = True
    with pytest.raises(ArmRefused, match="does not answer"):
        loop.control.arm(settings())
    assert "announce" not in loop.streamer.calls
    assert loop.streamer.calls[-1] == "cancel"
    assert loop.state is SeriesState.IDLE


def test_a_second_consumer_is_refused_with_both_counts(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.devices._series.arming.POLL", 0.0)
    loop.streamer.say(peers=3)
    _advance_on_check(loop)
    with pytest.raises(ArmRefused, match="3 consumers .* accounts for 1") as refusal:
        loop.control.arm(settings())
    assert refusal.value.kind == "other_consumer"
    assert "announce" not in loop.streamer.calls


def test_a_connection_that_comes_late_is_waited_for(loop: Loop) -> None:
    loop.streamer.say(peers=0)
    _advance_on_check(loop, lambda: loop.streamer.say(peers=1))
    loop.control.arm(settings())
    assert loop.state is SeriesState.TAKING


def test_a_receiver_that_takes_no_start_message_is_given_up_in_time(loop: Loop) -> None:
    loop.receiver.deaf = True
    begun = loop.clock.now
    with pytest.raises(ArmRefused, match="has not begun the series"):
        loop.control.arm(settings())
    assert loop.clock.now - begun <= 2.5
    assert loop.streamer.calls[-1] == "cancel"
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_refuses_the_start_message_fails_arm_at_once(loop: Loop) -> None:
    loop.receiver.refuses = "its memory_mb allows 300"
    begun = loop.clock.now
    with pytest.raises(ArmRefused, match="refused the series: its memory_mb allows 300"):
        loop.control.arm(settings())
    assert loop.clock.now - begun < 0.5
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_cannot_create_the_file_fails_arm(loop: Loop) -> None:
    loop.receiver.deaf = True
    loop.receiver.state, loop.receiver.error = "error", "no space left"
    with pytest.raises(ArmRefused, match="no space left"):
        loop.control.arm(settings())
    assert loop.state is SeriesState.IDLE


@pytest.mark.parametrize(("seconds", "state"), [(1.6, SeriesState.TAKING), (1.8, SeriesState.IDLE)])
def test_a_camera_may_be_set_up_for_longer_than_another_call(
    seconds: float, state: SeriesState, loop: Loop
) -> None:
    loop.streamer.sets_up_in = seconds
    with nullcontext() if state is SeriesState.TAKING else pytest.raises(ArmRefused, match="prepare"):
        loop.control.arm(settings(3))
    assert loop.state is state


@pytest.mark.parametrize("call", ["prepare", "announce", "start"])
def test_whatever_the_streamer_refuses_fails_arm_and_leaves_nothing(loop: Loop, call: str) -> None:
    loop.streamer.refuses[call] = refused()
    with pytest.raises(ArmRefused, match="the hardware says no"):
        loop.control.arm(settings())
    assert loop.state is SeriesState.IDLE
    loop.streamer.refuses.clear()
    loop.streamer.say(state="idle")
    loop.control.arm(settings())
    assert loop.state is SeriesState.TAKING


def test_arm_while_a_series_runs_changes_nothing(loop: Loop) -> None:
    loop.control.arm(settings())
    before = list(loop.streamer.calls)
    with pytest.raises(ArmRefused, match="state ON"):
        loop.control.arm(settings())
    assert loop.streamer.calls == before
    assert loop.state is SeriesState.TAKING


def test_hardware_that_arms_slowly_is_arming_until_it_is_ready(loop: Loop) -> None:
    loop.streamer.refuses["start"] = StreamerUnavailable("no answer in 1 s")
    loop.control.arm(settings())
    loop.wait(10.0)
    assert loop.state is SeriesState.ARMING
    loop.streamer.say(armed=True)
    loop.control.step()
    assert loop.state is SeriesState.TAKING


def test_hardware_that_never_becomes_ready_is_a_fault(loop: Loop) -> None:
    loop.streamer.refuses["start"] = StreamerUnavailable("no answer in 1 s")
    loop.control.arm(settings())
    loop.wait(LIMITS.arming + 1.0)
    assert loop.state is SeriesState.FAILING
    assert loop.streamer.calls[-1] == "abort"
    assert "not ready within 60 s" in loop.sentence


def test_a_dead_streamer_ends_the_series_within_five_seconds(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.frame()
    loop.link.death = "streamer of StandIn was killed by signal 9"
    loop.wait(1.0)
    assert loop.receiver.stops == ["streamer of StandIn was killed by signal 9"]
    loop.receiver.end("streamer died")
    loop.wait(0.2)
    assert loop.state is SeriesState.FAULT
    assert (
        "signal 9" in loop.sentence
        and "1 of 10 frames stored" in loop.sentence
        and "9 not triggered" in loop.sentence
    )


def test_a_silent_streamer_is_a_fault_even_when_the_receiver_cannot_be_told(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.streamer.fall_silent()
    loop.receiver.away = True
    loop.wait(3.0)
    assert loop.state is SeriesState.FAULT
    assert "no longer answers" in loop.sentence


def test_frames_that_still_come_in_after_the_streamers_death_are_taken(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.link.death = "streamer of StandIn was killed by signal 9"
    for _ in range(4):
        loop.receiver.take(1)
        loop.wait(0.3)
    assert loop.receiver.stops == []
    loop.wait(1.0)
    assert len(loop.receiver.stops) == 1


def test_a_receiver_that_died_aborts_the_acquisition_within_two_seconds(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver_dies()
    loop.wait(LIMITS.receiver_gone - 0.2)
    assert loop.state is SeriesState.TAKING, "it may be restarted at once"
    loop.wait(0.5)
    assert "abort" in loop.streamer.calls
    loop.streamer.say(state="idle")
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT


def test_a_receiver_in_error_aborts_the_acquisition_with_its_sentence(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver.state, loop.receiver.error = "error", "disk /data is full"
    loop.receiver.counts = Counts(planned=10, missing=10)
    loop.wait(0.1)
    assert "abort" in loop.streamer.calls
    loop.streamer.say(state="idle")
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT
    assert "disk /data is full" in loop.sentence and "RestartReceiver" in loop.sentence


def test_a_lost_end_message_is_told_the_receiver_by_the_other_way(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(LIMITS.end_lost - 0.5)
    assert loop.receiver.stops == []
    loop.wait(1.0)
    assert loop.receiver.stops == ["end message lost: the streamer sent it, but it did not arrive"]
    loop.receiver.end("end message lost")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_still_writes_is_never_hurried(loop: Loop) -> None:
    loop.control.arm(settings(100))
    loop.streamer.say(state="idle", end_sent=True)
    for _ in range(20):
        loop.receiver.take(1)
        loop.wait(LIMITS.end_lost - 1.0)
    assert loop.receiver.stops == []
    assert loop.state is SeriesState.CLOSING


def test_a_receiver_that_never_closes_is_a_fault(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(LIMITS.end_lost + LIMITS.closing + LIMITS.final_counts + 2.0)
    assert loop.state is SeriesState.FAULT
    assert "has not closed the file" in loop.sentence


def test_the_end_message_may_be_heard_after_the_receivers_end(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.receiver.end()
    loop.wait(1.0)
    assert loop.state is SeriesState.TAKING
    loop.streamer.say(state="idle", end_sent=True)
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_ended_the_series_by_itself_is_a_fault_with_its_reason(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.receiver.end("no frame for 600 s")
    loop.wait(LIMITS.disagreement + 0.5)
    loop.streamer.say(state="idle")
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT
    assert "no frame for 600 s" in loop.sentence


@pytest.mark.parametrize("sent", [False, True])
def test_a_series_that_the_receiver_has_refused_is_a_fault_with_the_sentence_also_once_all_is_sent(
    loop: Loop, sent: bool
) -> None:
    loop.control.arm(settings(3))
    assert loop.receiver.series is not None
    loop.receiver.refuses = "/data/x.h5 exists and is not overwritten"
    loop.receiver.begin(loop.receiver.series.id, 3)
    if sent:
        loop.streamer.say(state="idle", end_sent=True)
    loop.wait(0.1)
    loop.streamer.say(state="idle")
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT
    assert "/data/x.h5 exists and is not overwritten" in loop.sentence


def test_stop_waits_for_a_long_exposure_and_then_becomes_abort(loop: Loop) -> None:
    loop.control.arm(settings(3, exposure_time=100.0))
    loop.control.stop()
    loop.wait(99.0)
    assert "abort" not in loop.streamer.calls
    loop.wait(5.0)
    assert loop.streamer.calls[-1] == "abort"
    loop.wait(LIMITS.abort + LIMITS.final_counts + 1.0)
    assert loop.state is SeriesState.FAULT
    assert "within 3 s of Abort" in loop.sentence


def test_stop_does_not_hurry_frames_that_a_slow_receiver_has_yet_to_take(loop: Loop) -> None:
    loop.control.arm(settings(1000))
    loop.control.stop()
    loop.streamer.say(state="ending", sent=0)
    for sent in range(1, 20):
        loop.wait(LIMITS.sending - 1.0)
        loop.streamer.say(sent=sent)
    assert "abort" not in loop.streamer.calls


@pytest.mark.parametrize("state", ["idle", "fault"])
def test_stop_and_abort_without_a_series_do_nothing(loop: Loop, state: str) -> None:
    if state == "fault":
        loop.link.death = "died"
        loop.control.step()
    before = list(loop.streamer.calls)
    loop.control.stop()
    loop.control.abort()
    assert loop.streamer.calls == before


def test_reset_starts_a_dead_streamer_anew(loop: Loop) -> None:
    loop.link.death = "streamer of StandIn ended with status 1"
    loop.control.step()
    assert loop.state is SeriesState.FAULT
    loop.control.reset()
    assert loop.state is SeriesState.OFFLINE
    loop.control.step()
    assert loop.state is SeriesState.IDLE
    assert loop.link.opened == 2


def test_reset_of_a_hung_streamer_starts_it_anew(loop: Loop) -> None:
    loop.control.arm(settings())
    loop.streamer.say(state="fault", message="the camera hangs")
    loop.control.step()
    loop.wait(5.0)
    assert loop.state is SeriesState.FAULT
    loop.streamer.refuses["reset"] = refused("busy", "the camera still hangs")
    loop.control.reset()
    assert loop.state is SeriesState.OFFLINE


def test_reset_ends_the_series_at_a_receiver_that_was_started_again(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver_dies()
    loop.wait(LIMITS.receiver_gone + 0.2)
    loop.streamer.say(state="idle")
    loop.wait(LIMITS.final_counts + 0.2)
    assert loop.state is SeriesState.FAULT
    loop.receiver.away = False  # and the device has not heard of it yet
    before = len(loop.receiver.stops)
    loop.control.reset()
    assert loop.state is SeriesState.IDLE
    assert len(loop.receiver.stops) == before + 1
    assert "the detector was reset" in loop.receiver.stops[-1]


def test_reset_leaves_a_series_of_somebody_else_alone(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver_dies()
    loop.wait(LIMITS.receiver_gone + 0.2)
    loop.streamer.say(state="idle")
    loop.wait(LIMITS.final_counts + 0.2)
    loop.receiver.away = False
    loop.receiver.begin("somebody else's", 5)
    loop.control.reset()
    assert loop.receiver.stops == []


def test_reset_is_refused_while_a_series_runs(loop: Loop) -> None:
    loop.control.arm(settings())
    with pytest.raises(ArmRefused, match="Stop or Abort first"):
        loop.control.reset()


def test_a_streamer_that_does_not_start_says_why_and_can_be_tried_again(loop: Loop) -> None:
    loop.link.death = "died"
    loop.control.step()
    loop.link.cannot_open = "streamer of StandIn: no camera with serial number 7."
    loop.control.reset()
    loop.control.step()
    assert loop.state is SeriesState.FAULT
    assert "serial number 7" in loop.sentence and "Reset" in loop.sentence
    loop.link.cannot_open = None
    loop.control.reset()
    loop.control.step()
    assert loop.state is SeriesState.IDLE


def test_a_software_trigger_needs_a_software_series(loop: Loop) -> None:
    with pytest.raises(ArmRefused, match="armed series"):
        loop.control.trigger()
    loop.control.arm(settings(3, TriggerMode.EXTERNAL_MULTI))
    with pytest.raises(ArmRefused, match="EXTERNAL_MULTI"):
        loop.control.trigger()
    assert "trigger" not in loop.streamer.calls


def test_after_a_software_trigger_no_older_snapshot_says_that_the_next_may_come(loop: Loop) -> None:
    loop.control.arm(settings(3, TriggerMode.SOFTWARE))
    loop.streamer.say(ready_for_trigger=True)
    loop.control.trigger()
    assert not loop.control.view.ready_for_trigger
    loop.streamer.say(ready_for_trigger=True)
    assert not loop.control.view.ready_for_trigger, "it was made before the trigger"
    loop.streamer.say(ready_for_trigger=False, triggered=1)
    loop.streamer.say(ready_for_trigger=True, triggered=1)
    assert loop.control.view.ready_for_trigger

    loop.streamer.refuses["trigger"] = StreamerRefused("not_ready", "still busy")
    with pytest.raises(ArmRefused, match="still busy"):
        loop.control.trigger()
    loop.streamer.say(ready_for_trigger=True, triggered=1)
    assert loop.control.view.ready_for_trigger, "what was refused has started nothing"


def _advance_on_check(loop: Loop, then: Any = lambda: None) -> None:
    """Each question to the receiver takes some of the time that Arm has."""
    check = loop.receiver.check

    def slow(question: Any) -> Any:
        loop.clock.now += 0.2
        result = check(question)
        if len(loop.receiver.checks) == 3:
            then()
        return result

    loop.receiver.check = slow  # type: ignore[method-assign]
