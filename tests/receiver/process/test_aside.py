"""Calls that a file system may hold up: nobody waits for longer than it wants to."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock.receiver.process.aside import Aside, HeldUp

DEADLINE = 20.0


def test_a_call_answers_or_raises_what_it_raises() -> None:
    aside = Aside(1)
    assert asyncio.run(aside.run(lambda: 7, DEADLINE)) == 7

    def fails() -> int:
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        asyncio.run(aside.run(fails, DEADLINE))
    assert asyncio.run(aside.run(lambda: 8, DEADLINE)) == 8


def test_calls_that_hang_hold_nobody_up_and_are_no_more_than_may_be_at_once() -> None:
    aside, begun, proceed = Aside(2), threading.Semaphore(0), threading.Event()

    def hangs() -> None:
        begun.release()
        proceed.wait(DEADLINE)

    async def ask() -> None:
        for _ in range(2):
            with pytest.raises(HeldUp):
                await aside.run(hangs, 0.01)
            assert begun.acquire(timeout=DEADLINE)
        with pytest.raises(HeldUp):
            await aside.run(hangs, DEADLINE)
        assert not begun.acquire(blocking=False), "a third was not even tried"

    asyncio.run(ask())
    threads = [thread for thread in threading.enumerate() if thread.name == "aside"]
    proceed.set()
    for thread in threads:
        thread.join(DEADLINE)
    assert asyncio.run(aside.run(lambda: 9, DEADLINE)) == 9
