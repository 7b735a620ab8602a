"""A thread for calls that the end of a macro must not interrupt."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import tango

PATIENCE: Final = 30.0
"""Seconds for which an aborted macro waits for its call."""


class Job:
    """A call that has been handed over."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._ended = threading.Lock()
        self._ended.acquire()
        self.over = False
        self.error: BaseException | None = None

    def work(self) -> None:
        """Run the call, in the thread."""
        try:
            self._call()
        except BaseException as error:
            self.error = error
        self.over = True
        self._ended.release()

    def wait(self, patience: float = -1.0) -> None:
        """Wait until the call has returned, at most `patience` seconds (-1: for ever); never raises."""
        # A plain lock: an asynchronous exception inside a Condition's Python code would leave it locked.
        if not self.over and self._ended.acquire(timeout=patience):
            self._ended.release()


class Shelter:
    """Runs calls one after the other, in a thread that starts here and ends with the last reference.

    Where Pool and MacroServer are one process, AbortMacro raises an exception in the macro's thread, wherever
    that is: even after Arm and before the series is recorded as this channel's own. Nor may such a thread
    start another one: in Python 3.11 an exception at that moment hits the new thread instead, which dies of
    it, and `Thread.start` waits for ever.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        jobs: SimpleQueue[Job | None] = SimpleQueue()
        threading.Thread(target=_work, args=(jobs,), name=name, daemon=True).start()
        weakref.finalize(self, jobs.put, None)
        self._jobs = jobs

    def begin(self, call: Callable[[], None]) -> Job:
        """Hand a call over; it begins when those before it have ended."""
        job = Job(call)
        self._jobs.put(job)
        return job

    def run(self, call: Callable[[], None]) -> None:
        """Hand a call over and wait for it, even if the waiting thread is being ended.

        Raises:
            BaseException: what the call has raised, or what was raised in the waiting thread.
        """
        job = Job(call)
        try:
            self._jobs.put(job)
            job.wait()
        except BaseException:
            job.wait(PATIENCE)
            raise
        if job.error is not None:
            raise job.error


def _work(jobs: SimpleQueue[Job | None]) -> None:
    with tango.EnsureOmniThread():
        while (job := jobs.get()) is not None:
            job.work()
            del job  # what it refers to may end
