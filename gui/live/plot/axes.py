"""Numbers along the axes of a plot: the power of ten at the end; round ones where they stand for values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator
from silx.gui.plot import PlotWidget
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib
from silx.gui.utils.matplotlib import DefaultTickFormatter

from penstock.gui import theme

_WHOLE_PART = re.compile(r"\d+")
_FORMULA = "$\\mathdefault{", "}$"


class _Plain(DefaultTickFormatter):
    """The same numbers as text, with commas between thousands: silx has each set as a formula, which takes
    matplotlib much longer."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a tick."""
        begin, end = _FORMULA
        text = str(super().__call__(x, pos)).removeprefix(begin).removesuffix(end)
        return _WHOLE_PART.sub(lambda found: f"{int(found[0]):,}", text, count=1)


def use_plain(plot: PlotWidget) -> None:
    """Have them drawn as text, and the power of ten like the numbers beside it.

    For that one silx 3.1 wants "heavy", which matplotlib's own font has not, and says on the terminal; a bold
    one would be of another font.
    """
    backend = plot.getBackend()
    if isinstance(backend, BackendMatplotlib):
        for axis in (backend.ax.xaxis, backend.ax.yaxis, backend.ax2.yaxis):
            axis.set_major_formatter(_Plain())
            axis.get_offset_text().set_weight("normal")


def dress(plot: PlotWidget, ground: str) -> None:
    """Give a plot the colours of the theme, and no title; `ground`: colour around the axes."""
    colours = theme.current()
    plot.setBackgroundColor(ground)
    plot.setDataBackgroundColor(colours.beside)
    plot.setForegroundColor(colours.muted)
    plot.setGridColor(colours.line)
    plot.setGraphTitle("")


_NUMBERS = 9


class Places:
    """What values the places of an image have: pixel i is from i to i + 1, and has `values[i]` in its middle.

    Args:
        values: (n,), ascending or descending.
    """

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = np.asarray(values, np.float64)
        self._middles = np.arange(len(values)) + 0.5

    @classmethod
    def of(cls, values: npt.NDArray[Any] | None, pixels: int) -> Places | None:
        """Return them; `None` if there are none, or they are not of this image, or go to and fro."""
        if values is None or values.shape != (pixels,) or pixels < 2 or not np.isfinite(values).all():
            return None
        steps = np.diff(np.asarray(values, np.float64))
        return cls(values) if (steps > 0).all() or (steps < 0).all() else None

    def value(self, place: float) -> float:
        """Return the value of a place, beyond the image too."""
        return float(_extended(place, self._middles, self._values))

    def place(self, value: float) -> float:
        """Return the place of a value."""
        values, middles = self._values, self._middles
        if values[-1] < values[0]:
            values, middles = values[::-1], middles[::-1]
        return float(_extended(value, values, middles))


class Ticks(Locator):
    """Places that have round values."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._round = MaxNLocator(nbins=_NUMBERS, steps=[1, 2, 2.5, 5, 10])

    def __call__(self) -> Any:
        """Return the places of what is in sight."""
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the places from one to another."""
        ends = sorted((self._places.value(vmin), self._places.value(vmax)))
        return np.array([self._places.place(each) for each in self._round.tick_values(*ends)])


def number(axis: Any, places: Places | None) -> None:
    """Have an axis of matplotlib count these values; `None`: pixels, in whole numbers."""
    if places is None:
        axis.set_major_locator(MaxNLocator(nbins=_NUMBERS, steps=[1, 2, 5, 10], integer=True))
        axis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}"))
        return
    axis.set_major_locator(Ticks(places))
    axis.set_major_formatter(FuncFormatter(lambda at, _: f"{places.value(at):,.6g}"))


def axes(backend: Any) -> tuple[Any, Any] | None:
    """Return matplotlib's axes for columns and rows; `None` of another backend."""
    return (backend.ax.xaxis, backend.ax.yaxis) if isinstance(backend, BackendMatplotlib) else None


def _extended(at: float, xs: npt.NDArray[Any], ys: npt.NDArray[Any]) -> float:
    if at < xs[0]:
        return float(ys[0] + (at - xs[0]) * (ys[1] - ys[0]) / (xs[1] - xs[0]))
    if at > xs[-1]:
        return float(ys[-1] + (at - xs[-1]) * (ys[-1] - ys[-2]) / (xs[-1] - xs[-2]))
    return float(np.interp(at, xs, ys))
