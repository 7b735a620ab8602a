"""Software triggers: when they are taken, when they are refused, and that a series waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.streamer.rig import DEADLINE, FakeClock, Rig


def test_a_software_trigger_takes_one_frame() -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        for taken in range(4):
            rig.until(lambda status: status.ready_for_trigger)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        rig.until_state("idle")


def test_a_software_trigger_that_comes_too_early_is_refused_and_does_not_count() -> None:
    with Rig() as rig:
        busy = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            while acquisition.wait_trigger():
                busy.wait(DEADLINE)
                yield rig.camera.frame(acquisition, 0)
                return

        rig.camera.script = script
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=1)
        rig.until(lambda status: status.ready_for_trigger)
        rig.engine.trigger()
        with pytest.raises(Refused, match="still busy with the last one") as caught:
            rig.engine.trigger()
        assert caught.value.kind == "not_ready"
        busy.set()
        assert rig.until_state("idle").acquired == 1


def test_a_software_trigger_is_refused_in_other_modes_and_when_nothing_runs() -> None:
    with Rig() as rig:
        with pytest.raises(Refused, match="the streamer is idle; Arm first"):
            rig.engine.trigger()
        rig.camera.script = rig.camera.until_stopped
        rig.connect()
        rig.arm()
        with pytest.raises(Refused, match="TriggerMode is INTERNAL"):
            rig.engine.trigger()


def test_no_software_trigger_is_taken_while_there_is_no_buffer_for_its_frame() -> None:
    with Rig(buffers=2 * 24, hwm=1) as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=10)
        rig.receive()
        rig.disconnect()
        for taken in range(2):
            rig.until(lambda status: status.ready_for_trigger)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        rig.until(lambda status: status.ring_used == 2)
        with pytest.raises(Refused, match="waiting for the receiver: 2 of 2 buffers used"):
            rig.engine.trigger()
        assert rig.engine.status().state == "acquiring"


def test_a_triggered_series_may_pause_for_ten_hours() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        for taken in range(4):
            rig.until(lambda status: status.ready_for_trigger)
            clock.advance(36_000)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        _, frames, end = rig.receive_series()
        assert len(frames) == 4
        assert end.reason == "complete"
