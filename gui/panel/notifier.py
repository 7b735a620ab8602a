"""A model's changes as a Qt signal: in the thread of the windows, and never a queue of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from silx.gui import qt

from penstock.gui.background import later

GATHER = 30
"""Milliseconds that changes are gathered: Tango sends one event per attribute, in groups."""


class Changing(Protocol):
    """A model that reports its changes from any thread."""

    def on_change(self, call: Callable[[], None]) -> None:
        """Have `call` called after each change."""


class Notifier(qt.QObject):
    """Emits `changed` after any number of changes of `model`."""

    changed = qt.Signal()
    """Something has changed since the last time; emitted in this object's own thread."""
    _woken = qt.Signal()

    def __init__(self, model: Changing, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._pending = False
        self._closed = False
        self._timer = later(self._deliver, self, GATHER)
        self._woken.connect(self._timer.start, qt.Qt.QueuedConnection)
        model.on_change(self._on_change)

    def close(self) -> None:
        """Emit no more signals; the model may continue, and this object may be deleted."""
        with self._lock:
            self._closed = True
        self._timer.stop()

    def _on_change(self) -> None:
        with self._lock:
            if self._pending or self._closed:
                return
            try:
                self._woken.emit()
                self._pending = True
            except RuntimeError:  # Qt has deleted this object, with a window that was never closed
                self._closed = True

    def _deliver(self) -> None:
        with self._lock:
            self._pending = False
            closed = self._closed
        if not closed:
            self.changed.emit()
