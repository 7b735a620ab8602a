"""What the end of a macro must not tear apart."""

from __future__ import annotations

import contextlib
import ctypes
import random
import threading
import time

import pytest

from penstock.sardana.regions import RegionCounter
from penstock.sardana.shelter import Shelter
from penstock.sardana.trigger_train import Group, TriggerLine
from tests.sardana.stand_in_source import StandInReceiver


class AbortException(Exception):
    pass


def abort(thread: threading.Thread) -> None:
    """As Sardana does it."""
    # A library of its own: Sardana declares other types for the function of `ctypes.pythonapi`.
    ctypes.PyDLL(None).PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(AbortException)
    )


def test_a_macro_that_is_aborted_at_any_moment_finds_its_call_complete() -> None:
    """In Python 3.11 a macro that begins a thread at such a moment waits for ever."""
    shelter, begun, ended, chance = Shelter("tried"), [0], [0], random.Random(1)

    def call() -> None:
        begun[0] += 1
        time.sleep(0)  # another thread's turn
        ended[0] += 1

    def macro() -> None:
        with contextlib.suppress(AbortException):
            while True:
                shelter.run(call)

    for attempt in range(300):
        before, thread = begun[0], threading.Thread(target=macro, daemon=True)
        thread.start()
        deadline = time.monotonic() + 10.0
        while begun[0] == before:
            assert time.monotonic() < deadline
        time.sleep(chance.uniform(0.0, 0.001))  # the moment is what is tried
        abort(thread)
        thread.join(10.0)
        assert not thread.is_alive(), f"the macro waits for ever, attempt {attempt}"
        assert begun == ended


def test_what_a_call_raises_is_raised_where_it_is_waited_for() -> None:
    def call() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        Shelter("tried").run(call)


def test_the_thread_ends_with_its_owner() -> None:
    shelter = Shelter("tried")
    threads: list[threading.Thread] = []
    shelter.run(lambda: threads.append(threading.current_thread()))
    del shelter
    threads[0].join(5.0)
    assert not threads[0].is_alive()


def test_no_measurement_begins_a_thread() -> None:
    counter, line = RegionCounter(StandInReceiver()), TriggerLine()
    counter.add(1)
    try:
        before = set(threading.enumerate())
        counter.prepare(1)
        counter.start()
        line.start([Group(0.0, 0.0, 30.0, 2)])
        assert set(threading.enumerate()) <= before
    finally:
        line.close()
        counter.close()
