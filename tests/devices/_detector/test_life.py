"""What Init and its like leave of a device object: the series ended, and what the next object takes over."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import pytest

from penstock.devices._detector import life as module
from penstock.devices._detector.life import Life
from penstock.devices._series.machine import events
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.record import SeriesRecord
from tests.devices._series.beamside import HeldClock
from tests.devices._series.test_arm_box import BoxLoop
from tests.devices._series.test_control import Loop, settings
from tests.system.beamline import until

DEVICE = "Lab/Det/1"
ENDED = "1 of 3 frames stored in /data/x.h5, 2 not triggered: ended by Init."


class Publisher:
    """The thread that calls `step`; it has ended once the test lets it."""

    def __init__(self) -> None:
        self.stopped = False
        self.ended = threading.Event()
        self.ended.set()

    def stop(self) -> None:
        self.stopped = True

    def join(self, seconds: float) -> None:
        assert self.ended.wait(seconds)


class Closed:
    """Something with connections."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Ending:
    """A device object in a loop, and the record of the next one."""

    def __init__(self, loop: Loop, life: Life | None = None) -> None:
        self.loop = loop
        self.life = life or Life(DEVICE)
        self.publisher, self.connection = Publisher(), Closed()
        self.next = SeriesRecord(HeldClock(), lambda: None)
        self.next_life = self.life

    def end(self, how: str = "Init") -> None:
        self.life.end(how, self.loop.control, self.publisher, [self.connection])  # type: ignore[arg-type]
        self.next_life = Life(DEVICE.upper())

    def close_file(self) -> None:
        """The streamer has aborted, and the receiver closes the file."""
        self.loop.streamer.say(state="idle", end_sent=True)
        self.loop.receiver.end("1 of 3 frames: 2 not triggered; ended by abort: Init")
        self.loop.observe()

    @property
    def may_connect(self) -> bool:
        return self.next_life.may_connect(self.next)


@pytest.fixture(autouse=True)
def _process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of its own for each test."""
    monkeypatch.setattr(module, "_lives", {})
    monkeypatch.setattr(module, "PACE", 0.001)


@pytest.fixture
def ending() -> Ending:
    ending = Ending(Loop())
    ending.loop.control.arm(settings(3))
    ending.loop.frame()
    return ending


def test_the_first_object_of_a_device_waits_for_nobody() -> None:
    record = SeriesRecord(HeldClock(), lambda: None)
    assert Life(DEVICE).may_connect(record) and Life("lab/other/1").may_connect(record)
    assert record.view.status == "The streamer is being started."


def test_the_next_object_waits_for_the_closed_file_and_says_how_the_series_ended(ending: Ending) -> None:
    ending.end()
    assert ending.publisher.stopped and ending.loop.streamer.calls[-1] == "abort"
    assert not ending.may_connect
    assert ending.next.view.note == "Init is ending the series; the receiver closes /data/x.h5."
    assert [view.note for view in ending.next.entered()] == [ending.next.view.note], "and never less"
    ending.loop.streamer.say(state="idle", end_sent=True)
    until(lambda: ending.loop.state is SeriesState.CLOSING, "the end was sent")
    assert not ending.may_connect and not ending.connection.closed
    ending.close_file()
    until(lambda: ending.may_connect, "over")
    assert ending.connection.closed
    assert ending.next.view.note == f"Last series: {ENDED}"
    said = json.loads(ending.next.view.last_series)
    assert (said["verdict"], said["complete"], said["series"]) == (ENDED, False, "series-1")
    assert said["counts"]["stored"] == 1 and said["counts"]["not_triggered"] == 2
    assert [view.note for view in ending.next.entered()][-1] == f"Last series: {ENDED}"


def test_the_last_round_of_its_publisher_is_waited_for(ending: Ending) -> None:
    ending.publisher.ended.clear()
    ending.end()
    ending.close_file()
    time.sleep(0.05)  # in which nobody else may look after the series
    assert ending.loop.state is SeriesState.STOPPING and not ending.may_connect
    ending.publisher.ended.set()
    until(lambda: ending.may_connect, "over")


def test_a_file_that_is_not_closed_in_time_is_said(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSED_WITHIN", 0.05)
    ending.end()
    until(lambda: ending.may_connect, "over")
    why = "ended by Init; the receiver has not closed the file within 0.05 s"
    verdict = f"1 of 3 frames stored in /data/x.h5, 2 pending: {why}."
    assert ending.next.view.note == f"Last series: {verdict}"
    assert json.loads(ending.next.view.last_series)["complete"] is False


def test_a_second_init_keeps_what_the_first_has_left(ending: Ending) -> None:
    ending.end()
    second = Ending(Loop(), ending.next_life)
    second.end("DevRestart")
    assert not second.may_connect, "the first is not over"
    ending.close_file()
    until(lambda: second.may_connect, "over")
    assert second.next.view.note == f"Last series: {ENDED}"
    assert json.loads(second.next.view.last_series)["verdict"] == ENDED


def test_without_a_series_the_last_one_stays_and_arm_takes_the_note_away(ending: Ending) -> None:
    loop = ending.loop
    loop.control.stop()
    ending.close_file()
    loop.wait(0.1)
    last = loop.control.view.last_series
    assert json.loads(last)["series"] == "series-1"
    loop.control.record.remember(last, "Last series: as it was.")
    ending.end()
    until(lambda: ending.may_connect, "over")
    assert ending.next.view.last_series == last
    assert ending.next.view.status == "The streamer is being started. Last series: as it was."
    ending.next.facts = replace(ending.next.facts, view=replace(ending.next.view, state=SeriesState.IDLE))
    ending.next.handle(events.Arm(settings(3), ""))
    assert ending.next.view.note == ""


def test_an_arm_that_init_has_ended_leaves_the_series_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.devices._series.arm_steps.ARM_LIMIT", 0.01)
    loop = BoxLoop()
    ending = Ending(loop)
    held = loop.hold("prepare")
    loop.control.arm(settings(3))
    assert loop.state is SeriesState.ARMING
    ending.end()
    held.set()
    until(lambda: ending.may_connect, "over")
    assert ending.next.view.note == "Init has ended the last Arm before the detector took triggers."
    assert ending.next.view.last_series == ""


def test_an_object_that_init_has_ended_is_told_nothing_any_more(ending: Ending) -> None:
    heard: list[int] = []
    tell = ending.life.guarded(heard.append)
    tell(1)
    ending.end()
    tell(2)
    assert heard == [1]


def test_at_the_end_of_the_process_the_streamer_is_ended_at_once(ending: Ending) -> None:
    ending.end("")
    assert ending.connection.closed and "abort" not in ending.loop.streamer.calls
    assert ending.may_connect
