"""The model behind a panel: edits, actions, the file's number, and a device that comes and goes."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.gui.model import detector
from penstock.gui.model.actions import Action
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.files.next_file import FileName
from penstock.gui.model.log import Kind
from penstock.gui.model.tango import calls
from penstock.gui.model.texts.sentences import message, stop_question
from penstock.gui.model.view import DetectorView, Presence
from tests.gui.model.stand_in import StandInDevice

NAME = "sim/det/1"


class Followed:
    """A model, its device, and a way to wait for what a snapshot says."""

    def __init__(self) -> None:
        self.device = StandInDevice()
        self.model = DetectorModel(NAME, self.device)
        self.watch()

    def watch(self) -> None:
        """Begin to follow the device."""
        self._changed = threading.Condition()
        self.model.on_change(self._on_change)
        self.model.start()

    def _on_change(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[DetectorView], object], seconds: float = 5.0) -> DetectorView:
        """Wait until a snapshot is as wanted."""
        end = time.monotonic() + seconds
        with self._changed:
            while not holds(view := self.model.view()):
                assert self._changed.wait(end - time.monotonic()), f"this never came: {view}"
        return view

    def texts(self, kind: Kind) -> list[str]:
        return [entry.text for entry in self.model.log.since() if entry.kind is kind]


@pytest.fixture
def followed() -> Iterator[Followed]:
    one = Followed()
    yield one
    one.model.stop()


def armed(one: Followed, series: str = "series-1") -> None:
    """What a device says when Arm has succeeded."""
    one.device.on_command["Arm"] = lambda: setattr(one.device, "state", "RUNNING")
    one.model.do(Action.ARM)
    one.until(lambda view: view.state == "RUNNING")
    one.device.say(SeriesId=series, FileWritten="/data/scan_0001.h5", Status="Taking 10 frames.")


# -- a device that comes and goes ------------------------------------------------------------------


def test_it_starts_when_nothing_is_there_and_says_what_it_waits_for(followed: Followed) -> None:
    assert message(followed.model.view()).title == "WAITING"
    followed.device.vanish("The Tango database at db:10000 does not answer. Is it running?")
    view = followed.model.view()
    assert view.presence is Presence.WAITED_FOR
    assert "db:10000" in message(view).text
    assert all(view.allowed.values())


def test_what_was_said_last_stays_while_it_is_away_and_nothing_may_be_done(followed: Followed) -> None:
    followed.device.appear(ExposureTime=0.25)
    followed.device.vanish()
    view = followed.model.view()
    assert view.presence is Presence.AWAY
    assert view.text("ExposureTime") == "0.25"
    assert message(view).text.startswith("Away since ")
    assert set(view.allowed.values()) == {"The device does not answer."}
    followed.device.appear(ExposureTime=0.5)
    assert followed.model.view().here
    assert followed.model.view().text("ExposureTime") == "0.5"


def test_it_ends_with_no_thread_left() -> None:
    before = set(threading.enumerate())
    one = Followed()
    one.device.appear()
    one.until(lambda view: view.check is not None)
    one.model.stop()
    assert one.device.stopped
    end = time.monotonic() + 2.0  # a timer that was cancelled takes a moment
    while left := [thread for thread in threading.enumerate() if thread not in before]:
        left[0].join(end - time.monotonic())
        assert time.monotonic() < end, left


# -- edits -------------------------------------------------------------------------------------------


def test_an_event_does_not_overwrite_what_is_typed(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("ExposureTime", "0.3")
    followed.device.say(ExposureTime=0.7)
    view = followed.model.view()
    assert view.text("ExposureTime") == "0.3"
    assert view.values["ExposureTime"] == 0.7
    assert followed.device.written == []
    followed.model.discard("ExposureTime")
    assert followed.model.view().text("ExposureTime") == "0.7"


def test_enter_writes_with_the_unit_that_was_typed(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("ExposureTime", "20 ms")
    followed.model.write("ExposureTime")
    view = followed.until(lambda view: not view.edits)
    assert followed.device.written == [("ExposureTime", 0.02)]
    assert view.values["ExposureTime"] == 0.02
    assert "Exposure time: 0.1 s → 0.02 s" in followed.texts(Kind.DONE)


def test_what_is_no_value_is_said_at_once_and_never_written(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("nTriggers", "ten")
    assert "no number" in followed.model.view().edits["nTriggers"].problem
    followed.model.set("ExposureTime", "0.2")
    followed.model.write("nTriggers")
    followed.until(lambda view: "ExposureTime" not in view.edits)
    assert followed.device.written == [("ExposureTime", 0.2)]


def test_a_refused_write_keeps_what_was_typed_and_says_why(followed: Followed) -> None:
    followed.device.appear()
    followed.device.refuse["FrameTime"] = "a frame time of 1 s is shorter than ExposureTime + ReadoutTime"
    followed.model.set("FrameTime", "1")
    view = followed.until(lambda view: view.edits.get("FrameTime") and view.edits["FrameTime"].problem)
    assert "shorter than" in view.edits["FrameTime"].problem
    assert view.text("FrameTime") == "1"


def test_typing_back_what_the_device_has_is_no_edit(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("ExposureTime", "0.15")
    followed.model.edit("ExposureTime", "0.1")
    assert followed.model.view().edits == {}


# -- actions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "possible"),
    [
        ({"State": "ON"}, {Action.ARM, Action.LIVE, Action.RESTART_RECEIVER}),
        ({"State": "MOVING"}, {Action.STOP, Action.ABORT}),
        ({"State": "RUNNING"}, {Action.STOP, Action.ABORT}),
        (
            {"State": "RUNNING", "TriggerMode": "SOFTWARE", "ReadyForSwTrigger": True},
            {Action.STOP, Action.ABORT, Action.TRIGGER},
        ),
        ({"State": "RUNNING", "TriggerMode": "SOFTWARE"}, {Action.STOP, Action.ABORT}),
        ({"State": "FAULT"}, {Action.RESET, Action.RESTART_RECEIVER}),
        ({"State": "INIT"}, set()),
    ],
)
def test_each_action_is_possible_only_where_it_makes_sense(
    followed: Followed, values: dict[str, str | bool], possible: set[Action]
) -> None:
    followed.device.appear(**values)
    allowed = followed.model.view().allowed
    assert {action for action in Action if not allowed[action]} == possible


def test_arm_writes_what_is_pending_first(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("nTriggers", "25")
    followed.model.edit("ExposureTime", "5 ms")
    armed(followed)
    assert dict(followed.device.written) == {"nTriggers": 25, "ExposureTime": 0.005}
    assert followed.device.called == ["Arm"]


def test_arm_waits_for_what_is_being_written(followed: Followed) -> None:
    followed.device.appear()
    followed.device.hold("ExposureTime")
    followed.model.edit("ExposureTime", "0.3")
    followed.model.write("ExposureTime")
    followed.until(lambda view: view.edits["ExposureTime"].writing)
    followed.model.do(Action.ARM)
    followed.until(lambda view: view.busy is Action.ARM)
    assert followed.device.called == []
    followed.device.release("ExposureTime")
    followed.until(lambda view: view.busy is None)
    assert (followed.device.written, followed.device.called) == ([("ExposureTime", 0.3)], ["Arm"])


def test_an_event_that_overtakes_the_answer_to_a_write_is_what_is_shown(followed: Followed) -> None:
    followed.device.appear()
    followed.device.hold("PhotonFlux")
    followed.model.set("PhotonFlux", "2e6")
    followed.until(lambda view: view.edits["PhotonFlux"].writing)
    followed.device.say(PhotonFlux=3e6)
    followed.device.release("PhotonFlux")
    assert followed.until(lambda view: not view.edits).values["PhotonFlux"] == 3e6


def test_arm_is_not_called_while_something_typed_is_no_value(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("nTriggers", "-3")
    followed.model.do(Action.ARM)
    view = followed.until(lambda view: view.notice)
    assert "Arm was not called: Triggers" in view.notice
    assert followed.device.called == []


def test_two_clicks_arm_once(followed: Followed) -> None:
    followed.device.appear()
    followed.device.hold("Arm")
    followed.model.do(Action.ARM)
    followed.model.do(Action.ARM)
    assert followed.model.view().busy is Action.ARM
    followed.device.on_command["Arm"] = lambda: setattr(followed.device, "state", "RUNNING")
    followed.device.release("Arm")
    followed.until(lambda view: view.busy is None)
    followed.model.do(Action.ARM)
    assert followed.device.called == ["Arm"]


def test_abort_overtakes_an_arm_that_is_waited_for(followed: Followed) -> None:
    followed.device.appear()
    followed.device.hold("Arm")
    followed.model.do(Action.ARM)
    followed.device.say(State="MOVING", Status="Arming.")
    done = threading.Event()
    followed.device.on_command["Abort"] = done.set
    followed.model.do(Action.ABORT)
    assert done.wait(5.0)
    followed.device.release("Arm")


def test_a_refused_arm_is_said_until_the_next_action(followed: Followed) -> None:
    followed.device.appear()
    followed.device.refuse["Arm"] = "/data/scan_0001.h5 exists already; choose another name"
    followed.model.do(Action.ARM)
    view = followed.until(lambda view: view.notice and view.busy is None)
    assert "exists already" in view.notice
    assert any("exists already" in text for text in followed.texts(Kind.TROUBLE))
    del followed.device.refuse["Arm"]
    followed.model.do(Action.LIVE)
    followed.until(lambda view: not view.notice)


# -- whose series it is --------------------------------------------------------------------------------


def test_the_own_series_is_stopped_without_a_question(followed: Followed) -> None:
    followed.device.appear(SeriesId="old")
    armed(followed)
    view = followed.until(lambda view: view.own)
    assert stop_question(view) == ""


def test_losses_of_a_running_series_are_lines_of_the_log(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detector, "LOSSES_EVERY", 0.0)
    followed.device.appear()
    followed.device.say(State="RUNNING", SeriesId="s1", nFramesPlanned=1000, nFramesMissing=2)
    followed.device.say(nFramesMissing=1200, nFramesCorrupt=1)
    followed.until(lambda view: view.account.lost == 1201)
    lines = [text for text in followed.texts(Kind.TROUBLE) if "so far" in text]
    assert lines == [
        "Lost of the running series: 2 missing so far.",
        "Lost of the running series: 1,200 missing, 1 corrupt so far.",
    ]


def test_a_series_armed_by_another_window_of_this_program_is_its_own(followed: Followed) -> None:
    followed.device.appear()
    client = f"Python or C++ client, PID {os.getpid()} on {socket.gethostname()}.lab.example"
    followed.device.say(State="RUNNING", SeriesId="series-9", ArmedBy=client, Status="Taking 3 frames.")
    view = followed.until(lambda view: view.state == "RUNNING" and view.own)
    assert stop_question(view) == ""
    assert message(view).text == "Taking 3 frames."


def test_a_series_armed_elsewhere_is_shown_as_such_and_stop_asks(followed: Followed) -> None:
    followed.device.appear()
    who = "Python client, PID 7 on spock-1"
    followed.device.say(SeriesId="other", ArmedBy=who, Status="Taking 5 frames.", State="RUNNING")
    view = followed.model.view()
    assert not view.own
    assert who in stop_question(view)
    assert message(view).text == f"Taking 5 frames. Armed by {who}."


def test_an_arm_that_was_refused_does_not_make_the_next_series_ours(followed: Followed) -> None:
    followed.device.appear()
    followed.device.refuse["Arm"] = "no"
    followed.model.do(Action.ARM)
    followed.until(lambda view: view.notice and view.busy is None)
    followed.device.say(SeriesId="other", State="RUNNING")
    assert not followed.model.view().own


def test_what_was_typed_for_a_setting_that_is_gone_keeps_nobody_from_arming(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit("Pattern", "ramp")
    followed.model.edit("nTriggers", "12")
    followed.device.vanish()
    followed.device.appear_without("Pattern")
    armed(followed)
    assert followed.device.written == [("nTriggers", 12)]
    assert any("Pattern ramp: not written" in text for text in followed.texts(Kind.TROUBLE))


# -- the file's number -----------------------------------------------------------------------------------


def ended(one: Followed, series: str, file: str = "/data/scan_0001.h5") -> None:
    last = {"series": series, "file": file, "complete": True, "verdict": "Ready. 10 of 10 frames stored."}
    one.device.say(LastSeries=json.dumps(last))
    one.device.say(Status="Ready.", State="ON")


def test_the_number_goes_up_once_the_series_of_this_panel_has_its_file(followed: Followed) -> None:
    followed.device.appear()
    armed(followed)
    ended(followed, "series-1")
    followed.until(lambda view: view.values["DestinationFilename"] == "/data/scan_0002.h5")
    assert followed.model.file_name().number == 2
    assert "Ready. 10 of 10 frames stored." in followed.texts(Kind.SERIES)


def test_the_number_goes_up_after_a_series_that_ends_before_its_events_come(followed: Followed) -> None:
    followed.device.appear()

    def arm() -> None:
        followed.device.say(State="MOVING", SeriesId="series-1")
        followed.device.state = "ON"  # when it is asked; the events are on their way

    followed.device.on_command["Arm"] = arm
    followed.model.do(Action.ARM)
    followed.until(lambda view: view.state == "ON" and view.busy is None and view.own)
    ended(followed, "series-1")
    followed.until(lambda view: view.values["DestinationFilename"] == "/data/scan_0002.h5")
    assert "ON: Ready." in followed.texts(Kind.STATE)


def test_the_number_stays_where_it_shall_and_after_others_series(followed: Followed) -> None:
    followed.device.appear()
    followed.device.say(SeriesId="other", State="RUNNING")
    ended(followed, "other")
    followed.model.set_counts_up(False)
    armed(followed)
    ended(followed, "series-1")
    followed.until(lambda view: view.check is not None)
    followed.model.stop()
    assert followed.device.written == []


# -- Check ---------------------------------------------------------------------------------------------


def test_check_is_asked_once_settings_have_changed_and_not_while_a_series_runs(followed: Followed) -> None:
    followed.device.appear()
    assert followed.until(lambda view: view.check is not None).check.ok  # type: ignore[union-attr]
    followed.device.check = {"ok": False, "kind": "file_exists", "sentence": "scan_0001.h5 exists already"}
    followed.device.say(nTriggers=11)
    view = followed.until(lambda view: view.check is not None and not view.check.ok)
    assert view.check is not None
    assert view.check.kind == "file_exists"
    followed.device.vanish()
    assert followed.model.view().check is None


# -- the file's name in three parts ------------------------------------------------------------------


def test_what_the_user_means_by_a_name_is_kept(followed: Followed) -> None:
    followed.device.appear(DestinationFilename="/data/x.h5")
    fixed = FileName("/data", "ceo2_100.h5", 1)
    followed.model.edit_file(fixed)
    assert followed.model.file_name() == fixed
    followed.model.write("DestinationFilename")
    followed.until(lambda view: view.values["DestinationFilename"] == "/data/ceo2_100.h5" and not view.edits)
    assert followed.model.file_name() == fixed
    followed.device.say(DestinationFilename="/data/ceo2_101.h5")  # somebody else: nobody knows what is meant
    assert followed.model.file_name() == FileName("/data", "ceo2_###.h5", 101)


def test_a_name_that_is_none_is_not_written(followed: Followed) -> None:
    followed.device.appear()
    followed.model.edit_file(FileName("/data", "a/b.h5"))
    assert "without" in followed.model.view().edits["DestinationFilename"].problem
    followed.model.do(Action.ARM)
    followed.until(lambda view: "a/b.h5" in view.notice and view.busy is None)
    assert followed.device.written == followed.device.called == []


def test_it_starts_once(followed: Followed) -> None:
    assert followed.model.start() is False  # the fixture did


def test_a_receiver_that_goes_away_is_what_arm_would_say(followed: Followed) -> None:
    followed.device.appear()
    followed.until(lambda view: view.check is not None and view.check.ok)
    followed.device.check.update(ok=False, kind="unavailable", sentence="the receiver does not answer")
    followed.device.say(ReceiverQueue=None)
    followed.until(lambda view: view.check is not None and not view.check.ok)
    followed.device.check.update(ok=True, sentence="")
    followed.device.say(ReceiverQueue=0.0)
    followed.until(lambda view: view.check is not None and view.check.ok)


@pytest.fixture
def asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "ASK_AGAIN", 0.05)


@pytest.mark.parametrize("kind", ["unavailable", "not_connected", "other_consumer"])
def test_a_refusal_that_may_pass_is_asked_again_without_an_event(
    asked_again_soon: None, followed: Followed, kind: str
) -> None:
    followed.device.check.update(ok=False, kind=kind, sentence="the receiver does not answer within 0.5 s")
    followed.device.appear()
    followed.until(lambda view: view.check is not None and view.check.kind == kind)
    followed.device.check.update(ok=True, kind="", sentence="")
    followed.until(lambda view: view.check is not None and view.check.ok)
