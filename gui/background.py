"""Calls that are made later, in the window's thread: after a time, or with what a network or a disk said."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from silx.gui import qt


def later(call: Callable[[], object], parent: qt.QObject, milliseconds: int = 0) -> qt.QTimer:
    """Return a timer that makes one call so long after its `start`; starting it again puts the call off.

    Args:
        call: what is called.
        parent: object with which the timer ends.
        milliseconds: until then, where `start` is not told another time.
    """
    timer = qt.QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(call)
    return timer


class Background(qt.QObject):
    """One call at a time: a newer one makes the answer of the older one worthless.

    Threads are daemons and every call has a deadline of its own, so nothing waits for them.
    """

    _ended = qt.Signal(int, object, object)

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0
        self._then: Callable[[Any], None] = lambda answer: None
        self._failed: Callable[[Exception], None] = lambda error: None
        self._ended.connect(self._finish, qt.Qt.QueuedConnection)

    def call(
        self, work: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[Exception], None]
    ) -> None:
        """Do `work` in a thread of its own, and then call one of the others in this object's thread."""
        self._number += 1
        self._then, self._failed = then, failed
        threading.Thread(
            target=self._work, args=(self._number, work), name="penstock-call", daemon=True
        ).start()

    def cancel(self) -> None:
        """Forget the call under way."""
        self._number += 1

    def _work(self, number: int, work: Callable[[], Any]) -> None:
        answer, failure = None, None
        try:
            answer = work()
        except Exception as error:
            failure = error
        try:
            self._ended.emit(number, answer, failure)
        except RuntimeError:  # the window that has asked is gone
            return

    def _finish(self, number: int, answer: Any, failure: Exception | None) -> None:
        if number != self._number:
            return
        if failure is None:
            self._then(answer)
        else:
            self._failed(failure)
