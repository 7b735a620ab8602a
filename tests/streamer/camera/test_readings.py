"""Temperatures and the like are asked for about once a second, or are not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, current_thread

import pytest

from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.parameters import READ_EVERY, READINGS_HOLD, Parameters
from penstock.streamer.camera.settings import TriggerMode, Value
from penstock.streamer.camera.unit import CameraError, NotAsked
from tests.streamer.rig import DEADLINE, FakeCamera, FakeClock, Rig

Wait = Callable[[Acquisition], bool]

WAITS: dict[str, Wait] = {
    "for a moment": lambda acquisition: acquisition.wait_until(acquisition.now() + 1e6),
    "while exposing": lambda acquisition: acquisition.wait_until(acquisition.now() + 1e6, exposing=True),
    "for an SDK": lambda acquisition: acquisition.wait(lambda: False),
    "for a trigger": lambda acquisition: acquisition.wait_trigger(),
}


def until_read(rig: Rig, clock: FakeClock, temperature: float) -> None:
    """Let time pass until the reading is this one."""
    with rig.changed:
        while rig.engine.status().readings != {"Temperature": temperature}:
            clock.advance(READ_EVERY)
            rig.changed.wait(0.1)


def test_trouble_between_series_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        assert rig.engine.status().warning == ""
        monkeypatch.setattr(rig.camera, "trouble", lambda: "its cable is loose")
        with rig.changed:
            while rig.engine.status().warning != "its cable is loose":
                clock.advance(READ_EVERY)
                rig.changed.wait(0.1)


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_readings_go_on_in_every_wait(wait: Wait) -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            wait(acquisition)
            yield from ()

        rig.camera.script = script
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        for temperature in (-5.0, -6.0, -7.0):
            rig.camera.temperature = temperature
            until_read(rig, clock, temperature)
        assert rig.engine.status().state == "acquiring"
        rig.engine.abort()


def test_readings_go_on_around_an_sdk_that_can_only_block_and_between_frames() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            while acquisition.proceed(exposing=True) and rig.camera.temperature > -1.0:
                Event().wait(0.001)  # stands for the SDK's call with a time-out
            index = 0
            while not acquisition.stopping:
                yield rig.camera.frame(acquisition, index)
                index += 1

        rig.camera.script = script
        rig.connect()
        rig.arm(n_triggers=2**31 - 1)
        for temperature in (-0.5, -1.5, -2.5):
            rig.camera.temperature = temperature
            until_read(rig, clock, temperature)
        rig.engine.abort()


def test_the_camera_is_asked_by_the_thread_that_acquires() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        threads: set[str] = set()

        def read(name: str) -> Value:
            threads.add(current_thread().name)
            return float(len(threads))

        rig.camera.read = read
        rig.camera.script = rig.camera.until_stopped
        rig.connect()
        rig.arm()
        until_read(rig, clock, 1.0)
        rig.engine.abort()
        assert threads == {"camera"}


def test_a_reading_that_could_not_be_taken_for_five_seconds_is_not_shown() -> None:
    """The SDK blocks: whoever looks must not take an old temperature for the present one."""
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        blocks, goes_on = Event(), Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            blocks.set()
            goes_on.wait(DEADLINE)
            yield rig.camera.frame(acquisition, 0)
            yield from rig.camera.until_stopped(acquisition)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        assert blocks.wait(DEADLINE)
        clock.advance(READINGS_HOLD)
        assert rig.engine.status().readings == {"Temperature": 21.5}
        clock.advance(0.1)
        assert rig.engine.status().readings == {}
        goes_on.set()
        rig.until(lambda status: status.readings == {"Temperature": 21.5})


def test_a_reading_that_a_model_lacks_is_logged_once_and_one_that_is_not_asked_for_never(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lacks(name: str) -> Value:
        raise CameraError(f"no sensor for {name}")

    def not_asked(name: str) -> Value:
        raise NotAsked(f"{name} is not asked for during a series")

    camera = FakeCamera({})
    monkeypatch.setattr(camera, "read", lacks)
    parameters = Parameters(camera, "tcp://127.0.0.1:1", FakeClock(), lambda: None)
    for _ in range(3):
        parameters.read()
    camera.read = not_asked  # type: ignore[method-assign]
    parameters.read()
    camera.read = lacks  # type: ignore[method-assign]
    parameters.read()
    assert [record.message for record in caplog.records] == [
        "FakeCamera: Temperature cannot be read: no sensor for Temperature"
    ]
