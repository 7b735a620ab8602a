"""The engine of a detector that streams by itself, over a box that really sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from threading import Event as Flag
from threading import Semaphore
from typing import Any, TypeVar

import pytest

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress
from penstock.streamer.camera.settings import MOST_TRIGGERS, TriggerMode, Value
from penstock.streamer.camera.unit import FrameFormat
from penstock.streamer.own_stream import watcher
from penstock.streamer.own_stream.engine import OwnStreamEngine
from penstock.streamer.own_stream.series import LostSettings, Series
from penstock.streamer.own_stream.states import TABLE, Event, State, machine
from tests.streamer.own_stream.box import Box
from tests.streamer.own_stream.rig import Rig, done
from tests.streamer.rig import DEADLINE, settings

T = TypeVar("T")
VALUES = {"Energy": 8000.0, "Threshold": 4000.0, "Faults": ""}


class BoxRig(Rig):
    """With the stand-in's box at hand."""

    unit: Box

    def __init__(self, *, died: Callable[[], None] = lambda: None, **properties: Any) -> None:
        super().__init__(Box(properties), died=died)
        self.box = self.unit.box


@pytest.fixture
def make_rig() -> Iterator[Callable[..., BoxRig]]:
    rigs: list[BoxRig] = []

    def make(**properties: Any) -> BoxRig:
        rigs.append(BoxRig(**properties))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


@pytest.fixture
def rig(make_rig: Callable[..., BoxRig]) -> BoxRig:
    rig = make_rig()
    rig.until_state("idle")
    return rig


# A series -----------------------------------------------------------------------------------------


def test_an_internal_series_is_started_by_itself_and_ends_with_the_box(rig: BoxRig) -> None:
    series = rig.arm(filename="/data/x.h5", overwrite=True, metadata='{"sample": "gold"}').series
    start, frames, end = rig.series()
    assert (start.header.series, start.header.filename, start.header.overwrite) == (
        series,
        "/data/x.h5",
        True,
    )
    assert start.metadata["user"] == {"sample": "gold"} and start.metadata["save_raw"] is True
    assert start.header.trigger_mode == "INTERNAL" and start.header.frame_time == pytest.approx(0.0011)
    assert [frame.image.frame for frame in frames] == [0, 1, 2, 3]
    assert end.series == series
    status = rig.until(lambda status: status.state == "idle" and status.end_sent)
    assert (status.series, status.planned, status.acquired, status.peers) == (series, 4, 4, None)
    assert status.message == "4 of 4 frames triggered"


def test_a_series_until_stop_gives_the_box_a_number_and_the_receiver_none(rig: BoxRig) -> None:
    prepared = rig.arm(n_triggers=0, filename="/data/x.h5")
    status = rig.until(lambda status: (status.acquired or 0) > 2)
    assert (prepared.frames, status.planned, status.triggered) == (0, 0, status.acquired)
    assert rig.box.settings is not None and rig.box.settings.frames == MOST_TRIGGERS
    done(rig.engine.stop())
    start, frames, _ = rig.series()
    assert start.header.frames is None
    assert start.metadata["acquisition"]["triggers"] == 0
    assert len(frames) > 2
    ended = rig.until(lambda status: status.end_sent and status.state == "idle")
    assert ended.message == f"stopped, {ended.triggered} frames triggered"


def test_a_box_without_a_counter_of_frames_says_that_nobody_knows(make_rig: Callable[..., BoxRig]) -> None:
    rig = make_rig(CountsFrames=False)
    rig.until_state("idle")
    rig.arm()
    assert rig.until(lambda status: status.end_sent).acquired is None


def test_software_triggers_one_after_the_other(rig: BoxRig) -> None:
    rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=3, n_frames_per_trigger=2)
    for trigger in range(3):
        rig.until(lambda status: status.ready_for_trigger)
        rig.engine.trigger()
        rig.until(lambda status, trigger=trigger: status.acquired == 2 * (trigger + 1))
    assert len(rig.series()[1]) == 6
    rig.until_state("idle")


def test_a_trigger_that_comes_too_early_is_refused_and_counts_nothing(rig: BoxRig) -> None:
    done(rig.engine.prepare(settings(exposure_time=30.0, trigger_mode=TriggerMode.SOFTWARE)))
    done(rig.engine.start())
    rig.engine.trigger()
    with pytest.raises(
        Refused, match="SoftwareTrigger 1 refused, the detector is still busy with the last one"
    ):
        rig.engine.trigger()
    assert rig.engine.status().triggered == 1


def test_triggers_in_another_mode_or_without_a_series_are_refused(rig: BoxRig) -> None:
    with pytest.raises(Refused, match="SoftwareTrigger refused: the detector is idle; Arm first"):
        rig.engine.trigger()
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI)
    with pytest.raises(Refused, match="TriggerMode is EXTERNAL_MULTI"):
        rig.engine.trigger()


def test_all_triggers_given_and_one_more(rig: BoxRig) -> None:
    rig.unit.faults.add("lose-end")
    rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=1)
    rig.engine.trigger()
    rig.until(lambda status: status.acquired == 1)
    rig.until(lambda status: not rig.engine._series.triggering)  # type: ignore[union-attr]
    with pytest.raises(Refused, match="all 1 triggers were given"):
        rig.engine.trigger()


def test_a_second_series_right_after(rig: BoxRig) -> None:
    ids = set()
    for _ in range(3):
        ids.add(rig.arm().series)
        assert len(rig.series()[1]) == 4
        rig.until_state("idle")
    assert len(ids) == 3 and [user.arm for user in rig.box.users if user] and len(rig.box.users) == 3


# Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI])
def test_stop_and_abort_leave_the_box_idle(rig: BoxRig, how: str, mode: TriggerMode) -> None:
    finishes = how == "stop" and mode is TriggerMode.INTERNAL  # the frame that runs
    done(rig.engine.prepare(settings(exposure_time=0.05 if finishes else 30.0, trigger_mode=mode)))
    done(rig.engine.start())
    rig.until(lambda status: status.armed)
    done(getattr(rig.engine, how)("the shutter closed"))
    status = rig.until_state("idle")
    assert status.message.startswith("the shutter closed")
    assert rig.box.state == "idle"
    assert rig.arm() and len(rig.series()[1]) <= finishes and len(rig.series()[1]) == 4


@pytest.mark.parametrize("how", ["stop", "abort"])
def test_an_end_while_the_box_is_being_armed(rig: BoxRig, how: str) -> None:
    rig.unit.faults.add("slow-arm")
    rig.prepare()
    armed = rig.engine.start()
    rig.until(lambda status: status.state == "acquiring" and not status.armed)
    done(getattr(rig.engine, how)())
    rig.box.go.set()
    with pytest.raises(Refused, match="while it was being armed"):
        done(armed)
    rig.until_state("idle")
    assert rig.box.state == "idle" and rig.box.user is None
    rig.unit.faults.clear()
    rig.series()
    rig.arm()
    assert len(rig.series()[1]) == 4


def test_the_end_is_waited_for_as_long_as_the_box_sends_frames(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "ENDED_WITHIN", 0.0)
    sent, sends, looks = count(), Flag(), Semaphore(0)
    sends.set()

    def look() -> Progress:
        looks.release()
        return Progress(state=BoxState.ARMED, acquired=100, sent=next(sent) if sends.is_set() else 100)

    rig.arm(trigger_mode=TriggerMode.SOFTWARE)
    monkeypatch.setattr(rig.unit, "progress", look)
    done(rig.engine.stop())
    for _ in range(4):
        assert looks.acquire(timeout=10.0)
    assert rig.engine.status().state == "ending"
    sends.clear()
    assert "its last frame was sent" in rig.until_state("fault").message


def test_the_counter_of_the_last_series_is_not_taken_for_that_of_one_that_is_being_armed(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.box.sent = 7
    rig.unit.faults.add("slow-arm")
    rig.prepare()
    armed = rig.engine.start()
    rig.until(lambda status: status.state == "acquiring" and not status.armed)
    looks, looked = Semaphore(0), rig.unit.progress

    def look() -> Progress:
        looks.release()
        return looked()

    monkeypatch.setattr(rig.unit, "progress", look)
    for _ in range(3):  # the second is over when the third begins
        assert looks.acquire(timeout=10.0)
    assert rig.engine.status().acquired is None
    rig.box.go.set()
    done(armed)
    rig.until(lambda status: status.acquired == 4)


def test_a_prepared_series_can_be_cancelled_and_prepared_again(rig: BoxRig) -> None:
    first = rig.prepare().series
    second = rig.prepare().series
    assert first != second
    done(rig.engine.cancel())
    assert rig.engine.status().state == "idle"
    with pytest.raises(Refused, match="is idle"):
        rig.engine.start()


def test_no_state_is_seen_without_the_time_at_which_it_began(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watcher judges by it, and is woken by the state."""
    begun: dict[Event, float] = {}
    made = rig.engine._machine
    fire = made.fire

    def observed(event: Event, cause: str, **more: Any) -> bool:
        series = rig.engine._series
        if series is not None:
            begun[event] = {Event.ARM: series.armed_at, Event.END: series.ended_at}.get(event, 0.0)
        return fire(event, cause, **more)

    monkeypatch.setattr(made, "fire", observed)
    rig.arm(trigger_mode=TriggerMode.SOFTWARE)
    done(rig.engine.abort())
    rig.until_state("idle")
    assert begun[Event.ARM] > 0.0 and begun[Event.END] > 0.0


@pytest.mark.parametrize(
    ("mode", "given", "after", "acquired", "dropped", "early"),
    [
        (TriggerMode.SOFTWARE, 1, 9.0, None, 0, True),  # one trigger was not given
        (TriggerMode.SOFTWARE, 2, 9.0, None, 0, False),
        (TriggerMode.SOFTWARE, 2, 0.1, None, 0, True),  # before the last one's frames can be there
        (TriggerMode.INTERNAL, 0, 0.5, None, 0, True),
        (TriggerMode.INTERNAL, 0, 1.0, None, 0, False),
        (TriggerMode.EXTERNAL, 0, 9.0, None, 0, None),
        (TriggerMode.EXTERNAL_MULTI, 0, 0.0, None, 0, None),
        (TriggerMode.EXTERNAL_MULTI, 0, 0.0, None, 1, False),  # the box has dropped some
        (TriggerMode.EXTERNAL_MULTI, 0, 0.0, None, None, False),
        (TriggerMode.EXTERNAL_MULTI, 0, 0.0, 5, None, True),
        (TriggerMode.EXTERNAL_MULTI, 0, 0.0, 6, None, False),
    ],
)
def test_whether_a_box_has_ended_a_series_early(
    mode: TriggerMode, given: int, after: float, acquired: int | None, dropped: int | None,
    early: bool | None,
) -> None:  # fmt: skip
    wanted = settings(trigger_mode=mode, n_triggers=2, n_frames_per_trigger=3, exposure_time=0.1)
    series = Series("a", wanted, FrameFormat(shape=(3, 4), dtype="uint16", frame_bytes=24), 6)
    series.software_triggers, series.acquired, series.triggered_at = given, acquired, 50.0
    assert series.ends_early(50.0 + after, 0.15, dropped) is early


# Settings -----------------------------------------------------------------------------------------


def test_the_values_are_those_of_the_box_and_never_our_defaults(rig: BoxRig) -> None:
    assert rig.engine.describe().values == VALUES
    assert rig.engine.describe().own_stream
    description = done(rig.engine.set({"Energy": 10000.0}))
    assert description.values == VALUES | {"Energy": 10000.0, "Threshold": 5000.0}
    assert description.limits["Threshold"].maximum == 10000.0


def test_what_the_box_lacks_is_not_there_and_is_refused(rig: BoxRig) -> None:
    del rig.box.values["Threshold"]
    done(rig.engine.reset())
    assert "Threshold" not in rig.engine.describe().values
    with pytest.raises(Refused, match="this detector has no Threshold"):
        rig.engine.check(settings(camera={"Threshold": 4000.0}))
    with pytest.raises(Refused, match="this detector has no Threshold"):
        rig.prepare(camera={"Threshold": 4000.0})
    rig.arm()
    rig.until(lambda status: status.end_sent)


def test_settings_that_take_long_are_a_state_and_keep_nothing_waiting(rig: BoxRig) -> None:
    rig.unit.faults.add("slow-set")
    answer = rig.engine.set({"Energy": 10000.0})
    assert rig.until_state("configuring").message == "Energy: the detector takes it over"
    with pytest.raises(Refused, match="Energy: the detector takes it over"):
        rig.engine.prepare(settings(camera={}))
    with pytest.raises(Refused, match="Energy"):
        rig.engine.set({"Threshold": 4100.0})
    rig.box.go.set()
    assert done(answer).values["Threshold"] == 5000.0
    rig.until_state("idle")


def test_what_the_box_refuses_is_said_and_what_it_has_is_shown(rig: BoxRig) -> None:
    rig.unit.faults.add("fail-set")
    with pytest.raises(Refused, match="the energy cannot be reached"):
        done(rig.engine.set({"Energy": 10000.0}))
    status = rig.until_state("idle")
    assert status.message == "Energy was not set: the energy cannot be reached"
    assert rig.engine.describe().values == VALUES


def test_a_value_that_the_box_has_already_is_not_sent(rig: BoxRig) -> None:
    rig.unit.faults.add("fail-set")
    assert done(rig.engine.set({"Energy": 8000.0})).values == VALUES


def test_wrong_values_are_refused_before_the_box_is_asked(rig: BoxRig) -> None:
    with pytest.raises(Refused, match="the greatest is 8000 eV"):
        rig.engine.set({"Threshold": 9000.0})
    with pytest.raises(Refused, match="Box has INTERNAL"):
        rig.engine.check(settings(trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, exposure_time=0.1))
    assert done(rig.engine.check(settings(exposure_time=0.1))).shape == (3, 4)


def test_prepare_that_fails_leaves_nothing_prepared(rig: BoxRig) -> None:
    rig.prepare()
    rig.unit.faults.add("fail-prepare")
    with pytest.raises(Refused, match=r"count_time is 0\.1 s in the box"):
        rig.prepare()
    assert rig.engine.status().state == "idle"


def test_announcing_is_the_boxs_own_affair(rig: BoxRig) -> None:
    with pytest.raises(Refused, match="announces its series itself"):
        rig.engine.announce()


# Faults -------------------------------------------------------------------------------------------


def test_what_the_box_has_lost_is_named_until_each_setting_was_written_and_no_series_begins(
    rig: BoxRig,
) -> None:
    done(rig.engine.set({"Energy": 9000.0}))
    done(rig.engine.set({"Threshold": 4321.0}))
    rig.box.values |= VALUES  # power off and on
    rig.unit.faults.add("uninitialised")
    rig.until_state("fault")
    done(rig.engine.reset())
    energy = "Energy was 9000, is 8000: write it again"
    threshold = "Threshold was 4321, is 4000: write it again"
    assert rig.until_state("idle").warning == f"{energy}; {threshold}"
    assert rig.box.values == VALUES, "nothing is written"
    done(rig.engine.reset())
    assert rig.until_state("idle").warning == f"{energy}; {threshold}"
    done(rig.engine.set({"Energy": 9000.0}))
    assert rig.engine.status().warning == threshold, "which has moved with the energy, and was lost before"
    for refused in (rig.prepare, lambda: rig.engine.check(settings())):
        with pytest.raises(Refused, match=f"the detector has lost settings: {threshold}"):
            refused()
    done(rig.engine.set({"Threshold": rig.box.values["Threshold"]}))  # as it is now
    assert rig.until_state("idle").warning == ""
    rig.arm()
    rig.until(lambda status: status.end_sent)


def test_what_a_reset_itself_sets_is_not_lost() -> None:
    lost = LostSettings(frozenset({"PowerChip"}))
    lost.wrote(["PowerChip", "HighVoltage"])
    lost.compare({"PowerChip": False, "HighVoltage": 90}, {"PowerChip": True, "HighVoltage": 0})
    assert lost.sentence == "HighVoltage was 90, is 0: write it again"


def test_what_was_never_written_here_and_what_is_as_it_was_is_not_lost(rig: BoxRig) -> None:
    done(rig.engine.set({"Energy": 9000.0}))
    rig.box.values["Threshold"] = 100.0
    done(rig.engine.reset())
    assert rig.until_state("idle").warning == ""
    rig.arm()


def test_a_box_that_refuses_to_be_armed_is_disarmed_and_keeps_no_user_part(rig: BoxRig) -> None:
    rig.unit.faults.add("fail-arm")
    rig.prepare()
    with pytest.raises(Refused, match="the box does not arm"):
        done(rig.engine.start())
    assert "the box does not arm (500)" in rig.until_state("idle").message
    assert rig.box.user is None and rig.box.users == []
    rig.unit.faults.clear()
    rig.arm()
    assert len(rig.series()[1]) == 4


def test_a_box_that_hangs_in_arm_is_a_fault_and_reset_is_refused_until_it_returns(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "ARMED_WITHIN", 0.2)
    rig.unit.faults.add("hang-arm")
    rig.prepare()
    rig.engine.start()
    assert "not armed within 0.2 s" in rig.until_state("fault").message
    with pytest.raises(Refused, match=r"has not returned from the last call \(arm\)"):
        rig.engine.reset()
    rig.box.go.set()
    done(rig.engine._box.ask(lambda: None))
    assert rig.box.state == "idle", "the arming that came too late is taken back"


def test_a_trigger_that_fails_is_a_fault(rig: BoxRig) -> None:
    rig.unit.faults.add("fail-trigger")
    rig.arm(trigger_mode=TriggerMode.SOFTWARE)
    rig.engine.trigger()
    assert "trigger 1: the box does not take the trigger" in rig.until_state("fault").message


@pytest.mark.parametrize("fault", ["lost", "uninitialised", "broken"])
@pytest.mark.parametrize("armed", [False, True], ids=["idle", "armed"])
def test_what_befalls_the_box_is_a_fault_that_reset_leaves(
    rig: BoxRig, fault: str, armed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "SILENT_FOR", 0.2)
    if armed:
        rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI)
    rig.unit.faults.add(fault)
    said = {"lost": "does not answer", "uninitialised": "Reset initialises it", "broken": "reports an error"}
    assert said[fault] in rig.until_state("fault").message
    if fault == "lost":
        rig.engine.reset()  # in vain
        assert said[fault] in rig.until_state("fault").message
        rig.unit.faults.clear()
    rig.until(lambda status: not rig.engine._busy)
    done(rig.engine.reset())
    rig.until_state("idle")
    assert rig.box.state == "idle"


def test_a_box_found_armed_is_somebody_elses_until_reset(make_rig: Callable[..., BoxRig]) -> None:
    rig = make_rig(FoundArmed=True)
    assert "was armed by somebody else; Reset disarms it" in rig.until_state("fault").message
    assert rig.box.state == "armed"
    with pytest.raises(Refused, match="armed by somebody else"):
        rig.engine.prepare(settings(camera={}))
    done(rig.engine.reset())
    rig.until_state("idle")
    assert rig.box.state == "idle"


def test_a_box_that_somebody_else_arms_in_between_is_noticed(rig: BoxRig) -> None:
    rig.box.send_start()
    assert "armed by somebody else" in rig.until_state("fault").message


def test_a_box_that_is_off_at_the_start_is_a_fault_and_is_found_later(
    make_rig: Callable[..., BoxRig],
) -> None:
    rig = make_rig()
    rig.until_state("idle")
    rig.unit.faults.add("lost")
    again = OwnStreamEngine(rig.unit, changed=rig.notify)
    with rig.changed:
        assert rig.changed.wait_for(lambda: again.status().state == "fault", DEADLINE)
    assert "does not answer; is it switched on" in again.status().message
    assert again.describe().values == {}, "nobody knows them yet"
    rig.unit.faults.clear()
    done(again.reset())
    assert again.status().state == "idle"
    assert again.describe().values == VALUES


def test_readings_come_once_it_is_reached(rig: BoxRig) -> None:
    assert rig.until(lambda status: bool(status.readings)).readings["Temperature"] == 31.5


def test_a_reading_that_is_not_answered_keeps_no_other_waiting_and_ends_nothing(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would wait for its own time-out, and meanwhile nobody would see that the box is lost."""
    rig.until_state("idle")
    asked: list[str] = []
    twice = Flag()

    def read(name: str) -> Value:
        asked.append(name)
        if len(asked) > 1:
            twice.set()
        raise BoxLost("no answer within 4 s")

    monkeypatch.setattr(rig.unit, "read", read)
    assert twice.wait(DEADLINE)
    assert set(asked) == {"Temperature"}, "TriggerAddress, the next one, has to wait for the next round"
    assert rig.engine.status().state == "idle"


# The table ----------------------------------------------------------------------------------------


def test_from_every_state_there_is_a_way_to_idle_and_a_fault_is_left_by_reset_alone() -> None:
    assert {event for state, event in TABLE if state is State.FAULT} == {Event.RESET}
    for state in State:
        reached, todo = {state}, [state]
        while todo:
            found = {after for (before, _), after in TABLE.items() if before is todo[-1]} - reached
            todo.pop()
            reached |= found
            todo += found
        assert State.IDLE in reached


# What the detector's file itself gets wrong ----------------------------------------------------------


def raising(error: Exception) -> Callable[..., Any]:
    """A call of the detector that raises."""

    def call(*_: object) -> Any:
        raise error

    return call


@pytest.mark.parametrize("call", ["connect", "apply", "prepare", "arm", "trigger", "progress"])
def test_whatever_a_call_raises_is_a_fault_that_reset_leaves(
    make_rig: Callable[..., BoxRig], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    deaths: list[bool] = []
    with monkeypatch.context() as wrong:
        if call == "connect":
            wrong.setattr(Box, call, raising(KeyError("count_time")))
        rig = make_rig(died=lambda: deaths.append(True))
        if call != "connect":
            rig.until_state("idle")
            wrong.setattr(Box, call, raising(KeyError("count_time")))
            if call == "apply":
                with pytest.raises(KeyError):
                    done(rig.engine.set({"Energy": 9000.0}))
            elif call in ("prepare", "arm"):
                with pytest.raises(KeyError):
                    rig.arm()
            elif call == "trigger":
                rig.arm()
        message = rig.until_state("fault").message
        assert "KeyError: 'count_time'" in message
        assert "trigger 0" not in message, "nobody has given a trigger in INTERNAL mode"
    done(rig.engine.reset())
    assert rig.until_state("idle").state == "idle"
    series = rig.arm().series
    while (received := rig.series())[0].header.series != series:
        pass  # what was armed before the reset
    assert len(received[1]) == 4
    assert deaths == []


def test_a_box_that_is_lost_after_it_has_refused_a_setting_is_a_fault(
    rig: BoxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lost:
        lost.setattr(rig.unit, "values", raising(BoxLost("the box does not answer")))
        rig.unit.faults = {"fail-set"}
        with pytest.raises(Refused):
            done(rig.engine.set({"Energy": 9000.0}))
        message = rig.until_state("fault").message
        assert "the energy cannot be reached" in message
        assert "the box does not answer" in message
    rig.unit.faults = set()
    done(rig.engine.reset())
    rig.until_state("idle")


def test_the_first_cause_of_a_fault_stands() -> None:
    made = machine(lambda: None)
    made.fire(Event.FAIL, "the box does not answer")
    assert not made.fire(Event.FAIL, "trigger 1: the box does not answer")
    assert (made.state, made.message) == (State.FAULT, "the box does not answer")
