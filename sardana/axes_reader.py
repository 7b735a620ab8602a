"""Channels whose values a thread reads: what those of regions and of pipelines have in common."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from penstock.sardana.armed_series import Look, SourceError

Axis = TypeVar("Axis")
"""What one channel shows."""


@dataclass(kw_only=True)
class Expected:
    """What is read of one acquisition: by the reader's thread, except `due`, `stopped` and `given`."""

    per_start: int
    """Frames per start."""
    before: Look | None
    """The detector when the series was announced; it may have been armed already, or not yet."""
    axes: Mapping[int, Any]
    """What each channel showed when the acquisition was prepared."""
    last: str
    """Id of the last acquisition's series, which cannot be that of this one."""
    due: int = 0
    """Frames requested so far."""
    id: str = ""
    upto: int = 0
    """Frames whose values are present, or known to be missing."""
    stopped: bool = False
    """Nobody waits for further values."""
    fault: str = ""
    """Why none will come; a sentence."""
    values: dict[int, Any] = field(default_factory=dict)
    """Values by axis, one per frame."""
    given: dict[int, int] = field(default_factory=dict)
    """Number of values that Sardana was given, by axis."""

    @property
    def over(self) -> bool:
        """True if nothing more will come."""
        return bool(self.fault)

    @property
    def busy(self) -> bool:
        """True if there is something to read."""
        return not (self.stopped or self.over) and self.upto < self.due


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

    def start(self) -> None:
        """Expect the next frames, which have been, or are about to be, triggered; never raises."""
        with self._changed:
            if (acquisition := self._acquisition) is None:
                return
            acquisition.due += acquisition.per_start
            self._started(acquisition)
            self._changed.notify_all()

    def value(self, axis: int) -> Any:
        """Return the value of the frame that was started last; NaN if it has none, or none yet."""
        acquisition = self._acquisition
        if acquisition is None:
            return self._nan(self._axes[axis])
        values, index = acquisition.values.get(axis, ()), acquisition.due - 1
        return values[index] if 0 <= index < len(values) else self._nan(self._used(acquisition, axis))

    def new_values(self, axis: int) -> list[Any]:
        """Return those that were not given yet, in the order of the frames; NaN for each without one."""
        acquisition = self._acquisition
        if acquisition is None:
            return []
        over = acquisition.over and not acquisition.stopped
        first, upto = acquisition.given.get(axis, 0), min(acquisition.upto, acquisition.due)
        found = list(acquisition.values.get(axis, ())[first:upto])
        if over:
            missing = acquisition.due - first - len(found)
            found += [self._nan(self._used(acquisition, axis))] * missing
        acquisition.given[axis] = first + len(found)
        return found

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
    def state(self, axis: int) -> tuple[str, str]:
        """Return the name of Sardana's state, and a sentence."""

    def _started(self, acquisition: Acquired) -> None:
        """Take note that further frames are due."""

    def _nan(self, shown: Axis) -> Any:
        """Return the value of a frame that has none."""
        return math.nan

    def _used(self, acquisition: Acquired, axis: int) -> Axis:
        """Return what a channel showed when the acquisition was prepared."""
        used: Axis = acquisition.axes.get(axis, self._axes[axis])
        return used

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
