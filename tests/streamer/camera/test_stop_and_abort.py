"""Stop, Abort and cancel at every point of a series."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.streamer.rig import DEADLINE, FakeClock, Rig, done, settings

ENDINGS = ("stop", "abort")


@pytest.mark.parametrize("how", ENDINGS)
def test_when_nothing_runs_there_is_nothing_to_end(how: str) -> None:
    with Rig() as rig:
        done(getattr(rig.engine, how)())
        assert rig.engine.status().state == "idle"


@pytest.mark.parametrize("how", [*ENDINGS, "cancel"])
def test_a_prepared_series_is_forgotten_without_a_message(how: str) -> None:
    with Rig() as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(getattr(rig.engine, how)())
        assert rig.engine.status().state == "idle"
        rig.arm()
        start = rig.receive()
        assert isinstance(start, Start)
        assert start.header.msg_number == 0


def test_a_series_that_is_still_being_prepared_is_forgotten_too() -> None:
    with Rig() as rig:
        entered, leave = Event(), Event()
        rig.camera.on_prepare = lambda: (entered.set(), leave.wait(DEADLINE))
        asked = rig.engine.prepare(settings())
        assert entered.wait(DEADLINE)
        done(rig.engine.cancel())  # its client has given up, and the camera has not returned
        leave.set()
        done(asked)
        assert rig.engine.status().state == "idle"
        assert done(rig.engine.set({"Gain": 2.0})).values["Gain"] == 2.0
        done(rig.engine.prepare(settings()))
        assert rig.engine.status().state == "prepared"


@pytest.mark.parametrize(("how", "reason"), [("stop", "stop"), ("abort", "abort"), ("cancel", "abort")])
def test_an_announced_series_gets_its_end_message(how: str, reason: str) -> None:
    with Rig() as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        done(getattr(rig.engine, how)())
        _, frames, end = rig.receive_series()
        assert (frames, end.reason, end.sent) == ([], reason, 0)
        assert rig.engine.status().state == "idle"


@pytest.mark.parametrize("how", ENDINGS)
def test_while_the_camera_arms(how: str) -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.wait_until(float("inf"))
            yield from ()

        rig.camera.script = script
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        armed = rig.engine.start()
        done(getattr(rig.engine, how)())
        with pytest.raises(Refused, match=how):
            done(armed)
        _, _, end = rig.receive_series()
        assert end.reason == how
        rig.until_state("idle")


@pytest.mark.parametrize("how", ENDINGS)
def test_while_it_waits_for_a_software_trigger(how: str) -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        rig.until(lambda status: status.ready_for_trigger)
        done(getattr(rig.engine, how)())
        _, frames, end = rig.receive_series()
        assert (len(frames), end.reason, end.triggered, end.lost) == (0, how, 0, None)
        rig.until_state("idle")


@pytest.mark.parametrize(("how", "frames", "lost"), [("stop", 1, None), ("abort", 0, {"abort": 1})])
def test_during_an_exposure_stop_finishes_the_frame_and_abort_drops_it(
    how: str, frames: int, lost: dict[str, int] | None
) -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        exposing = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            acquisition.triggered(1)
            exposing.set()
            if acquisition.wait_until(acquisition.now() + 100, exposing=True):
                yield rig.camera.frame(acquisition, 0)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        assert exposing.wait(DEADLINE)
        done(getattr(rig.engine, how)())
        if how == "stop":
            rig.until_state("ending")
            clock.advance(100)
        _, received, end = rig.receive_series()
        assert (len(received), end.reason, end.lost) == (frames, how, lost)
        rig.until_state("idle")


def test_a_camera_that_ignores_abort_is_a_fault_and_does_not_hold_anything_up() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        stuck = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            stuck.wait(DEADLINE)
            yield rig.camera.frame(acquisition, 0)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        rig.engine.abort()
        with rig.changed:
            while rig.engine.status().state == "ending":
                clock.advance(0.1)
                rig.changed.wait(0.1)
        status = rig.engine.status()
        assert status.state == "fault"
        assert "did not end its acquisition after Abort" in status.message
        _, _, end = rig.receive_series()
        assert end.reason == "abort"
        with pytest.raises(Refused, match="has not returned from the last call"):
            rig.engine.prepare(settings())
        stuck.set()
        rig.until(lambda status: status.ring_used == 0)


def test_stop_behind_the_last_frame_sends_all_that_still_waits_for_the_receiver() -> None:
    with Rig() as rig:
        rig.connect()
        done(rig.engine.prepare(settings(n_triggers=4)))
        done(rig.engine.announce())
        assert isinstance(rig.receive(), Start)
        rig.disconnect()
        done(rig.engine.start())
        rig.until(lambda status: status.acquired == 4 and status.state == "ending")
        assert rig.engine.status().sent == 0
        done(rig.engine.stop())
        rig.connect()
        frames = [rig.receive() for _ in range(4)]
        assert [frame.image.frame for frame in frames if isinstance(frame, Frame)] == [0, 1, 2, 3]
        end = rig.receive()
        assert isinstance(end, SeriesEnd)
        assert (end.triggered, end.sent, end.lost) == (4, 4, None)
