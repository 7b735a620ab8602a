"""Calls that a file system may hold up, on threads that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class HeldUp(Exception):
    """There was no answer in time, or too many calls before it have none yet."""


class Aside:
    """Runs each call on a thread of its own, so many at once at most. One that hangs ends with the process.

    Args:
        most: calls that may be under way, those that nobody waits for any more included.
    """

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)

    async def run(self, call: Callable[[], T], seconds: float) -> T:
        """What a call returns, or raises.

        Raises:
            HeldUp: it did not within so many seconds, or as many hang as may be under way.
        """
        if not self._free.acquire(blocking=False):
            raise HeldUp
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()
        threading.Thread(target=self._work, args=(call, answer), name="aside", daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answer), seconds)
        except TimeoutError:
            raise HeldUp from None

    def _work(self, call: Callable[[], T], answer: Future[T]) -> None:
        try:
            found = call()
        except Exception as error:
            self._free.release()
            answer.set_exception(error)
        else:
            self._free.release()
            answer.set_result(found)
