"""The picture: one image item that is updated, and over it the pixels that carry no count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.colors import Colormap
from silx.gui.plot import PlotWidget
from silx.gui.plot.items import Curve, ImageData, ImageRgba

from penstock.gui import theme
from penstock.gui.live import colours
from penstock.gui.live.levels import autoscale
from penstock.gui.live.pixels import Flag, as_bytes, as_numbers, flags, outside
from penstock.receiver.client import LastFrame

_LEFT, _BOTTOM, _EDGE = 78, 58, 18
"""Margins around the axes: pixels of the screen."""


@dataclass(frozen=True)
class Pixel:
    """What is under the cursor."""

    row: int
    column: int
    """In detector pixels, also when the frame is down-sampled."""
    value: float
    flag: Flag


class ImagePlot(PlotWidget):
    """Shows frames with row 0 on top; axes count detector pixels. A spectrum is a curve over its channels."""

    pixel = qt.Signal(object)
    """`Pixel` under the cursor, or `None`; also when a new frame has changed its value."""

    def __init__(self, parent: qt.QWidget | None = None, backend: str = "mpl") -> None:
        super().__init__(parent, backend=backend)
        self._logarithmic = False
        self._autoscale = True
        self._mask_shown = True
        self._cursor: tuple[float, float] | None = None
        self._frame_extent: tuple[int, int] | None = None
        self._flags: npt.NDArray[np.uint8] | None = None
        self._image = ImageData()
        self._image.setName("frame")
        self._image.setColormap(colours.image_colours())
        self.setDefaultColormap(self._image.getColormap())
        self._kind = "image"
        self._colours = ImageRgba()
        self._colours.setName("colours")
        self._colours.setZValue(1)
        self._curve = Curve()
        self._curve.setName("spectrum")
        self._curve.setSymbol("")
        self._curve.setColor(theme.current().accent)
        self._curve.setLineWidth(1.2)
        self._overlay = ImageData()
        self._overlay.setName("invalid pixels")
        self._overlay.setColormap(colours.flag_colours())
        self._overlay.setZValue(1)
        self._lay_out()
        self.sigPlotSignal.connect(self._follow_cursor)

    def image(self) -> ImageData:
        """Return the item that holds the frame as received."""
        return self._image

    def overlay(self) -> ImageData:
        """Return the item that holds the `Flag`s."""
        return self._overlay

    def colours(self) -> Colormap:
        """Return the image's colour map."""
        return self._image.getColormap()

    def show_frame(self, frame: LastFrame) -> None:
        """Put `frame` in the place of the one on show; the zoom stays unless the extent changes."""
        self._set_kind(frame.interpretation)
        if frame.interpretation == "spectrum":
            self._show_spectrum(frame)
            return
        before = self._extent()
        # k blobs a frame (modules, thresholds) are drawn one below the other.
        array = frame.array.reshape(-1, frame.array.shape[-1])
        rows, columns = frame.array.shape[-2:]
        if frame.interpretation == "rgba-image":
            array = frame.array.mean(-1)  # what the cursor reads, below the colours
            rows, columns = array.shape
        array = as_numbers(array)
        shape_changed = self._image.getData(copy=False).shape != array.shape
        gaps = None
        if frame.modules and frame.array.ndim == 2:
            gaps = outside(array.shape, frame.modules, frame.x, frame.y, frame.downsample)
        found = (
            np.zeros(array.shape, np.uint8)
            if self._is("rgba-image")
            else flags(array, frame.saturation, gaps)
        )
        if shape_changed:
            self._image.setMaskData(None)
        scale = (float(frame.downsample), float(frame.downsample))
        self._frame_extent = columns * frame.downsample, rows * frame.downsample
        self._image.setData(array, copy=False)
        self._image.setScale(scale)
        if shape_changed or self._flags is None or not np.array_equal(found, self._flags):
            self._flags = found
            # silx' own tools (profile, histogram, colour dialog) leave masked pixels out.
            self._image.setMaskData(found if found.any() else None, copy=False)
            self._overlay.setData(found, copy=False)
            self._overlay.setScale(scale)
            self._show_overlay()
        if self._image.getPlot() is None:
            self.addItem(self._image)
            self.addItem(self._overlay)
            self.setActiveImage(self._image)
        if self._is("rgba-image"):
            self._colours.setData(as_bytes(frame.array), copy=False)
            self._colours.setScale(scale)
        self._rescale()
        if self._extent() != before:
            self.resetZoom()
        self._tell_pixel()

    def _is(self, kind: str) -> bool:
        """Return whether the frame on show is an "image", a "spectrum" or an "rgba-image"."""
        return self._kind == kind

    def _set_kind(self, kind: str) -> None:
        """Show the items of this kind of frame, and the axes that suit it."""
        if self._is(kind):
            return
        self._kind = kind
        spectrum = self._is("spectrum")
        self._flags = None  # all is drawn anew
        self._image.setVisible(not spectrum)
        self._overlay.setVisible(False)
        self._colours.setVisible(self._is("rgba-image"))
        self._curve.setVisible(spectrum)
        if spectrum and self._curve.getPlot() is None:
            self.addItem(self._curve)
        if self._is("rgba-image") and self._colours.getPlot() is None:
            self.addItem(self._colours)
        self.setKeepDataAspectRatio(not spectrum)
        self.getYAxis().setInverted(not spectrum)
        self.getXAxis().setLabel("channel" if spectrum else "column (pixel)")
        self.getYAxis().setLabel("counts" if spectrum else "row (pixel)")
        self.getYAxis().setScale("log" if spectrum and self._logarithmic else "linear")

    def _show_spectrum(self, frame: LastFrame) -> None:
        """Draw a curve; the image item keeps the counts, which the cursor reads."""
        changed = self._flags is None or self._flags.size != frame.array.size
        step = float(frame.downsample)
        self._image.setMaskData(None)
        self._image.setData(frame.array[np.newaxis], copy=False)
        self._image.setScale((step, step))
        self._flags = flags(frame.array[np.newaxis], frame.saturation)
        self._frame_extent = frame.array.size * frame.downsample, 1
        channels = frame.x + np.arange(frame.array.size) * step
        self._curve.setData(channels, frame.array.astype(np.float64), copy=False)
        if changed:
            self.getXAxis().setLimits(channels[0] - step / 2, channels[-1] + step / 2)
        self._rescale()
        self._tell_pixel()

    def frame_extent(self) -> tuple[int, int] | None:
        """Columns and rows of one image of the frame on show, in detector pixels; `None` before the first.

        Of a down-sampled one they may be too large by less than a step.
        """
        return self._frame_extent

    def set_logarithmic(self, on: bool) -> None:
        """Logarithmic or linear colours."""
        self._logarithmic = on
        colormap = self.colours()
        low, high = colormap.getVRange()
        if on and low is not None and low <= 0:
            colormap.setVRange(min(1.0, high / 10) if high > 0 else 1.0, high if high > 0 else 10.0)
        colormap.setNormalization(Colormap.LOGARITHM if on else Colormap.LINEAR)
        self.getYAxis().setScale("log" if on and self._is("spectrum") else "linear")
        self._rescale()

    def is_logarithmic(self) -> bool:
        """Return whether colours are logarithmic."""
        return self._logarithmic

    def set_autoscale(self, on: bool) -> None:
        """Levels that follow each frame, or that stay as they are."""
        self._autoscale = on
        self._rescale()

    def is_autoscale(self) -> bool:
        """Return whether levels follow each frame."""
        return self._autoscale

    def set_mask_shown(self, on: bool) -> None:
        """Whether pixels without a count have a colour of their own; autoscale leaves them out anyhow."""
        self._mask_shown = on
        self._show_overlay()

    def set_colours(self, name: str) -> None:
        """Choose a colour map by its key in `colours.NAMES`."""
        self.colours().setName(colours.NAMES[name])

    def pixel_at(self, x: float, y: float) -> Pixel | None:
        """Return the pixel at plot position (x, y) in detector pixels; `None` outside the image."""
        image = self._image.getData(copy=False)
        scale = self._image.getScale()
        column, row = int(np.floor(x / scale[0])), int(np.floor(y / scale[1]))
        if self._is("spectrum"):
            y, row = 0, 0  # anywhere above or below a channel
        if self._flags is None or not (0 <= row < image.shape[0] and 0 <= column < image.shape[1]):
            return None
        return Pixel(
            row=int(row * scale[1]), column=int(column * scale[0]),
            value=image[row, column].item(), flag=Flag(int(self._flags[row, column])),
        )  # fmt: skip

    def _show_overlay(self) -> None:
        # Drawn only where it has something to show: it costs as much as the frame itself.
        self._overlay.setVisible(self._mask_shown and self._flags is not None and bool(self._flags.any()))

    def _rescale(self) -> None:
        if not self._autoscale or self._flags is None:
            return
        if self._is("spectrum"):
            counts = self._image.getData(copy=False)
            least, most = (1.0 if self._logarithmic else 0.0), float(np.nanmax(counts, initial=1.0))
            lowest = least if self._logarithmic else min(least, float(np.nanmin(counts, initial=0.0)))
            self.getYAxis().setLimits(lowest, most * 1.05)
            return
        image = self._image.getData(copy=False)
        levels = autoscale(image, self._flags == Flag.GOOD, logarithmic=self._logarithmic)
        if levels is not None:
            self.colours().setVRange(*levels)

    def _extent(self) -> tuple[float, float]:
        rows, columns = self._image.getData(copy=False).shape
        scale = self._image.getScale()
        return rows * scale[1], columns * scale[0]

    def _follow_cursor(self, event: dict[str, object]) -> None:
        if event["event"] == "mouseMoved":
            self._cursor = (float(event["x"]), float(event["y"]))  # type: ignore[arg-type]
            self._tell_pixel()

    def _tell_pixel(self) -> None:
        if self._cursor is not None:
            self.pixel.emit(self.pixel_at(*self._cursor))

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the axes' labels whole: silx' margins are parts of the width, text is not."""
        super().resizeEvent(event)
        width, height = max(self.width(), 200), max(self.height(), 200)
        self.setAxesMargins(_LEFT / width, _EDGE / height, _EDGE / width, _BOTTOM / height)
        # silx has kept pixels square with the margins of before, and zooms out with each change of shape.
        if self._is("spectrum"):
            return
        (left, right), (top, bottom) = self.getGraphXLimits(), self.getGraphYLimits()
        rows, columns = self._extent()
        if left <= 0 and right >= columns and top <= 0 and bottom >= rows:
            self.resetZoom()
        else:
            self.setLimits(left, right, top, bottom)

    def leaveEvent(self, event: qt.QEvent) -> None:
        """The cursor has left: no pixel."""
        super().leaveEvent(event)
        self._cursor = None
        self.pixel.emit(None)

    def _lay_out(self) -> None:
        self.setKeepDataAspectRatio(True)
        self.getYAxis().setInverted(True)
        self.getXAxis().setLabel("column (pixel)")
        self.getYAxis().setLabel("row (pixel)")
        self.setGraphTitle("")
        self.setBackgroundColor(theme.current().window)
        self.setDataBackgroundColor(theme.current().beside)
        self.setForegroundColor(theme.current().muted)
        self.setGridColor(theme.current().line)
        self.setInteractiveMode("zoom")
