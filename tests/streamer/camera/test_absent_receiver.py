"""What the engine does where no receiver takes its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from tests.streamer.rig import DEADLINE, FakeCamera, FakeClock, Rig, done, settings


def blocked(rig: Rig, **changes: Any) -> None:
    """A series whose receiver has died, with both its buffers full."""

    def script(acquisition: Acquisition) -> Iterator[Exposure]:
        acquisition.ready()
        for index in range(2):
            yield rig.camera.frame(acquisition, index)
        acquisition.wait_until(float("inf"))

    rig.camera.script = script
    rig.connect()
    done(rig.engine.prepare(settings(**changes)))
    done(rig.engine.announce())
    rig.receive()
    rig.disconnect()
    done(rig.engine.start())
    rig.until(lambda status: status.acquired == 2)
    rig.until(lambda status: status.message.startswith("waiting for the receiver"))


def test_back_pressure_is_visible() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        status = rig.engine.status()
        assert status.message == "waiting for the receiver to take frames: 2 of 2 buffers used, 0 connected"
        assert (status.state, status.sent, status.peers) == ("acquiring", 0, 0)


def test_abort_ends_a_blocked_send_to_an_absent_receiver() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.abort()
        status = rig.until_state("idle")
        assert (status.sent, status.lost, status.end_sent) == (0, {"abort": 2}, False)


def test_stop_gives_a_receiver_that_comes_back_its_frames() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.stop()
        rig.until_state("ending")
        rig.connect()
        frames = [rig.receive(), rig.receive()]
        assert all(isinstance(frame, Frame) for frame in frames)
        end = rig.receive()
        assert isinstance(end, SeriesEnd)
        assert (end.reason, end.sent, end.msg_number) == ("stop", 2, 3)
        rig.until_state("idle")


@pytest.mark.parametrize(("away", "seconds"), [(2.0, 5), (60.0, 60)])
def test_stop_gives_up_a_receiver_that_stays_away_and_counts_the_frames(away: float, seconds: int) -> None:
    clock = FakeClock()
    with Rig(buffers=2 * 24, clock=clock) as rig:
        blocked(rig, receiver_away=away)
        rig.engine.stop()
        rig.until_state("ending")
        waited = 0
        with rig.changed:
            while rig.engine.status().state == "ending":
                clock.advance(1.0)
                waited += 1
                rig.changed.wait(0.1)
        assert waited >= seconds
        status = rig.engine.status()
        assert status.state == "fault"
        assert (status.sent, status.lost, status.end_sent) == (0, {"undelivered": 2}, False)
        assert "2 of 2 frames were dropped" in status.message


def test_abort_overtakes_a_stop_that_waits_for_the_receiver() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.stop()
        rig.until_state("ending")
        rig.engine.abort()
        assert rig.until_state("idle").lost == {"abort": 2}


def test_after_an_abort_that_could_not_say_so_the_next_series_has_no_gap_in_its_numbers() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.abort()
        rig.until_state("idle")
        rig.connect()
        rig.camera.script = rig.camera.all_frames
        rig.arm(n_triggers=1)
        start, _, _ = rig.receive_series()
        assert start.header.msg_number == 1


def test_without_a_receiver_the_start_message_is_refused_with_the_endpoint() -> None:
    with Rig(clock=None) as rig:
        done(rig.engine.prepare(settings()))
        with pytest.raises(Refused, match=f"no receiver is connected to {rig.push.endpoint}") as caught:
            done(rig.engine.announce())
        assert caught.value.kind == "no_receiver"
        assert rig.engine.status().state == "prepared"
        rig.connect()
        done(rig.engine.announce())
        start = rig.receive()
        assert isinstance(start, Start)
        assert start.header.msg_number == 0, "what was not sent has no number"


def test_of_several_receivers_one_that_may_take_nothing_is_named_while_frames_wait() -> None:
    camera = FakeCamera({})
    camera.shape = (2048, 2048)  # more than the kernel's buffers take
    with Rig(camera, buffers=16 * 2**23, hwm=1) as rig:
        rig.connect(rcvhwm=1)
        first = rig.pull  # kept open
        rig.connect(rcvhwm=1)
        assert rig.push.wait_peers(2, DEADLINE)
        rig.arm(n_triggers=16)
        told = "2 connected; one that takes nothing stops the others"
        rig.until(lambda status: told in status.message)
        done(rig.engine.abort())
        assert first is not None
        first.close(0)
