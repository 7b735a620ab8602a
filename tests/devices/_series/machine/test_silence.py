"""What a side that does not answer leads to: its series goes on while frames may still arrive."""

from __future__ import annotations

import pytest

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import SeriesState
from penstock.receiver.models import Status
from penstock.streamer.camera.settings import TriggerMode
from tests.devices._series.beamside import (
    HeldClock,
    StandInBox,
    StandInLink,
    StandInReceiver,
    StandInStreamer,
)
from tests.devices._series.test_control import DAY, LIMITS, Loop, settings

ENDED = (SeriesState.FAILING, SeriesState.FAULT)


class Remote(Loop):
    """A loop whose streamer is on another host; with `own_stream` the detector streams by itself."""

    def __init__(self, *, own_stream: bool = False) -> None:
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.streamer = (StandInBox if own_stream else StandInStreamer)(self.receiver)
        self.link = StandInLink(self.streamer)
        self.link.restartable = False
        self.control = SeriesControl(self.link, self.receiver, clock=self.clock, limits=LIMITS)  # type: ignore[arg-type]
        self.control.step()
        self.observe()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def remote() -> Remote:
    return Remote()


@pytest.fixture
def box() -> Remote:
    return Remote(own_stream=True)


def test_between_series_a_receiver_that_does_not_answer_is_said_after_two_seconds(
    loop: Loop, box: Remote
) -> None:
    for each in (loop, box):
        each.receiver.away = True
        each.wait(1.9)
        assert each.control.view.status == "Ready."
        each.wait(0.3)
        assert each.control.view.status == "Ready, but receiver away"
        each.receiver.away = False
        each.wait(0.1)
        assert each.control.view.status == "Ready."


def test_between_series_a_receiver_in_error_is_said_with_what_resets_it(loop: Loop, box: Remote) -> None:
    for each in (loop, box):
        each.receiver.state, each.receiver.error = "error", "the disk is full"
        each.wait(0.1)
        assert each.control.view.status == (
            "Ready, but the receiver is in error: the disk is full; RestartReceiver resets it"
        )


@pytest.mark.parametrize("refused", [False, True])
def test_a_series_goes_on_while_the_silent_receiver_is_connected(loop: Loop, refused: bool) -> None:
    loop.control.arm(settings(3, TriggerMode.INTERNAL))
    loop.receiver.away, loop.receiver.refused = True, refused
    loop.wait(20.0)
    assert loop.control.view.warning == (
        "The receiver has not answered for 20 s. It is still connected to the streamer, and the series goes "
        "on."
    )
    loop.wait(DAY)
    assert loop.state is SeriesState.TAKING
    loop.receiver.away = False
    loop.frame()
    loop.wait(0.1)
    assert loop.control.view.warning == ""
    assert loop.state is SeriesState.TAKING


def test_a_receiver_that_lost_its_connection_and_does_not_refuse_has_its_timeout(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver.away = True
    loop.streamer.say(peers=0)
    loop.wait(LIMITS.receiver_timeout - 0.2)
    assert loop.state is SeriesState.TAKING
    assert loop.control.view.warning == "The receiver has not answered for 30 s. It is given up after 30 s."
    loop.wait(0.5)
    assert loop.state in ENDED


def test_a_receiver_that_is_back_in_time_has_lost_nothing(loop: Loop) -> None:
    loop.control.arm(settings(10))
    loop.receiver_dies()
    loop.wait(LIMITS.receiver_gone - 0.2)
    loop.receiver.away = False
    loop.streamer.say(peers=1)
    loop.wait(60.0)
    assert loop.state is SeriesState.TAKING


def test_a_receiver_that_is_updated_or_moves_is_waited_for_as_long_as_the_property_says() -> None:
    loop = Loop(limits=WatchdogLimits.of(timeout=30.0, away=60.0))
    loop.control.arm(settings(10))
    loop.receiver_dies()
    loop.wait(59.0)
    assert loop.state is SeriesState.TAKING
    assert loop.control.view.warning == (
        "The receiver has not answered for 59 s. Nobody listens at its address; it is given up after 60 s "
        "(property ReceiverAway)."
    )
    loop.wait(1.5)
    assert loop.state in ENDED


def test_a_receiver_that_waits_for_another_one_to_end_is_waited_for_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(limits=WatchdogLimits.of(timeout=30.0, away=60.0))
    loop.control.arm(settings(10))
    says = "receiver sim-1 waits for that of process 4711 on daq-2"
    with monkeypatch.context() as other:
        other.setattr(loop.receiver, "snapshot", lambda: Status(state="idle", waits_for=says))
        loop.wait(59.0)
        assert (loop.state, loop.control.view.warning) == (SeriesState.TAKING, says)
    loop.wait(5.0)
    assert (loop.state, loop.control.view.warning) == (SeriesState.TAKING, "")
    monkeypatch.setattr(loop.receiver, "snapshot", lambda: Status(state="idle", waits_for=says))
    loop.wait(61.0)
    assert loop.state in ENDED


def test_a_file_whose_closing_nobody_tells_of_is_not_waited_for_for_ever(loop: Loop) -> None:
    loop.control.arm(settings(1))
    loop.frame()
    loop.streamer.say(state="idle", end_sent=True)
    loop.receiver.away = True
    loop.wait(LIMITS.receiver_timeout - 0.2)
    assert loop.state is SeriesState.CLOSING
    assert loop.receiver.stops == [], "no limit runs that needs its answers"
    loop.wait(0.5)
    assert loop.state in ENDED


@pytest.mark.parametrize(
    ("refused", "limit"), [(True, LIMITS.receiver_refuses), (False, LIMITS.receiver_timeout)]
)
def test_the_receiver_of_a_box_whose_connection_nobody_sees(box: Remote, refused: bool, limit: float) -> None:
    box.control.arm(settings(10))
    box.receiver.away, box.receiver.refused = True, refused
    box.wait(limit - 0.2)
    assert box.state is SeriesState.TAKING
    box.wait(0.5)
    assert box.state in ENDED


def test_a_remote_streamer_behind_an_interrupted_network_goes_on(remote: Remote) -> None:
    remote.control.arm(settings(10))
    remote.streamer.fall_silent()
    remote.wait(12.0)
    assert remote.state is SeriesState.TAKING
    assert remote.control.view.warning == (
        "The streamer has not answered for 12 s: is the network interrupted? It is given up after 30 s."
    )
    remote.streamer.say()
    remote.frame()
    assert remote.control.view.warning == ""
    assert remote.streamer.calls.count("abort") == 0


def test_a_series_that_ends_meanwhile_is_as_complete_as_the_streamer_says_later(remote: Remote) -> None:
    remote.control.arm(settings(1))
    remote.streamer.fall_silent()
    remote.receiver.take(1)
    remote.receiver.end()
    remote.wait(20.0)
    assert remote.state is SeriesState.TAKING
    remote.streamer.say(state="idle", acquired=1, sent=1, end_sent=True)
    remote.wait(0.2)
    assert remote.state is SeriesState.IDLE
    assert "1 of 1 frame stored" in remote.sentence


def test_between_series_it_is_said_too_and_is_no_fault(remote: Remote) -> None:
    remote.streamer.fall_silent()
    remote.wait(5.0)
    assert remote.state is SeriesState.IDLE
    assert "has not answered for 5 s" in remote.control.view.warning
    remote.streamer.say()
    remote.wait(0.1)
    assert remote.control.view.warning == ""


def test_a_host_that_vanished_is_given_up_before_the_receiver_notices(remote: Remote) -> None:
    remote.control.arm(settings(10))
    remote.streamer.fall_silent()
    remote.wait(LIMITS.streamer_timeout + 0.5)
    assert remote.state in ENDED


def test_a_remote_streamer_whose_connection_is_closed_is_dead_at_once(remote: Remote) -> None:
    remote.control.arm(settings(10))
    remote.receiver.connections = 0
    remote.observe()
    remote.streamer.fall_silent()
    remote.control.step()
    assert remote.state in ENDED


def test_a_network_between_box_and_receiver_is_said(box: Remote) -> None:
    box.control.arm(settings(10))
    box.receiver.silent_seconds = 9
    box.wait(0.1)
    assert "has not answered the receiver for 9 s" in box.control.view.warning
    assert box.state is SeriesState.TAKING


def test_between_series_the_trouble_of_a_camera_is_shown_until_it_is_over(loop: Loop) -> None:
    loop.wait(0.1)
    loop.streamer.say(warning="Camera 7 does not answer; see its cable")
    loop.wait(2.0)
    assert loop.control.view.status == "Ready. Camera 7 does not answer; see its cable."
    assert loop.state is SeriesState.IDLE
    loop.streamer.say(warning="")
    loop.wait(2.0)
    assert loop.control.view.status == "Ready."


def test_the_trouble_of_a_camera_is_shown_in_a_series_that_waits_for_a_trigger(loop: Loop) -> None:
    loop.control.arm(settings(3, trigger_mode=TriggerMode.SOFTWARE))
    loop.streamer.say(warning="Camera 7 does not answer; see its cable")
    loop.wait(0.1)
    assert loop.control.view.warning == "Camera 7 does not answer; see its cable."
    assert loop.state is SeriesState.TAKING


def test_between_series_of_a_box_a_warning_of_its_own_stays(box: Remote) -> None:
    box.wait(0.1)
    box.control.record.entered()
    box.streamer.say(warning="Energy was 9000, is 8047.78: write it again")
    box.wait(2.0)
    assert "write it again" in box.control.view.warning
    assert len(box.control.record.entered()) == 1, "it is said once"
