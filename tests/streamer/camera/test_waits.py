"""`Acquisition.wait`: woken by an SDK's own thread, ended by Stop, Abort and the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Lock, Thread

import pytest

from penstock.streamer.camera.contract import Acquisition, Exposure
from tests.streamer.rig import DEADLINE, FakeClock, Rig


class WaitingSeries:
    """A series whose camera waits once; what the wait returned, and how often it looked."""

    def __init__(self, rig: Rig, wait: Callable[[Acquisition, WaitingSeries], bool]) -> None:
        self.answer: list[bool] = []
        self.arrived = False
        self.looks = 0
        self.began, self.ended = Event(), Event()
        self.acquisition: Acquisition

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            self.acquisition = acquisition
            acquisition.ready()
            self.answer.append(wait(acquisition, self))
            self.ended.set()
            acquisition.wait_until(float("inf"))
            yield from ()

        rig.camera.script = script
        rig.connect()
        rig.arm()
        assert self.began.wait(DEADLINE)

    def look(self) -> bool:
        """The predicate."""
        self.looks += 1
        self.began.set()
        return self.arrived

    def until_ended(self) -> bool:
        """What the wait returned."""
        assert self.ended.wait(DEADLINE)
        return self.answer[0]


def test_a_thread_of_the_sdk_wakes_it_and_nothing_polls() -> None:
    """The clock stands still: only the wake-up ends the wait."""
    with Rig(clock=FakeClock()) as rig:
        waiting = WaitingSeries(rig, lambda acquisition, waiting: acquisition.wait(waiting.look))

        def callback() -> None:
            waiting.arrived = True
            waiting.acquisition.wake()

        Thread(target=callback).start()
        assert waiting.until_ended() is True
        assert waiting.looks <= 3


def test_a_wake_up_between_look_and_sleep_is_not_lost() -> None:
    with Rig(clock=FakeClock()) as rig:

        def look(waiting: WaitingSeries) -> bool:
            found = waiting.look()
            if waiting.looks == 1:  # the callback comes just after
                waiting.arrived = True
                waiting.acquisition.wake()
            return found

        waiting = WaitingSeries(rig, lambda acquisition, waiting: acquisition.wait(lambda: look(waiting)))
        assert waiting.until_ended() is True


def test_a_callback_may_hold_the_lock_that_the_predicate_takes() -> None:
    with Rig(clock=FakeClock()) as rig:
        lock = Lock()

        def look(waiting: WaitingSeries) -> bool:
            with lock:
                return waiting.look()

        waiting = WaitingSeries(rig, lambda acquisition, waiting: acquisition.wait(lambda: look(waiting)))
        with lock:
            waiting.acquisition.wake()
            waiting.arrived = True
            waiting.acquisition.wake()
        assert waiting.until_ended() is True


@pytest.mark.parametrize("how", ["stop", "abort"])
def test_stop_and_abort_end_it(how: str) -> None:
    with Rig(clock=FakeClock()) as rig:
        waiting = WaitingSeries(rig, lambda acquisition, waiting: acquisition.wait(waiting.look))
        getattr(rig.engine, how)()
        assert waiting.until_ended() is False


def test_while_exposing_stop_lets_it_wait_and_abort_ends_it() -> None:
    with Rig(clock=FakeClock()) as rig:
        waiting = WaitingSeries(
            rig, lambda acquisition, waiting: acquisition.wait(waiting.look, exposing=True)
        )
        looked = waiting.looks
        rig.engine.stop()
        rig.until_state("ending")
        waiting.acquisition.wake()
        assert not waiting.ended.is_set()
        rig.engine.abort()
        assert waiting.until_ended() is False
        assert waiting.looks >= looked


def test_what_has_come_by_then_counts_though_stop_came_too() -> None:
    """An edge and Stop at once: the exposure has begun, so it is finished."""
    with Rig(clock=FakeClock()) as rig:

        def look(waiting: WaitingSeries) -> bool:
            rig.engine.stop()
            return waiting.look() or waiting.looks == 1

        waiting = WaitingSeries(rig, lambda acquisition, waiting: acquisition.wait(lambda: look(waiting)))
        assert waiting.until_ended() is True


def test_the_clock_ends_it() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        waiting = WaitingSeries(
            rig, lambda acquisition, waiting: acquisition.wait(waiting.look, acquisition.now() + 100.0)
        )
        clock.advance(99.0)
        assert not waiting.ended.is_set()
        clock.advance(1.0)
        assert waiting.until_ended() is False
