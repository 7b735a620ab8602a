"""One frame after the other comes on the screen, no faster than the window can draw them.

That is when the event loop has nothing else to do; frames per second are counted as they are drawn.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from silx.gui import qt

from penstock.gui.background import later
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.receiver.client import LastFrame

SPAN = 3.0
"""Seconds looked back at."""


class Meter:
    """Counts events; times are seconds of any one clock that never goes back."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def tick(self, now: float) -> None:
        """Count one event."""
        self._times.append(now)

    def rate(self, now: float) -> float:
        """Events a second over the last `SPAN` seconds; 0 once they have stopped for so long."""
        while self._times and self._times[0] < now - SPAN:
            self._times.popleft()
        if len(self._times) < 2:
            return 0.0
        return (len(self._times) - 1) / max(self._times[-1] - self._times[0], 1e-3)


LEAST = 0.01
"""Seconds that the loop must be idle."""
MOST = 0.5
"""Seconds after which the call is made all the same: a window that is busy otherwise is slow, not dead."""
LATE = 0.02
"""Seconds late at which a clock says that the loop had something else to do."""


class Idle(qt.QObject):
    """Calls back once the loop was idle as long as the work before took: so it is half busy at most.

    Args:
        then: what to call.
    """

    def __init__(self, then: Callable[[], None], parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._then = then
        self._timer = later(self._look, self)
        self._timer.setTimerType(qt.Qt.PreciseTimer)
        self._due = self._give_up = 0.0

    def wait(self, after: float = 0.0) -> None:
        """Begin to wait, after work that took so many seconds."""
        now = time.monotonic()
        self._give_up = now + max(MOST, after)
        self._begin(now, max(LEAST, min(after, MOST)))

    def forget(self) -> None:
        """Call nobody for the work before: more has come."""
        self._timer.stop()

    def _begin(self, now: float, seconds: float) -> None:
        self._due = now + seconds
        self._timer.start(int(seconds * 1000) + 1)

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._due > LATE and now < self._give_up:
            self._begin(now, LEAST)
            return
        self._then()


class Screen(qt.QObject):
    """Has frames drawn, counts them, and tells when the next one may come.

    Args:
        plot: draws them.
    """

    shown = qt.Signal(object)
    """`LastFrame` that is on the screen now."""
    failed = qt.Signal(object, object)
    """`LastFrame` that cannot be drawn, and the exception."""
    counted = qt.Signal(int)
    """How many frames were drawn, those that could not be among them; after `shown` or `failed`."""
    ready = qt.Signal()
    """The newest frame is drawn, and the window is idle."""

    def __init__(self, plot: ImagePlot, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._plot = plot
        self._frame: LastFrame | None = None
        """The one that was last given to the plot."""
        self._shown: LastFrame | None = None
        """The one on the screen."""
        self._drawn = 0
        self._began = 0.0
        self._meter = Meter()
        self._idle = Idle(self.ready.emit, self)
        plot.shown.connect(self._show)
        plot.failed.connect(self._fail)

    def put(self, frame: LastFrame) -> None:
        """Have a frame drawn."""
        if frame is self._frame:
            self.ready.emit()
            return
        self._frame = frame
        self._idle.forget()  # the one before was drawn, and this one is not yet
        self._began = time.thread_time()
        self._plot.show_frame(frame)

    def forget(self) -> None:
        """Take what is on the screen for nobody's: the next frame is of another source."""
        self._frame = self._shown = None

    def is_empty(self) -> bool:
        """Return whether no frame was given to it yet."""
        return self._frame is None

    def frame(self) -> LastFrame | None:
        """Return the one that is on the screen; `None` before the first."""
        return self._shown

    def drawn(self) -> int:
        """Return how many frames were drawn."""
        return self._drawn

    def rate(self) -> float:
        """Return how many are drawn per second."""
        return self._meter.rate(time.monotonic())

    def _show(self, frame: LastFrame) -> None:
        if frame is self._frame:  # else it is of a source that is no longer followed
            self._shown = frame
            self.shown.emit(frame)
            self._count()

    def _fail(self, frame: LastFrame, error: Exception) -> None:
        self.failed.emit(frame, error)
        self._count()

    def _count(self) -> None:
        self._drawn += 1
        self._meter.tick(time.monotonic())
        self._idle.wait(time.thread_time() - self._began)
        self.counted.emit(self._drawn)
