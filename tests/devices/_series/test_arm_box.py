"""A detector that streams by itself: Arm in a thread, what is said late, and what ends it meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.devices._series import arm_steps
from penstock.devices._series.control import UNCHECKED, SeriesControl
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import live_settings
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import Counts
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.remote.client import StreamerUnavailable
from tests.devices._series.beamside import HeldClock, StandInBox, StandInLink, StandInReceiver, refused
from tests.devices._series.test_control import LIMITS, Loop, settings

LATE = 0.05


class BoxLoop(Loop):
    """The loop of a detector that streams by itself."""

    def __init__(self) -> None:
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.streamer: StandInBox = StandInBox(self.receiver)
        self.link = StandInLink(self.streamer)
        self.updates: list[float] = []
        self.control = SeriesControl(
            self.link, self.receiver, clock=self.clock, limits=LIMITS,  # type: ignore[arg-type]
            connected=lambda _, description: self.updates.append(float(description.values["Energy"])),
        )  # fmt: skip
        self.control.step()
        self.observe()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Let the device's thread look around until it is so, in real time."""
        end = time.monotonic() + 5.0
        while not condition():
            assert time.monotonic() < end, f"{what}: {self.state}, {self.sentence}"
            self.observe()
            self.control.step()
            time.sleep(0.005)

    def hold(self, call: str) -> threading.Event:
        self.streamer.holds[call] = threading.Event()
        return self.streamer.holds[call]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[BoxLoop]:
    monkeypatch.setattr(arm_steps, "ARM_LIMIT", LATE)
    loop = BoxLoop()
    assert loop.state is SeriesState.IDLE
    yield loop
    for event in loop.streamer.holds.values():
        event.set()


@pytest.fixture
def patient(loop: BoxLoop, monkeypatch: pytest.MonkeyPatch) -> BoxLoop:
    """A device whose Arm waits for as long as in life."""
    monkeypatch.setattr(arm_steps, "ARM_LIMIT", 2.2)
    return loop


def test_the_order_is_box_receiver_arm_and_the_receiver_running_with_this_id(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(3, rotation=90, fliplr=True))
    assert loop.state is SeriesState.TAKING
    assert loop.streamer.calls == ["prepare", "start"]
    (question,) = loop.receiver.checks
    assert (question.rotation, question.fliplr, question.flipud) == (90, True, False)
    assert loop.sentence == f"Taking 3 frames, SOFTWARE, into /data/x.h5; {UNCHECKED}."


def test_a_series_goes_to_the_closed_file_and_counts_what_the_receiver_has_seen(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(3))
    for index in range(3):
        loop.receiver.take(1)
        loop.receiver.latest_frame = index
        loop.wait(0.1)
        assert loop.control.view.acquired == index + 1
    loop.streamer.say(state="idle")
    loop.control.step()
    assert loop.state is SeriesState.CLOSING
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert "3 of 3 frames stored in /data/x.h5" in loop.sentence


def test_the_boxs_own_counter_goes_before_what_the_receiver_has_seen(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(9))
    loop.streamer.say(acquired=5)
    loop.receiver.latest_frame = 2
    loop.wait(0.1)
    assert loop.control.view.acquired == 5


def test_the_count_never_goes_back_when_the_box_begins_to_count(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(9))
    loop.receiver.latest_frame = 1
    loop.wait(0.1)
    loop.streamer.say(acquired=1)
    assert loop.control.view.acquired == 2
    loop.streamer.say(acquired=3)
    assert loop.control.view.acquired == 3


def test_no_more_frames_are_stored_than_acquired_when_the_boxs_counter_is_behind(patient: BoxLoop) -> None:
    """As when its power is cut: the last count of the box is from before the last frames."""
    loop = patient
    loop.control.arm(settings(9))
    loop.streamer.say(acquired=2)
    loop.receiver.take(3)
    loop.streamer.say(state="fault", message="the detector is gone")
    loop.wait(3.0)
    loop.receiver.end()
    loop.wait(5.0)
    assert loop.state is SeriesState.FAULT
    assert "3 of 9 frames stored, 6 pending, 3 acquired." in loop.sentence


def test_a_short_series_that_is_over_before_anybody_looks_has_been_armed(patient: BoxLoop) -> None:
    loop = patient
    begin = loop.receiver.begin

    def begin_and_end(series: str, planned: int) -> None:
        begin(series, planned)
        loop.receiver.counts = Counts(planned=planned, received=planned, stored=planned)
        loop.receiver.end()

    loop.receiver.begin = begin_and_end  # type: ignore[method-assign]
    loop.control.arm(settings(1, TriggerMode.INTERNAL))
    loop.streamer.say(state="idle")
    loop.wait(0.2)
    assert loop.state is SeriesState.IDLE
    assert "1 of 1 frame stored" in loop.sentence


def test_a_receiver_that_is_not_connected_is_refused_before_the_box_is_armed(patient: BoxLoop) -> None:
    loop = patient
    loop.receiver.check_refuses = ReceiverRefused("busy", "the receiver takes another series")
    with pytest.raises(ArmRefused, match="takes another series") as refusal:
        loop.control.arm(settings())
    assert refusal.value.kind == "busy"
    assert loop.streamer.calls == ["prepare", "cancel"]
    assert loop.state is SeriesState.IDLE


@pytest.mark.parametrize("call", ["prepare", "start"])
def test_what_the_box_refuses_at_once_fails_arm_and_leaves_nothing(patient: BoxLoop, call: str) -> None:
    loop = patient
    loop.streamer.refuses[call] = refused()
    with pytest.raises(ArmRefused, match="the hardware says no") as refusal:
        loop.control.arm(settings())
    assert refusal.value.kind == "camera"
    assert loop.state is SeriesState.IDLE
    assert loop.streamer.now.state == "idle"
    loop.streamer.refuses.clear()
    loop.control.arm(settings())
    assert loop.state is SeriesState.TAKING


def test_a_box_that_is_lost_at_arm_is_said_once(patient: BoxLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        patient.streamer.say(state="fault", message="the hardware says no")
        raise refused()

    monkeypatch.setattr(patient.streamer, "prepare", lost)
    with pytest.raises(ArmRefused, match="the hardware says no"):
        patient.control.arm(settings())
    patient.until(lambda: "hardware" in patient.sentence, "said")
    assert patient.sentence.count("the hardware says no") == 1


def test_a_box_that_arms_slowly_is_moving_and_then_running(loop: BoxLoop) -> None:
    start = loop.hold("start")
    loop.control.arm(settings())
    loop.wait(30.0)
    assert loop.state is SeriesState.ARMING
    start.set()
    loop.until(lambda: loop.state is SeriesState.TAKING, "armed")


@pytest.mark.parametrize("call", ["prepare", "start"])
def test_a_refusal_that_comes_late_is_a_fault_and_never_on(loop: BoxLoop, call: str) -> None:
    let_go = loop.hold(call)
    loop.streamer.refuses_late[call] = refused()
    loop.control.arm(settings())
    assert loop.state is SeriesState.ARMING
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.FAULT, "fault")
    assert "could not be armed: the hardware says no" in loop.sentence
    states = [view.state for view in loop.control.record.entered()]
    assert SeriesState.IDLE not in states[states.index(SeriesState.ARMING) :]
    assert loop.streamer.now.state == "idle"


@pytest.mark.parametrize("aborted", [False, True])
@pytest.mark.parametrize("call", ["prepare", "start"])
def test_stop_and_abort_end_an_arming_that_is_under_way(loop: BoxLoop, call: str, aborted: bool) -> None:
    let_go = loop.hold(call)
    loop.control.arm(settings())
    (loop.control.abort if aborted else loop.control.stop)()
    assert loop.state is SeriesState.STOPPING
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.IDLE, "idle")
    word = "Abort" if aborted else "Stop"
    assert loop.sentence == f"Ready. The last Arm was ended by {word} before the detector took triggers."
    assert loop.streamer.now.state == "idle"
    assert not loop.receiver.series or not loop.receiver.series.active or loop.receiver.stops
    loop.streamer.holds.clear()
    loop.receiver.state = "idle"
    loop.control.arm(settings())
    loop.until(lambda: loop.state is SeriesState.TAKING, "the next series")


def test_a_receiver_that_does_not_begin_the_series_has_the_box_disarmed(patient: BoxLoop) -> None:
    loop = patient
    loop.receiver.deaf = True
    with pytest.raises(ArmRefused, match="has not begun the series") as refusal:
        loop.control.arm(settings())
    assert refusal.value.kind == "not_started"
    assert "the detector sends at tcp://" in str(refusal.value)
    assert str(refusal.value).endswith("no other program connects there")
    assert loop.streamer.now.state == "idle"
    assert loop.state is SeriesState.IDLE


def test_a_receiver_that_refuses_the_start_message_has_the_box_disarmed(patient: BoxLoop) -> None:
    loop = patient
    loop.receiver.refuses = "its memory_mb allows 300"
    with pytest.raises(ArmRefused, match="refused the series: its memory_mb allows 300"):
        loop.control.arm(settings())
    assert loop.streamer.now.state == "idle"
    assert loop.state is SeriesState.IDLE


def test_a_file_name_that_is_taken_when_a_slow_box_is_armed_at_last_is_a_fault_with_the_sentence(
    loop: BoxLoop,
) -> None:
    let_go = loop.hold("start")
    loop.control.arm(settings())
    loop.receiver.refuses = "/data/x.h5 exists and is not overwritten"
    let_go.set()
    loop.until(lambda: loop.state is SeriesState.FAULT, "fault")
    assert "/data/x.h5 exists and is not overwritten" in loop.sentence
    assert loop.streamer.now.state == "idle"


def test_a_streamer_that_dies_while_the_box_is_armed_is_a_fault(loop: BoxLoop) -> None:
    start = loop.hold("start")
    loop.control.arm(settings())
    loop.link.death = "streamer of StandIn was killed by signal 9"
    loop.wait(1.0)
    assert loop.state is SeriesState.FAULT
    assert "signal 9" in loop.sentence
    loop.streamer.refuses_late["start"] = StreamerUnavailable("the client is closed")
    loop.link.fresh_status = loop.streamer.fresh()
    loop.control.reset()
    loop.control.step()
    assert loop.state is SeriesState.IDLE
    start.set()
    loop.wait(0.5)
    assert loop.state is SeriesState.IDLE, "what the old arming says is about nothing any more"


def test_a_box_that_is_lost_while_its_arming_hangs_is_a_fault_at_once(loop: BoxLoop) -> None:
    start = loop.hold("start")
    loop.control.arm(settings())
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(LIMITS.lasting + LIMITS.final_counts + 0.5)
    assert loop.state is SeriesState.FAULT
    assert "could not be armed: the detector at 10.0.0.1 does not answer" in loop.sentence
    assert not start.is_set(), "its call still hangs"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("busy", "Eiger has not returned from the last call (arm)"),
        ("illegal_state", "the detector's control is acquiring: a series that was given up"),
    ],
)
def test_a_streamer_whose_box_hangs_in_a_call_or_a_series_is_started_anew_by_reset(
    loop: BoxLoop, kind: str, why: str
) -> None:
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(LIMITS.lasting + 0.5)
    assert loop.state is SeriesState.FAULT
    loop.streamer.refuses["reset"] = refused(kind, why)
    loop.control.reset()
    assert loop.state is SeriesState.OFFLINE
    loop.control.step()
    assert (loop.link.opened, loop.state) == (2, SeriesState.IDLE)


def test_what_the_box_says_to_reset_starts_nothing_anew(loop: BoxLoop) -> None:
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(LIMITS.lasting + 0.5)
    loop.streamer.refuses["reset"] = refused("camera", "still no answer")
    with pytest.raises(ArmRefused, match="still no answer"):
        loop.control.reset()
    assert (loop.link.opened, loop.state) == (1, SeriesState.FAULT)


def test_a_receiver_that_was_restarted_after_the_start_message_aborts_the_box(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings())
    loop.receiver.state, loop.receiver.series, loop.receiver.counts = "idle", None, Counts()
    loop.wait(LIMITS.disagreement + 0.5)
    loop.wait(LIMITS.final_counts)
    assert loop.streamer.calls[-1] == "abort"
    assert loop.state is SeriesState.FAULT
    assert "restarted after the start message, which the detector sends once" in loop.sentence


def test_a_box_that_is_lost_in_a_series_ends_it_at_the_receiver_with_final_counts(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(5))
    loop.receiver.take(2)
    loop.observe()
    loop.streamer.say(state="fault", message="the detector at 10.0.0.1 does not answer")
    loop.wait(1.0)
    assert loop.receiver.stops == ["the detector failed: the detector at 10.0.0.1 does not answer"]
    loop.receiver.end("stopped")
    loop.wait(0.2)
    assert loop.state is SeriesState.FAULT
    assert "does not answer" in loop.sentence
    assert "2 of 5 frames stored" in loop.sentence


def test_a_receiver_in_error_aborts_the_box(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(5))
    loop.receiver.state, loop.receiver.error = "error", "disk /data is full"
    loop.wait(0.1)
    assert "abort" in loop.streamer.calls


@pytest.mark.parametrize("ended", [False, True], ids=["no end message", "end message"])
def test_a_box_that_stays_armed_after_its_last_frame_is_disarmed(patient: BoxLoop, ended: bool) -> None:
    loop = patient
    loop.control.arm(settings(2))
    loop.receiver.take(1)
    loop.wait(30.0)
    assert "stop" not in loop.streamer.calls, "one frame is still to come"
    loop.receiver.take(1)
    if ended:
        loop.receiver.end()
    loop.wait(LIMITS.rest - 0.2)
    assert "stop" not in loop.streamer.calls, "most boxes come to rest by themselves"
    loop.wait(0.3)
    assert loop.streamer.calls[-1] == "stop"
    assert loop.state is SeriesState.TAKING
    loop.streamer.say(state="ending")
    loop.wait(5.0)
    assert loop.streamer.calls.count("stop") == 1, "disarming may take its time"
    loop.streamer.say(state="idle")
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert loop.sentence == "Ready. Last series: 2 of 2 frames stored in /data/x.h5."


def test_an_endless_series_is_never_thought_to_be_over(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(live_settings(settings(1)))
    loop.receiver.take(5)
    loop.wait(30.0)
    assert "stop" not in loop.streamer.calls


def test_a_receiver_that_lost_its_connection_to_the_box_is_said(patient: BoxLoop) -> None:
    loop = patient
    loop.control.arm(settings(1))
    loop.receiver.connections = 0
    loop.wait(0.1)
    assert "not connected to the detector's stream" in loop.control.view.warning
    assert loop.state is SeriesState.TAKING


def test_check_says_what_cannot_be_checked(loop: BoxLoop) -> None:
    answer = loop.control.check(settings(rotation=180), 0.1)
    assert (answer.ok, answer.sentence) == (True, UNCHECKED)
    assert loop.receiver.checks[-1].rotation == 180
