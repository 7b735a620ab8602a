"""One frame after the other comes on the screen, no faster than the window can draw them."""

from __future__ import annotations

import time

from silx.gui import qt

from penstock.gui.live.idle import Idle
from penstock.gui.live.image_plot import ImagePlot
from penstock.gui.live.meter import Meter
from penstock.receiver.client import LastFrame


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
