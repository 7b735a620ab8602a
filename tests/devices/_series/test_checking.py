"""Check says what Arm would say, asks no more than Arm, and leaves everything as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.devices._series.checking import SHARED, Answer
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import live_settings
from penstock.receiver.client import ReceiverRefused
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.remote.client import StreamerUnavailable
from tests.devices._series.beamside import refused
from tests.devices._series.test_control import Loop, settings


@pytest.fixture
def loop() -> Loop:
    loop = Loop()
    loop.receiver.takes = 0.2
    return loop


def camera_refuses(loop: Loop) -> None:
    loop.streamer.refuses = {"check": refused("camera", "no"), "prepare": refused("camera", "no")}


def streamer_silent(loop: Loop) -> None:
    silence = StreamerUnavailable("the streamer did not answer")
    loop.streamer.refuses = {"check": silence, "prepare": silence}


def file_exists(loop: Loop) -> None:
    loop.receiver.check_refuses = ReceiverRefused("file_exists", "x.h5 exists")


def receiver_away(loop: Loop) -> None:
    loop.receiver.away = True


def other_consumer(loop: Loop) -> None:
    loop.streamer.say(peers=2)


def not_connected(loop: Loop) -> None:
    loop.streamer.say(peers=0)


def a_series_runs(loop: Loop) -> None:
    loop.control.arm(settings(3))


def streamer_dead(loop: Loop) -> None:
    loop.link.death = "the streamer was killed by signal 9"
    loop.control.step()


@pytest.mark.parametrize(
    "wrong",
    [
        camera_refuses, streamer_silent, file_exists, receiver_away, other_consumer, not_connected,
        a_series_runs, streamer_dead,
    ],
)  # fmt: skip
def test_a_refusal_is_that_of_arm(loop: Loop, wrong: Callable[[Loop], None]) -> None:
    wrong(loop)
    before, calls, stops = loop.control.view, list(loop.streamer.calls), list(loop.receiver.stops)
    answer = loop.control.check(settings(3), 0.1)
    assert loop.control.view == before and loop.receiver.stops == stops
    assert [call for call in loop.streamer.calls if call != "check"] == calls
    with pytest.raises(ArmRefused) as armed:
        loop.control.arm(settings(3))
    assert (answer.ok, answer.kind, answer.sentence) == (False, armed.value.kind, str(armed.value))


def test_a_good_series(loop: Loop) -> None:
    loop.receiver.free_bytes = 10**9
    before = loop.control.view
    assert loop.control.check(settings(3, TriggerMode.INTERNAL), 0.5) == Answer(
        ok=True, file="/data/x.h5", frames=3, frame_bytes=8, bytes=24, free_bytes=10**9, seconds=1.5
    )
    assert loop.control.view is before and loop.streamer.calls == ["check"]
    assert loop.receiver.checks[0].frame_bytes == 8


@pytest.mark.parametrize(
    ("mode", "seconds"),
    [
        (TriggerMode.INTERNAL, 1.5), (TriggerMode.EXTERNAL, 1.5), (TriggerMode.SOFTWARE, None),
        (TriggerMode.EXTERNAL_MULTI, None), (TriggerMode.EXTERNAL_MULTI_GATE, None),
    ],
)  # fmt: skip
def test_a_duration_is_said_where_the_detector_sets_the_pace(
    loop: Loop, mode: TriggerMode, seconds: float | None
) -> None:
    assert loop.control.check(settings(3, mode), 0.5).seconds == seconds


def test_where_the_size_is_unknown_the_receiver_is_asked_without_one(loop: Loop) -> None:
    loop.streamer.frame_bytes = 0
    answer = loop.control.check(settings(3), 0.5)
    assert answer.ok and (answer.frame_bytes, answer.bytes) == (0, 0)
    assert loop.receiver.checks[0].frame_bytes is None


def test_a_running_series_is_described(loop: Loop) -> None:
    loop.control.arm(settings(3))
    calls = list(loop.streamer.calls)
    answer = loop.control.check(settings(3), 0.5)
    assert (answer.kind, answer.file, answer.bytes) == ("not_idle", "/data/x.h5", 24)
    assert loop.streamer.calls == calls, "a camera that takes frames is not asked"


def test_a_live_series_has_no_number_of_frames(loop: Loop) -> None:
    loop.control.arm(live_settings(settings(3, TriggerMode.INTERNAL)))
    answer = loop.control.check(settings(3, TriggerMode.INTERNAL), 0.5)
    assert (answer.kind, answer.frames, answer.bytes, answer.seconds) == ("not_idle", 0, 0, None)


def test_who_was_waited_for_in_vain_is_not_asked_again_at_once(loop: Loop) -> None:
    other_consumer(loop)  # they are given time to vanish
    answers = [loop.control.check(settings(3), 0.5) for _ in range(10)]
    assert {answer.kind for answer in answers} == {"other_consumer"}
    asked = len(loop.receiver.checks)
    loop.streamer.say(peers=1)
    assert loop.control.check(settings(3), 0.5).kind == "other_consumer"
    assert len(loop.receiver.checks) == asked
    camera_refuses(loop)
    assert loop.control.check(settings(3), 0.5).kind == "camera", "the other side is asked all the same"
    loop.streamer.refuses = {}
    loop.clock.now += SHARED
    assert loop.control.check(settings(3), 0.5).ok


def test_the_size_of_the_next_series_is_measured_between_two_series(loop: Loop) -> None:
    loop.streamer.frame_bytes = 100
    assert loop.control.measure(lambda: settings(3))
    assert loop.control.view.frame_bytes == 100
    loop.control.arm(settings(3))
    assert loop.control.view.frame_bytes == 8, "as it was prepared"
    assert not loop.control.measure(lambda: settings(3))
    streamer_dead(loop)
    loop.wait(4.0)
    assert loop.state is SeriesState.FAULT and not loop.control.measure(lambda: settings(3))


def test_a_size_that_is_refused_is_unknown_and_a_busy_camera_is_asked_again(loop: Loop) -> None:
    loop.control.measure(lambda: settings(3))
    loop.streamer.refuses = {"check": refused("busy", "the camera has not returned")}
    assert not loop.control.measure(lambda: settings(3))
    assert loop.control.view.frame_bytes == 8
    camera_refuses(loop)
    assert loop.control.measure(lambda: settings(3))
    assert loop.control.view.frame_bytes == 0
