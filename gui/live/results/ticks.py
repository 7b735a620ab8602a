"""Numbers at the axis of an image whose columns, or rows, stand for values of an axis: round ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib

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
