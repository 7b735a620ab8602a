"""A result as an image: all curves, one row for each frame, or an image that was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.plot.axes import Places, axes, number
from penstock.gui.live.plot.image_plot import ImagePlot, Pixel
from penstock.gui.live.results.pages.curve_plot import Names
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag

_MARGINS = (84, 8, 18, 46)
"""Left, upper, right and lower margin around the axes: numbers of frames are long."""
LEAST = 64
"""Frames for which there is room at first."""


class _Computed(Whole):
    """Numbers that were computed: negative ones are as good as others, and only NaN is a gap."""

    has_counts = False

    def __init__(self, frame: LastFrame, step: int, marked: npt.NDArray[np.bool_] | None) -> None:
        super().__init__(frame)
        self._step = step
        self._marked = marked if marked is not None and len(marked) == self.shape[0] else None

    @property
    def marked_rows(self) -> npt.NDArray[np.bool_] | None:
        """Rows of which a frame has ended otherwise than done."""
        return self._marked

    @property
    def row_scale(self) -> float:
        """Frames from one row to the next."""
        return float(self._step)


class ResultPlot(ImagePlot):
    """Shows rows of frames, of which one is `step` frames behind the other, or images.

    Rows of frames fill the plot; the axis ends where the series does, or is made longer now and then.
    """

    frame_chosen = qt.Signal(int)
    """The user has pressed twice on the row of a frame."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent, backend="mpl")
        self._step = 1
        self._rows_are_frames = False
        self._names: Names | None = None
        self._across: Places | None = None
        self._along: Places | None = None
        self._planned: int | None = None
        self._fitted: tuple[float, ...] = ()
        self._dressed: tuple[object, ...] = ()
        self._values: tuple[object, ...] = ()
        self._number = 0
        self._marked: npt.NDArray[np.bool_] | None = None
        self._margins = _MARGINS
        self.make_whole = lambda frame: _Computed(frame, self._step, self._marked)
        self.sigPlotSignal.connect(self._look_for_choice)

    def show_rows(
        self, values: npt.NDArray[Any], step: int, series: str, names: Names,
        axis: npt.NDArray[Any] | None, planned: int | None, marked: npt.NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        """Show curves, (rows, points), of every `step`-th frame.

        Args:
            values: the curves.
            step: frames from one row to the next.
            series: id of the series.
            names: of the axis of the curves, and of their values.
            axis: (points,); `None` if it is not known.
            planned: frames of the series.
            marked: rows that have a mark at the left edge, (rows,).
        """
        self._dress(True, names, axis, None, values.shape)
        self._step, self._planned, self._marked = step, planned, marked
        self.show_frame(self._frame(values, 0, series))

    def show_image(
        self, values: npt.NDArray[Any], frame: int | None, series: str, names: Names,
        across: npt.NDArray[Any] | None = None, along: npt.NDArray[Any] | None = None,
    ) -> None:  # fmt: skip
        """Show an image, (rows, columns).

        Args:
            values: the image.
            frame: the frame that it is of; `None`: of none.
            series: id of the series.
            names: of the axes of columns (x) and rows (y).
            across: (columns,), if they stand for values of an axis.
            along: (rows,), likewise.
        """
        self._dress(False, names, across, along, values.shape)
        self._step, self._planned, self._marked = 1, None, None
        self.show_frame(self._frame(values, frame or 0, series))

    def reading(self, pixel: Pixel | None) -> str:
        """Return what is under the cursor."""
        names = self._names
        if pixel is None or names is None:
            return ""
        value = "no value" if pixel.flag is Flag.INVALID else f"{pixel.value:,.6g}"
        x = pixel.column if self._across is None else self._across.value(pixel.column + 0.5)
        if self._rows_are_frames:
            where = f"frame {pixel.row:,}   {_said(names.x, names.x_unit, x)}"
            return f"{where}   {names.y} {value}"
        y = pixel.row if self._along is None else self._along.value(pixel.row + 0.5)
        where = f"{_said(names.y, names.y_unit, y)}   {_said(names.x, names.x_unit, x)}"
        return f"{where}   value {value}"

    def rows_are_frames(self) -> bool:
        """Return whether it shows curves of frames."""
        return self._rows_are_frames

    def resetZoom(self, dataMargins: Any = None) -> None:
        """Show all; of a series that goes on, room for more frames, too."""
        extent = self._extent()
        if not self._rows_are_frames or not extent[1]:
            super().resetZoom(dataMargins)
            return
        self.setLimits(0.0, extent[1], 0.0, self._room(extent[0]))
        self._fitted = self._limits()

    def fit_extent(self) -> None:
        """Show all, unless the user has zoomed in or there is room for the new rows."""
        if not self._rows_are_frames:
            self.resetZoom()
            return
        rows, columns = self._extent()
        if not self._fitted or self._fitted[1] != columns:
            self.resetZoom()
        elif self._limits() == self._fitted:
            room = self._fitted[3]
            if not 0.4 * room <= rows <= room:
                self.resetZoom()

    def _home_limits(self, width: float, height: float) -> tuple[tuple[float, float], tuple[float, float]]:
        rows, columns = self._extent()
        if self._rows_are_frames:
            return (0.0, columns), (0.0, self._room(rows))
        return super()._home_limits(width, height)

    def _room(self, frames: float) -> float:
        """Return for how many frames there is room on the axis."""
        room = float(LEAST)
        while room < frames:
            room *= 2
        return room if self._planned is None else max(frames, min(room, float(self._planned)))

    def _limits(self) -> tuple[float, ...]:
        return (*self.getGraphXLimits(), *self.getGraphYLimits())

    def _frame(self, values: npt.NDArray[Any], frame: int, series: str) -> LastFrame:
        self._number += 1
        kind = values.dtype.newbyteorder("=")
        if kind.name in ("float16", "longdouble", "float128"):
            kind = np.dtype(np.float32 if kind.name == "float16" else np.float64)
        return LastFrame(np.asarray(values, kind), frame, series, self._number, 1)

    def _dress(
        self, rows_are_frames: bool, names: Names, across: npt.NDArray[Any] | None,
        along: npt.NDArray[Any] | None, shape: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Say what the axes count, if that has changed."""
        dress = rows_are_frames, names, id(across), id(along), shape[1]
        if dress == self._dressed:
            return
        self._dressed, self._values = dress, (across, along)  # kept, so that their ids are not used again
        places = Places.of(across, shape[1]), None if rows_are_frames else Places.of(along, shape[0])
        if rows_are_frames != self._rows_are_frames:
            self._fitted = ()
        self._rows_are_frames, self._names = rows_are_frames, names
        self._across, self._along = places
        self.setKeepDataAspectRatio(not rows_are_frames and self._across is None)
        both = axes(self.getBackend())
        if both is not None:
            number(both[0], self._across)
            number(both[1], self._along)
        x, y = names.texts()
        self.getXAxis().setLabel(x or "point")
        self.getYAxis().setLabel("frame" if rows_are_frames else y or "row")
        self._fitted = ()

    def _look_for_choice(self, event: dict[str, Any]) -> None:
        if event["event"] == "mouseDoubleClicked" and self._rows_are_frames:
            pixel = self.pixel_at(float(event["x"]), float(event["y"]))
            if pixel is not None:
                self.frame_chosen.emit(pixel.row)


def _said(name: str, unit: str, value: float) -> str:
    return f"{name} {value:,.6g} {unit}".rstrip()
