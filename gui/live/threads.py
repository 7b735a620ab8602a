"""Threads beside the window's, for what takes too long there, and for what is due now and then."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from silx.gui import qt

_log = logging.getLogger(__name__)


class WaitingThread(qt.QObject):
    """One thread, from the first `_wake` to `ask_to_stop`.

    Subclasses keep what is to be done, under `_condition`, and emit their signals from the thread.

    Args:
        name: name of the thread.
    """

    def __init__(self, name: str, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._condition = threading.Condition()
        self._stopping = False  # this and what follows: under the condition
        self._thread: threading.Thread | None = None

    def is_running(self) -> bool:
        """Return whether the thread lives."""
        return self._thread is not None and self._thread.is_alive()

    def ask_to_stop(self) -> None:
        """End the thread after the work under way, without waiting for it."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End the thread and wait for it: as long as the work under way may take."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> Callable[[], None] | None:
        """Take what is due, under the condition; `None`: nothing is."""
        raise NotImplementedError

    def _until_due(self) -> float | None:
        """Return the seconds until something is due, under the condition; `None`: not before `_wake`."""
        return None

    def _wake(self) -> None:
        """Have the thread look at what is to be done, under the condition."""
        if self._thread is None and not self._stopping:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._condition.notify_all()

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._stopping and (work := self._work()) is None:
                    self._condition.wait(self._until_due())
                if self._stopping:
                    return
            assert work is not None
            try:
                work()
            except RuntimeError:  # the window is gone
                _log.debug("%s: the window has gone", self._name, exc_info=True)
                return


class Worker(WaitingThread):
    """One thread, from the first job to `ask_to_stop`. A job replaces one of the same name that waits.

    It has no parent: it outlives its window by the job under way.

    Args:
        name: name of the thread.
    """

    done: Any = qt.Signal(str, object)
    """Name of a job, and what it has returned; emitted from the thread."""
    failed: Any = qt.Signal(str, object)
    """Name of a job, and its exception."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._jobs: dict[str, Callable[[], object]] = {}  # under the condition

    def ask(self, name: str, job: Callable[[], object]) -> None:
        """Have this done next, after jobs of other names that wait."""
        with self._condition:
            self._jobs.pop(name, None)
            self._jobs[name] = job
            self._wake()

    def forget(self, name: str) -> None:
        """Drop a job that waits."""
        with self._condition:
            self._jobs.pop(name, None)

    def _work(self) -> Callable[[], None] | None:
        if not self._jobs:
            return None
        name = next(iter(self._jobs))
        job = self._jobs.pop(name)
        return lambda: self._do(name, job)

    def _do(self, name: str, job: Callable[[], object]) -> None:
        what: object
        try:
            signal, what = self.done, job()
        except Exception as error:
            _log.debug("%s: %s has failed", self._name, name, exc_info=True)
            signal, what = self.failed, error
        signal.emit(name, what)
