"""A thread that computes or asks for what would take the window too long."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from silx.gui import qt

from penstock.gui.live.waiting_thread import WaitingThread

_log = logging.getLogger(__name__)


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
