"""The picture: a plot whose axes count detector pixels, and the thread that draws what is in sight."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.items import Curve

from penstock.gui import theme
from penstock.gui.background import later
from penstock.gui.live.drawing.blocks import span
from penstock.gui.live.drawing.items import FrameItem, PictureItem
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.drawing.picture import Picture, Port, draw, levels_of
from penstock.gui.live.drawing.pixels import flags_of
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.plot.axes import dress, use_plain
from penstock.gui.live.plot.look import Look
from penstock.gui.live.threads import Worker
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag

_log = logging.getLogger(__name__)

_TITLED, _COMPACT = (72, 8, 18, 46), (52, 8, 16, 24)
"""Left, upper, right and lower margin around the axes, with titles and without: pixels of the screen."""
_LEAST = 120
"""Pixels below which margins shrink with the plot."""


@dataclass(frozen=True)
class Pixel:
    """What is under the cursor."""

    row: int
    column: int
    """In detector pixels, also when the frame is down-sampled."""
    value: float | None
    """`None` if the frame was reduced before it came here: then this pixel's count is not known."""
    flag: Flag


class ImagePlot(PlotWidget):
    """Shows frames with row 0 on top; axes count detector pixels. A spectrum is a curve over its channels.

    Images are reduced to the pixels of the screen, and coloured, in a thread of their own: a frame is on the
    screen some time after `show_frame`, when `shown` is emitted.

    Args:
        backend: silx' plot backend, "mpl" or "gl".
        compact: leave out what the axes count: the picture needs the room.
    """

    pixel = qt.Signal(object)
    """`Pixel` under the cursor, or `None`; also when a new frame has changed its value."""
    shown = qt.Signal(object)
    """`LastFrame` that is on the screen now, once for each that `show_frame` got and none has replaced."""
    drawn = qt.Signal(object)
    """`Picture` that is on the screen now; also after a zoom."""
    treated = qt.Signal()
    """The frame that is on the screen was made again, see `make_again`."""
    failed = qt.Signal(object, object)
    """`LastFrame` that cannot be drawn, and the exception."""

    def __init__(
        self, parent: qt.QWidget | None = None, backend: str = "mpl", *, compact: bool = False
    ) -> None:
        super().__init__(parent, backend=backend)
        self._compact = compact
        self._margins = _COMPACT if compact else _TITLED
        self.look = Look(self)
        self.make_whole: Callable[[LastFrame], Whole] = Whole
        """Makes of a frame what is drawn and measured."""
        self._cursor: tuple[float, float] | None = None
        self._kind = "image"
        self._bare = False
        self._whole: Whole | None = None
        self._shown: Whole | None = None
        """The one on the screen: `_whole`, or one before it."""
        self._untold: LastFrame | None = None
        self._again: Whole | None = None
        """What was made again of a frame that was shown before."""
        self._image = FrameItem()
        self._image.setName("frame")
        self._image.setColormap(self.look.colormap)
        self.setDefaultColormap(self.look.colormap)
        self._picture = PictureItem(self.port)
        self._picture.setName("picture")
        self._picture.setZValue(-1)  # below regions, also those that are known before the first frame
        self._curve = Curve()
        self._curve.setName("spectrum")
        self._curve.setSymbol("")
        self._curve.setColor(theme.current().accent)
        self._curve.setLineWidth(1.2)
        self._painter = Worker("penstock-painter")  # outlives the widget by the picture under way
        self._painter.done.connect(self._take_picture, qt.Qt.QueuedConnection)
        self._painter.failed.connect(self._take_failure, qt.Qt.QueuedConnection)
        self._order_due = later(self._order, self)
        use_plain(self)
        self._lay_out()
        self.sigPlotSignal.connect(self._follow_cursor)
        self.getXAxis().sigLimitsChanged.connect(self._order_soon)
        self.getYAxis().sigLimitsChanged.connect(self._order_soon)
        self.look.changed.connect(self._follow_look)
        self.destroyed.connect(self._painter.ask_to_stop)

    # -- what is on show -----------------------------------------------------------------------

    def image(self) -> FrameItem:
        """Return the item that holds the frame as received."""
        return self._image

    def flags(self) -> npt.NDArray[np.uint8] | None:
        """Return the `Flag` of each pixel of the frame on the screen; `None` before the first image."""
        return None if self._shown is None else self._shown.flags

    def is_current(self) -> bool:
        """Return whether the newest frame, and the part of it that is in sight, is on the screen."""
        shown = self._picture.picture()
        return shown is not None and shown.whole is self._whole and shown.port == self.port()

    def frame_extent(self) -> tuple[int, int] | None:
        """Columns and rows of one image of the frame on show, in detector pixels; `None` before the first.

        Of a down-sampled one they may be too large by less than a step.
        """
        if self._is("spectrum"):
            counts = self._image.getData(copy=False)
            return int(counts.size * self._image.getScale()[0]), 1
        return None if self._whole is None else self._whole.extent

    def picture_extent(self) -> tuple[int, int] | None:
        """Columns and rows of all images of the frame on show, in detector pixels; `None` without one."""
        if self._whole is None:
            return None
        rows, columns = self._whole.shape
        return int(columns * self._whole.scale), int(rows * self._whole.row_scale)

    def whole(self) -> Whole | None:
        """Return the image on the screen, whole; `None` before the first, and of a spectrum."""
        return self._shown

    def take_levels(self) -> None:
        """Take the levels from what is on the screen now; they stay until they follow each frame again."""
        picture, look = self._picture.picture(), self.look
        if picture is not None and picture.seen is not None and not self._is("spectrum"):
            seen, whole = picture.seen, picture.whole
            levels = levels_of(seen, whole, look.scale(), look.percentiles(), seen.extremes.ends)
            if levels is not None:
                look.set_levels(*levels)

    def port(self) -> Port | None:
        """Return what of the frame is in sight; `None` if nothing is."""
        if self._whole is None:
            return None
        (left, right), (top, bottom) = self.getGraphXLimits(), self.getGraphYLimits()
        ratio = self.getWidgetHandle().devicePixelRatioF()
        first, last = (self.dataToPixel(*at, check=False) for at in ((left, top), (right, bottom)))
        rows, columns = self._whole.shape
        across = span((left, right), (first[0] * ratio, last[0] * ratio), columns, self._whole.scale)
        along = span((top, bottom), (first[1] * ratio, last[1] * ratio), rows, self._whole.row_scale)
        return None if across is None or along is None else Port(along, across)

    def home(self) -> tuple[int, int]:
        """Return the rows and columns of the screen that the frame has when all of it is on show."""
        if self._whole is None:
            return 1, 1
        (left, right), (top, bottom) = self.getGraphXLimits(), self.getGraphYLimits()
        ratio = self.getWidgetHandle().devicePixelRatioF()
        first, last = (self.dataToPixel(*at, check=False) for at in ((left, top), (right, bottom)))
        edges = (first[0] * ratio, last[0] * ratio), (first[1] * ratio, last[1] * ratio)
        rows, columns = self._whole.shape
        wide, high = self._home_limits(*self.getPlotBoundsInPixels()[2:])  # by which silx keeps pixels square
        across = span(wide, edges[0], columns, self._whole.scale)
        along = span(high, edges[1], rows, self._whole.row_scale)
        return (1 if along is None else along.size), (1 if across is None else across.size)

    def _home_limits(self, width: float, height: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the limits of x and y where all is on show, on so many pixels of the screen."""
        rows, columns = self._extent()
        if not self.isKeepDataAspectRatio() or width <= 0 or height <= 0:
            return (0.0, columns), (0.0, rows)
        step = max(columns / width, rows / height)
        wide, high = (step * width - columns) / 2, (step * height - rows) / 2
        return (-wide, columns + wide), (-high, rows + high)

    def show_frame(self, frame: LastFrame) -> None:
        """Put `frame` in the place of the one on show; the zoom stays unless the extent changes."""
        self._set_kind(frame.interpretation)
        if frame.interpretation == "spectrum":
            self._show_spectrum(frame)
            return
        before = self._extent()
        self._whole = self.make_whole(frame)
        if self._image.getPlot() is None:
            self.addItem(self._image)
            self.addItem(self._picture)
            self._image.set_whole(self._whole)
            self.setActiveImage(self._image)
        if self._extent() != before:
            self._shown = None
            self._image.set_whole(self._whole)
            self.fit_extent()
        self._order()

    def fit_extent(self) -> None:
        """Show all of a frame of another extent than the one before."""
        self.resetZoom()

    def make_again(self) -> None:
        """Make of the frame on show what `make_whole` makes of it now.

        `treated` follows, or `shown` if the frame is not on the screen yet.
        """
        if self._whole is not None and not self._is("spectrum"):
            was_shown = self._whole is self._shown or self._whole is self._again
            self._whole = self.make_whole(self._whole.frame)
            self._again = self._whole if was_shown else None
            self._order()

    def _take_picture(self, _: str, picture: Picture) -> None:
        if self._whole is None or self._is("spectrum"):
            return
        newly = picture.whole is not self._shown and picture.whole is self._whole
        if picture.whole is not self._whole and picture.whole.shape != self._whole.shape:
            return  # of a frame that has been replaced by one of another kind
        self._shown = picture.whole
        self._image.set_whole(picture.whole)
        self._picture.show_picture(picture)
        if not picture.whole.has_colours:
            self.look.follow(picture.levels)
        if picture.port != self.port():
            self._order_soon()
        self._tell_pixel()
        if newly and picture.whole is self._again:
            self._again = None
            self.treated.emit()
        elif newly:
            self._untold = picture.whole.frame
        # The plot has posted its own drawing to the event loop; this follows it.
        qt.QTimer.singleShot(0, self._tell_drawn)

    def _tell_drawn(self) -> None:
        picture = self._picture.picture()
        if picture is not None and not self._is("spectrum"):
            self.drawn.emit(picture)
        frame, self._untold = self._untold, None
        if frame is not None:
            self.shown.emit(frame)

    def _take_failure(self, _: str, error: Exception) -> None:
        if self._whole is not None:
            _log.error("frame %d cannot be drawn", self._whole.frame.frame, exc_info=error)
            self.failed.emit(self._whole.frame, error)

    def _order_soon(self, *_: object) -> None:
        """Have what is in sight drawn, once for all changes that are under way."""
        if self._whole is not None and not self._is("spectrum"):
            self._order_due.start()

    def _order(self) -> None:
        self._order_due.stop()
        if self._whole is not None and not self._is("spectrum"):
            self._painter.ask(
                "picture", partial(draw, self._whole, self.port(), self.look.style(), self.home())
            )

    def _is(self, kind: str) -> bool:
        """Return whether the frame on show is an "image", a "spectrum" or an "rgba-image"."""
        return self._kind == kind

    def _set_kind(self, kind: str) -> None:
        """Show the items of this kind of frame, and the axes that suit it."""
        if self._is(kind):
            return
        self._kind = kind
        spectrum = self._is("spectrum")
        self._image.setVisible(not spectrum)
        self._picture.setVisible(not spectrum)
        self._curve.setVisible(spectrum)
        if spectrum:
            self._whole = self._shown = None
            if self._curve.getPlot() is None:
                self.addItem(self._curve)
        self.setKeepDataAspectRatio(not spectrum)
        self.getYAxis().setInverted(not spectrum)
        self._name_axes("channel" if spectrum else "column (pixel)", "counts" if spectrum else "row (pixel)")
        self._scale_spectrum()

    def _show_spectrum(self, frame: LastFrame) -> None:
        """Draw a curve; the image item keeps the counts, which the cursor reads."""
        before = self._image.getData(copy=False).shape
        step = float(frame.downsample)
        self._image.set_counts(frame.array[np.newaxis], step)
        channels = frame.x + np.arange(frame.array.size) * step
        counts = np.where(flags_of(frame, frame.array) == Flag.INVALID, np.nan, frame.array)
        self._curve.setData(channels, counts, copy=False)
        if before != (1, frame.array.size):
            self.getXAxis().setLimits(channels[0] - step / 2, channels[-1] + step / 2)
        self._rescale_spectrum()
        self._tell_pixel()
        self._untold = frame
        qt.QTimer.singleShot(0, self._tell_drawn)

    def _follow_look(self) -> None:
        self._scale_spectrum()
        self._rescale_spectrum()
        self._order_soon()

    def _scale_spectrum(self) -> None:
        logarithmic = self._is("spectrum") and self.look.scale() is Scale.LOG
        self.getYAxis().setScale("log" if logarithmic else "linear")

    def _rescale_spectrum(self) -> None:
        if not self._is("spectrum") or not self.look.is_autoscale():
            return
        counts, logarithmic = self._curve.getYData(copy=False), self.look.scale() is Scale.LOG
        least, most = (1.0 if logarithmic else 0.0), float(np.nanmax(counts, initial=1.0))
        lowest = least if logarithmic else min(least, float(np.nanmin(counts, initial=0.0)))
        self.getYAxis().setLimits(lowest, most * 1.05)

    # -- what is under the cursor --------------------------------------------------------------

    def pixel_at(self, x: float, y: float) -> Pixel | None:
        """Return the pixel at plot position (x, y) in detector pixels; `None` outside the image."""
        image = self._image.getData(copy=False)
        scale = self._image.getScale()
        column, row = int(np.floor(x / scale[0])), int(np.floor(y / scale[1]))
        if self._is("spectrum"):
            y, row = 0, 0  # anywhere above or below a channel
        elif self._shown is None:
            return None
        if not (0 <= row < image.shape[0] and 0 <= column < image.shape[1]):
            return None
        if self._shown is not None and self._shown.is_reduced:
            return Pixel(int(np.floor(y)), int(np.floor(x)), None, Flag.GOOD)
        flag = Flag.GOOD if self._shown is None else self._shown.flag(row, column)
        return Pixel(int(row * scale[1]), int(column * scale[0]), image[row, column].item(), flag)

    def cursor(self) -> tuple[float, float] | None:
        """Return column and row under the cursor, fractions of a pixel too; `None` outside the plot."""
        return self._cursor

    def _extent(self) -> tuple[float, float]:
        if self._whole is not None:
            rows, columns = self._whole.shape
            return rows * self._whole.row_scale, columns * self._whole.scale
        rows, columns = self._image.getData(copy=False).shape
        across, along = self._image.getScale()
        return rows * along, columns * across

    def _follow_cursor(self, event: dict[str, object]) -> None:
        if event["event"] == "mouseMoved":
            self._cursor = (float(event["x"]), float(event["y"]))  # type: ignore[arg-type]
            self._tell_pixel()

    def _tell_pixel(self) -> None:
        if self._cursor is not None:
            self.pixel.emit(self.pixel_at(*self._cursor))

    # -- the widget ----------------------------------------------------------------------------

    def is_running(self) -> bool:
        """Return whether the thread that draws lives."""
        return self._painter.is_running()

    def ask_to_stop(self) -> None:
        """End the thread that draws, without waiting for it."""
        self._painter.ask_to_stop()

    def stop(self) -> None:
        """End the thread that draws, and wait for it."""
        self._painter.stop()

    def set_bare(self, bare: bool) -> None:
        """Show the picture without axes."""
        self._bare = bare
        self.setAxesDisplayed(not bare)
        self.resizeEvent(qt.QResizeEvent(self.size(), self.size()))

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the axes' labels whole: silx' margins are parts of the width, text is not."""
        super().resizeEvent(event)
        width, height = max(self.width(), _LEAST), max(self.height(), _LEAST)
        if self._bare:
            self.setAxesMargins(0, 0, 0, 0)
        else:
            left, upper, right, lower = self._margins
            self.setAxesMargins(left / width, upper / height, right / width, lower / height)
        self._order_soon()
        # silx has kept pixels square with the margins of before, and zooms out with each change of shape.
        if self._is("spectrum"):
            return
        (left, right), (top, bottom) = self.getGraphXLimits(), self.getGraphYLimits()
        rows, columns = self._extent()
        if left <= 0 and right >= columns and top <= 0 and bottom >= rows:
            self.resetZoom()
        else:
            self.setLimits(left, right, top, bottom)

    def _name_axes(self, across: str, along: str) -> None:
        """Say what the axes count, where there is room: silx would say X and Y."""
        self.getXAxis().setLabel("" if self._compact else across)
        self.getYAxis().setLabel("" if self._compact else along)

    def leaveEvent(self, event: qt.QEvent) -> None:
        """The cursor has left: no pixel."""
        super().leaveEvent(event)
        self._cursor = None
        self.pixel.emit(None)

    def _lay_out(self) -> None:
        self.setKeepDataAspectRatio(True)
        self.getYAxis().setInverted(True)
        self._name_axes("column (pixel)", "row (pixel)")
        dress(self, theme.current().window)
        self.setInteractiveMode("zoom")
