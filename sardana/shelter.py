"""A thread for calls that the end of a macro must not tear apart."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import tango

PATIENCE: Final = 30.0
"""Seconds for which a macro that was aborted waits for its call."""


class Job:
    """A call that has been handed over."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._ended = threading.Lock()
        self._ended.acquire()
        self.over = False
        self.error: BaseException | None = None

    def work(self) -> None:
        """In the thread."""
        try:
            self._call()
        except BaseException as error:
            self.error = error
        self.over = True
        self._ended.release()

    def wait(self, patience: float = -1.0) -> None:
        """Until the call has returned, at most for so many seconds; raises nothing of it."""
        # A plain lock: an asynchronous exception inside a Condition's Python code would leave it locked.
        if not self.over and self._ended.acquire(timeout=patience):
            self._ended.release()


class Shelter:
    """Runs calls one after the other, in a thread that begins here and ends with the last reference.

    Where Pool and MacroServer are one process, AbortMacro raises an exception in the macro's thread, wherever
    that is: between Arm and the note that the series is this channel's own, too. Nor may such a thread begin
    another one: in Python 3.11 an exception that comes at that moment hits the new thread instead, which dies
    of it, and `Thread.start` waits for ever.

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
        """Hand a call over and wait for it, also where the waiting thread is to end.

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
