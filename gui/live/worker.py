"""A thread that computes or asks for what would take the window too long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from silx.gui import qt

_log = logging.getLogger(__name__)


class Worker(qt.QObject):
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
        super().__init__()
        self._name = name
        self._condition = threading.Condition()
        self._jobs: dict[str, Callable[[], object]] = {}  # this and what follows: under the condition
        self._stopping = False
        self._thread: threading.Thread | None = None

    def ask(self, name: str, job: Callable[[], object]) -> None:
        """Have this done next, after jobs of other names that wait."""
        with self._condition:
            self._jobs.pop(name, None)
            self._jobs[name] = job
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def forget(self, name: str) -> None:
        """Drop a job that waits."""
        with self._condition:
            self._jobs.pop(name, None)

    def ask_to_stop(self) -> None:
        """End the thread after the job under way, without waiting for it."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._stopping or bool(self._jobs))
                if self._stopping:
                    return
                name = next(iter(self._jobs))
                job = self._jobs.pop(name)
            what: object
            try:
                signal, what = self.done, job()
            except Exception as error:
                _log.debug("%s: %s has failed", self._name, name, exc_info=True)
                signal, what = self.failed, error
            try:
                signal.emit(name, what)
            except RuntimeError:  # the window is gone
                return
