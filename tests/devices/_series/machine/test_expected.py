"""A detector whose stream has no start message: armed, announced to the receiver, and waiting for its first
frame."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from penstock.devices._series import arm_steps
from penstock.devices._series.arm_steps import TAKEN_LIMIT
from penstock.devices._series.control import EXPECTED_BEYOND, SeriesControl
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.receiver.client import ReceiverRefused
from penstock.streamer.camera.settings import TriggerMode
from tests.devices._series.beamside import HeldClock, StandInLink, StandInQuietBox, StandInReceiver, refused
from tests.devices._series.test_arm_box import BoxLoop
from tests.devices._series.test_control import LIMITS, settings


class QuietLoop(BoxLoop):
    """The loop of such a detector; its series may wait for an hour."""

    streamer: StandInQuietBox

    def __init__(self, armed_limit: float = 3600.0) -> None:
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.streamer = StandInQuietBox(self.receiver)
        self.link = StandInLink(self.streamer)
        self.control = SeriesControl(
            self.link, self.receiver, clock=self.clock, limits=LIMITS,  # type: ignore[arg-type]
            armed_limit=lambda: armed_limit,
        )  # fmt: skip
        self.control.step()
        self.observe()

    def frame(self) -> None:
        """One frame is taken and stored; the first one begins the series."""
        if self.receiver.expected is not None:
            self.receiver.first_frame()
        super().frame()

    def last(self) -> dict[str, object]:
        return dict(json.loads(self.control.view.last_series))


@pytest.fixture
def loop() -> Iterator[QuietLoop]:
    loop = QuietLoop()
    yield loop
    for event in loop.streamer.holds.values():
        event.set()


def test_running_means_that_the_box_is_armed_and_the_receiver_expects_the_series(loop: QuietLoop) -> None:
    loop.control.arm(settings(3))
    assert loop.state is SeriesState.TAKING
    assert loop.receiver.expected is not None
    assert (loop.receiver.expected.arm, loop.receiver.expected.filename) == ("series-1", "/data/x.h5")
    assert loop.receiver.state == "idle"


def test_it_may_wait_for_its_first_frame_for_longer_than_any_other_limit(loop: QuietLoop) -> None:
    loop.control.arm(settings(3))
    assert TAKEN_LIMIT < 70.0
    loop.wait(70.0)
    assert loop.state is SeriesState.TAKING and not loop.control.view.warning
    for _ in range(3):
        loop.frame()
    loop.streamer.idle()
    loop.control.step()
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert "3 of 3 frames stored in /data/x.h5" in loop.sentence
    assert loop.receiver.forgotten == []


@pytest.mark.parametrize(("limit", "expected_for"), [(3600.0, 3600.0 + EXPECTED_BEYOND), (0.0, 0.0)])
def test_the_receiver_expects_it_for_longer_than_the_device_waits(limit: float, expected_for: float) -> None:
    loop = QuietLoop(limit)
    loop.control.arm(settings(3))
    assert loop.receiver.expected_for == [expected_for]


def test_without_the_first_trigger_it_is_stopped_by_the_limit_of_the_device() -> None:
    loop = QuietLoop(100.0)
    loop.control.arm(settings(3))
    loop.wait(101.0)
    assert loop.streamer.calls[-1] == "stop"
    loop.streamer.idle()
    loop.wait(0.2)
    assert loop.state is SeriesState.IDLE
    assert "0 of 3 triggers: no trigger came within 100 s of Arm (ArmedTimeLimit)" in loop.sentence


@pytest.mark.parametrize(
    ("mode", "frames", "account"),
    [
        (TriggerMode.SOFTWARE, 5, "0 of 5 triggers"), (TriggerMode.EXTERNAL_MULTI, 1, "0 of 1 trigger"),
        (TriggerMode.INTERNAL, 5, "0 of 5 frames"), (TriggerMode.INTERNAL, 0, "0 frames"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["stop", "abort"])
def test_an_end_before_the_first_frame_leaves_no_file_and_no_entry(
    loop: QuietLoop, how: str, mode: TriggerMode, frames: int, account: str
) -> None:
    loop.control.arm(settings(frames, mode))
    getattr(loop.control, how)()
    loop.streamer.idle()
    loop.wait(0.2)
    assert loop.state is SeriesState.IDLE
    assert loop.sentence == (
        f"Ready. Last series: {account}: ended by {how}, before the first frame; no file was written."
    )
    assert loop.receiver.forgotten == ["series-1"] and loop.receiver.expected is None
    last = loop.last()
    assert (last["file"], last["complete"]) == ("", False)
    assert last["counts"]["not_triggered"] == frames  # type: ignore[index]
    loop.control.arm(settings(2))
    assert loop.state is SeriesState.TAKING


def test_an_end_by_another_program_before_the_first_frame_is_named_as_the_box_tells(loop: QuietLoop) -> None:
    by = "another program has stopped the detector (stopDetector)"
    loop.control.arm(settings(5))
    loop.streamer.say(ended_early=True, ended_by=by)
    loop.streamer.idle()
    loop.wait(0.2)
    told = f"0 of 5 triggers: {by}, before the first frame; no file was written."
    assert loop.sentence == f"Ready. Last series: {told}"


def test_an_end_waits_for_a_frame_that_is_under_way(loop: QuietLoop) -> None:
    loop.control.arm(settings(5))
    loop.streamer.say(acquired=1, sent=1)
    loop.control.stop()
    loop.streamer.idle()
    loop.wait(1.0)
    assert loop.state is SeriesState.CLOSING and loop.receiver.forgotten == []
    loop.receiver.first_frame()
    loop.receiver.take(1)
    loop.wait(0.1)
    loop.receiver.end("ended by stop")
    loop.wait(0.1)
    assert loop.state is SeriesState.IDLE
    assert "1 of 5 frames stored" in loop.sentence


def test_frames_none_of_which_arrives_are_a_fault_with_where_to_look(loop: QuietLoop) -> None:
    loop.control.arm(settings(5))
    loop.streamer.say(acquired=5, sent=5)
    loop.streamer.idle()
    loop.wait(10.0)
    assert loop.state is SeriesState.FAULT
    assert "has taken 5 frames, and none has reached the receiver" in loop.sentence
    assert loop.receiver.expected is None


def test_a_receiver_that_was_restarted_fails_the_series_at_once(loop: QuietLoop) -> None:
    loop.control.arm(settings(5))
    loop.receiver.expected = None
    loop.wait(3.0)
    assert "no longer knows this series: it was restarted" in loop.control.record.facts.failure
    assert "or ArmedTimeLimit was raised after Arm" in loop.control.record.facts.failure
    assert "abort" in loop.streamer.calls
    loop.wait(5.0)
    assert loop.state is SeriesState.FAULT
    assert "0 of 5 frames stored, 5 not triggered, 0 acquired." in loop.sentence


def test_a_receiver_that_was_restarted_and_takes_the_rest_as_somebody_elses_is_told_apart(
    loop: QuietLoop,
) -> None:
    loop.control.arm(settings(5))
    loop.frame()
    loop.receiver.begin("somebody", 0)
    loop.wait(3.0)
    assert "takes a series that it counts as somebody else's" in loop.control.record.facts.failure


def test_somebody_elses_series_meanwhile_is_said_and_ends_nothing(loop: QuietLoop) -> None:
    loop.control.arm(settings(3))
    loop.receiver.begin("somebody", 0)
    loop.wait(10.0)
    assert loop.state is SeriesState.TAKING
    assert "a series that somebody else has started" in loop.control.view.warning
    loop.frame()
    loop.wait(1.0)
    assert loop.state is SeriesState.TAKING and not loop.control.view.warning


def test_a_plan_that_the_receiver_refuses_arms_nothing(loop: QuietLoop) -> None:
    loop.receiver.check_refuses = ReceiverRefused("exists", "/data/x.h5 exists")
    with pytest.raises(ArmRefused, match="/data/x.h5 exists"):
        loop.control.arm(settings(3))
    assert "start" not in loop.streamer.calls
    loop.until(lambda: loop.state is SeriesState.IDLE, "idle again")


def test_an_arming_that_the_box_refuses_takes_the_entry_back(loop: QuietLoop) -> None:
    loop.streamer.refuses["start"] = refused("camera", "the chip has no power")
    with pytest.raises(ArmRefused, match="no power"):
        loop.control.arm(settings(3))
    loop.until(lambda: loop.state is SeriesState.IDLE, "idle again")
    assert loop.receiver.forgotten == ["series-1"] and loop.receiver.expected is None


def test_an_entry_that_is_gone_when_the_box_is_armed_is_a_refusal(loop: QuietLoop) -> None:
    start = loop.streamer.start

    def replaced(patience: float = 0.0) -> None:
        loop.receiver.expected = None
        start(patience)

    loop.streamer.start = replaced  # type: ignore[method-assign]
    with pytest.raises(ArmRefused, match="no longer expects this series"):
        loop.control.arm(settings(3))
    loop.until(lambda: loop.state is SeriesState.IDLE, "idle again")


def test_stop_while_the_box_is_being_armed_takes_the_entry_back(
    loop: QuietLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm_steps, "ARM_LIMIT", 0.05)
    loop.hold("start")
    loop.control.arm(settings(3))
    assert loop.state is SeriesState.ARMING
    loop.control.stop()
    loop.streamer.say(state="idle")
    loop.until(lambda: loop.state is SeriesState.IDLE, "idle again")
    assert loop.receiver.expected is None


def test_a_streamer_that_dies_leaves_no_entry(loop: QuietLoop) -> None:
    loop.control.arm(settings(3))
    loop.link.death = "the streamer was killed"
    loop.wait(5.0)
    assert loop.state is SeriesState.FAULT
    assert loop.receiver.expected is None
