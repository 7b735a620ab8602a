"""The threads of a panel's calls: none is waited for, none is lost, and all of them end."""

from __future__ import annotations

import time
from queue import SimpleQueue
from threading import Event

from penstock.gui.model.tango.calls import AT_THE_SAME_TIME, STOP_SECONDS, Calls, Later

DEADLINE = 10.0


def test_a_call_overtakes_one_that_hangs() -> None:
    goes_on, done = Event(), Event()
    calls = Calls("a", lambda error: None)
    for _ in range(AT_THE_SAME_TIME - 1):
        calls.begin(lambda: goes_on.wait(DEADLINE))
    calls.begin(done.set)
    assert done.wait(DEADLINE)
    goes_on.set()
    calls.stop()


def test_an_error_inside_is_told_and_ends_no_thread() -> None:
    told: SimpleQueue[Exception] = SimpleQueue()
    done = Event()
    calls = Calls("a", told.put)
    calls.begin(lambda: 1 / 0)
    assert isinstance(told.get(timeout=DEADLINE), ZeroDivisionError)
    calls.begin(done.set)
    assert done.wait(DEADLINE)
    calls.stop()


def test_stop_does_not_wait_for_a_call_that_hangs_and_nothing_begins_after_it() -> None:
    goes_on, done = Event(), Event()
    calls = Calls("a", lambda error: None)
    calls.begin(lambda: goes_on.wait(DEADLINE))
    begun = time.monotonic()
    calls.stop()
    assert time.monotonic() - begun < STOP_SECONDS + 1.0
    calls.begin(done.set)
    goes_on.set()
    assert not done.is_set()


def test_what_is_asked_for_again_and_again_is_done_once() -> None:
    done: SimpleQueue[int] = SimpleQueue()
    later = Later(0.1, lambda: done.put(1))
    for _ in range(20):
        later.soon()
    assert done.get(timeout=DEADLINE) == 1
    later.soon()
    later.not_now()
    Later(0.2, lambda: done.put(2)).soon()
    assert done.get(timeout=DEADLINE) == 2, "the first was taken back"
