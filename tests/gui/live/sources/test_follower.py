"""How a receiver is followed, step by step, without thread and window."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.live.sources.follower import Follower
from penstock.gui.live.sources.following import LAST_RETRY
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.sources.source import Part
from tests.gui.live.stand_in import StandIn

FRAME = np.arange(12, dtype=np.uint16).reshape(3, 4)


@pytest.fixture
def follower(receiver: StandIn) -> Follower:
    return Follower(ReceiverSource.at(receiver.url), now=lambda: 1000.0)


def step(follower: Follower, *, want_frame: bool = True) -> bool:
    return follower.step(wait=0.0, want_frame=want_frame)


def test_the_newest_frame_is_held_and_no_other_was_asked_for(receiver: StandIn, follower: Follower) -> None:
    step(follower)
    for index in range(5):
        receiver.frame(FRAME + index, index)

    step(follower)

    assert follower.snapshot.frame is not None
    assert follower.snapshot.frame.frame == 4
    assert np.array_equal(follower.snapshot.frame.array, FRAME + 4)
    assert sum(path.startswith("/last_frame") for path in receiver.requests) == 1


def test_a_frame_that_would_not_be_drawn_is_not_asked_for(receiver: StandIn, follower: Follower) -> None:
    receiver.frame(FRAME, 0)

    step(follower, want_frame=False)

    assert follower.snapshot.frame is None
    assert not any(path.startswith("/last_frame") for path in receiver.requests)


def test_a_step_that_brings_nothing_new_says_so_and_transfers_no_pixel(
    receiver: StandIn, follower: Follower
) -> None:
    receiver.frame(FRAME, 0)
    assert step(follower)
    held = follower.snapshot.frame

    assert not step(follower)
    assert follower.snapshot.frame is held


def test_the_receiver_may_hold_its_answer_until_something_changes(
    receiver: StandIn, follower: Follower
) -> None:
    step(follower)

    follower.step(wait=0.05, want_frame=True)

    assert "/status?seen=1&wait=0.05" in receiver.requests


def test_while_it_is_away_the_last_frame_and_status_are_kept(receiver: StandIn, follower: Follower) -> None:
    receiver.run()
    receiver.frame(FRAME, 3)
    step(follower)
    receiver.down()

    step(follower)

    snapshot = follower.snapshot
    assert snapshot.away_since == 1000.0
    assert receiver.url in snapshot.trouble
    assert snapshot.frame is not None
    assert snapshot.status is not None
    assert snapshot.status.state == "running"


def test_an_absent_receiver_is_asked_less_and_less_often_but_every_two_seconds(
    receiver: StandIn, follower: Follower
) -> None:
    receiver.down()
    pauses = []
    for _ in range(6):
        step(follower)
        pauses.append(follower.retry)

    assert pauses == [0.25, 0.5, 1.0, 2.0, 2.0, LAST_RETRY]


def test_after_its_restart_a_frame_of_a_lower_version_is_taken(receiver: StandIn, follower: Follower) -> None:
    step(follower)
    for index in range(5):
        receiver.frame(FRAME, index)
    step(follower)
    receiver.down()
    step(follower)
    receiver.up()
    receiver.frame(FRAME + 7, 0)

    step(follower)

    assert follower.retry == 0
    assert follower.snapshot.away_since is None
    assert follower.snapshot.frame is not None
    assert np.array_equal(follower.snapshot.frame.array, FRAME + 7)


def test_blocks_are_asked_for_with_each_frame_and_no_other_viewer_gets_them(
    receiver: StandIn, follower: Follower
) -> None:
    frame = FRAME.copy()
    frame[0, 0] = 2**16 - 1  # without a value, since counting ends before
    follower.ask_for(Part(block=2))
    receiver.frame(frame, 0, saturation=60_000)

    step(follower)

    assert follower.snapshot.frame is not None
    assert follower.snapshot.frame.array.tolist() == [[5, 7], [9, 11]]
    asked = [path for path in receiver.requests if not path.startswith("/status")]
    assert len(asked) == 1
    assert "downsample=2&method=max_valid" in asked[0]


def test_all_pixels_are_asked_for_whatever_another_viewer_has_set(
    receiver: StandIn, follower: Follower
) -> None:
    receiver.frame(FRAME, 0)

    step(follower)

    assert "downsample=1" in next(path for path in receiver.requests if path.startswith("/last_frame"))
