"""Calls that are due later, in the window's thread."""

from __future__ import annotations

from collections.abc import Callable

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
