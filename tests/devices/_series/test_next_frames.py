"""What the frames of the next, and of the running, series are: asked of both sides, whoever answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.receiver.client import ReceiverRefused
from tests.devices._series.beamside import refused
from tests.devices._series.test_control import Loop, settings


@pytest.fixture
def loop() -> Loop:
    return Loop()


def frames(loop: Loop) -> tuple[tuple[int, ...], str]:
    return loop.control.view.frame_shape, loop.control.view.frame_type


def measured(loop: Loop) -> tuple[tuple[int, ...], str]:
    assert loop.control.measure(lambda: settings(3))
    return frames(loop)


def test_they_are_what_the_receiver_will_store(loop: Loop) -> None:
    loop.receiver.stores = [7, 9]
    assert measured(loop) == ((7, 9), "float32")
    (question,) = loop.receiver.checks
    assert (question.filename, question.shape, question.dtype) == ("", [2, 2], "uint16")
    assert question.endpoint is None, "who is connected has nothing to do with it"


def test_without_a_receiver_they_are_as_sent_until_it_answers(loop: Loop) -> None:
    loop.receiver.away = True
    loop.observe()
    assert measured(loop) == ((2, 2), "uint16")
    assert not loop.control.next_frames.outdated()
    loop.receiver.away, loop.receiver.stores = False, [7, 9]
    loop.observe()
    assert loop.control.next_frames.outdated()
    assert measured(loop) == ((7, 9), "float32")
    assert not loop.control.next_frames.outdated()


def test_a_receiver_that_was_away_may_store_them_otherwise(loop: Loop) -> None:
    assert measured(loop) == ((2, 2), "uint16")
    loop.receiver.away = True
    loop.observe()
    assert not loop.control.next_frames.outdated()
    assert frames(loop) == ((2, 2), "uint16")
    loop.receiver.away, loop.receiver.stores = False, [7, 9]
    loop.observe()
    assert loop.control.next_frames.outdated()
    assert measured(loop) == ((7, 9), "float32")


@pytest.mark.parametrize("kind", ["busy", "in_error"])
def test_a_receiver_that_cannot_say_now_is_asked_again(loop: Loop, kind: str) -> None:
    loop.receiver.check_refuses = ReceiverRefused(kind, "not now")
    assert measured(loop) == ((2, 2), "uint16")
    assert loop.control.next_frames.outdated()


def test_frames_that_cannot_be_stored_are_unknown(loop: Loop) -> None:
    loop.receiver.check_refuses = ReceiverRefused("transform", "dark_flat: other pixels")
    assert measured(loop) == ((), "")
    assert not loop.control.next_frames.outdated()


@pytest.mark.parametrize("why", ["the camera refuses", "the camera cannot tell"])
def test_frames_of_which_the_camera_says_nothing_are_unknown(loop: Loop, why: str) -> None:
    measured(loop)
    if why == "the camera refuses":
        loop.streamer.refuses = {"check": refused()}
    loop.streamer.frame_bytes = 0
    assert measured(loop) == ((), "")


def test_a_running_series_has_the_receivers_own_word(loop: Loop) -> None:
    loop.control.arm(settings(3))
    assert frames(loop) == ((2, 2), "uint16")
    assert loop.control.view.dataset == "entry/instrument/stand-in/data"
    assert loop.receiver.series is not None
    loop.receiver.series = replace(loop.receiver.series, shape=[5, 6], dtype="int32")
    loop.observe()
    assert frames(loop) == ((5, 6), "int32")


def test_until_the_receiver_knows_they_are_what_was_prepared(loop: Loop) -> None:
    loop.control.arm(settings(3))
    assert loop.receiver.series is not None
    loop.receiver.series = replace(loop.receiver.series, shape=[], dtype="")
    loop.observe()
    assert frames(loop) == ((2, 2), "uint16")


def test_the_next_frames_follow_the_end_of_a_series_and_its_dataset_stays(loop: Loop) -> None:
    loop.control.arm(settings(1))
    loop.frame()
    loop.streamer.say(state="idle", end_sent=True)
    loop.control.step()
    loop.receiver.end()
    loop.wait(0.1)
    loop.receiver.stores = [7, 9]
    assert measured(loop) == ((7, 9), "float32")
    loop.wait(0.1)
    assert frames(loop) == ((7, 9), "float32"), "not those of the last series again"
    assert loop.control.view.dataset == "entry/instrument/stand-in/data"
    loop.control.arm(settings(1, filename=""))
    assert loop.control.view.index_source == "hardware counter"
