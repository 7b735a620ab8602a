"""Channels whose values a thread reads: what those of regions and of pipelines have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from penstock.sardana.armed_series import SourceError

Axis = TypeVar("Axis")
"""What one channel shows."""


class Expected(Protocol):
    """The frames of one acquisition, while their values are read."""

    stopped: bool
    """Nobody waits for further values."""
    fault: str
    """Why none will come; a sentence."""

    @property
    def busy(self) -> bool:
        """True if there is something to read."""


Acquired = TypeVar("Acquired", bound=Expected)


class AxesReader(ABC, Generic[Axis, Acquired]):
    """Channels by axis, and the thread that reads their values.

    Args:
        thread: name of the thread.
        blank: what a new channel shows.
        what: of which the thread reads, for a sentence: "the results".
        close_seconds: that a question may last which runs while the thread is to end.
    """

    def __init__(self, thread: str, blank: Axis, what: str, close_seconds: float) -> None:
        self._name, self._blank, self._what, self._close_seconds = thread, blank, what, close_seconds
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._acquisition: Acquired | None = None
        self._axes: dict[int, Axis] = {}

    def add(self, axis: int) -> None:
        """Add a channel that shows nothing yet. The first one starts the thread, not a measurement: see
        `penstock.sardana.shelter`."""
        self._axes.setdefault(axis, self._blank)
        if self._thread is None:
            self._closing = False
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def remove(self, axis: int) -> None:
        """Forget a channel; without any, the thread ends."""
        self._axes.pop(axis, None)
        if not self._axes:
            self.close()

    def axis(self, axis: int) -> Axis:
        """Return what a channel shows."""
        return self._axes[axis]

    def stop(self) -> None:
        """Wait for no further values."""
        with self._changed:
            if self._acquisition is not None:
                self._acquisition.stopped = True
            self._changed.notify_all()

    def close(self) -> None:
        """Stop, and end the thread; takes as long as the current question."""
        self.stop()
        with self._changed:
            self._closing = True
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(self._close_seconds)

    @abstractmethod
    def _read(self, acquisition: Acquired) -> None:
        """Look for values once, in the thread; wait if there are none.

        Raises:
            SourceError: none will come.
        """

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (self._acquisition is None or not self._acquisition.busy):
                    self._changed.wait()
                if self._closing:
                    return
                acquisition = self._acquisition
            assert acquisition is not None
            try:
                self._read(acquisition)
            except SourceError as error:
                acquisition.fault = str(error)
            except Exception as error:  # else Sardana would wait for a thread that has gone
                acquisition.fault = f"{self._what} cannot be read: {type(error).__name__}: {error}"
