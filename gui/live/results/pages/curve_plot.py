"""Curves of frames over the axis of their result: the newest, those before it, and one that is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt
from silx.gui.plot import items as silx_items

from penstock.gui import theme
from penstock.gui.live.plot.curves import LinePlot, OverAxes

Values = npt.NDArray[Any]
_MARGINS = (86, 18, 30, 46)
_MARGIN = 0.05
"""Share of the axis that is left free above and below."""
_SMALL = 0.4
"""A part of the axis that is too little for the curves: the axis is found anew."""
_FAINT, _BAND = 0.55, 0.28
"""Opacity of the first curve before the newest, which others behind it have less of; of the band."""


@dataclass(frozen=True, eq=False)
class Line:
    """One curve."""

    name: str
    """What it is, such as "frame 12"."""
    x: Values
    y: Values
    sigma: Values | None = None
    held: bool = False


@dataclass(frozen=True)
class Names:
    """What stands at the axes."""

    x: str = ""
    x_unit: str = ""
    y: str = ""
    y_unit: str = ""

    def texts(self) -> tuple[str, str]:
        """Return the labels of both axes."""
        return _labelled(self.x, self.x_unit), _labelled(self.y, self.y_unit)


class _Band(silx_items.Curve):
    """Values with their standard deviations, as an area over axes that are not drawn again for it."""

    def __init__(self) -> None:
        super().__init__()
        self._edges: tuple[Values, Values] = (np.zeros(0), np.zeros(0))

    def set_band(self, x: Values, y: Values, sigma: Values) -> None:
        """Draw from y - sigma to y + sigma."""
        self._edges = y - sigma, y + sigma
        self.setData(x, y, copy=False)

    def isOverlay(self) -> bool:
        """Return true: it is drawn above the rest."""
        return True

    def _addBackendRenderer(self, backend: Any) -> Any:
        x, (low, high) = self.getXData(copy=False), self._edges
        if len(x) != len(low):
            return None
        if backend.ax.get_yscale() == "log":
            low, high = (np.where(each > 0, each, np.nan) for each in (low, high))
            low = np.where(np.isnan(low) & ~np.isnan(high), backend.ax.get_ylim()[0], low)
        area = backend.ax.fill_between(x, low, high, color=self.getColor(), linewidth=0, animated=True)
        area.set_zorder(1)
        return area


class CurvePlot(LinePlot):
    """Draws the newest curve thick, with a band of its errors; its axes stay unless curves leave them."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(_MARGINS, theme.current().window, parent)
        self._lines: tuple[Line, ...] = ()
        self._drawn: list[OverAxes] = []
        self._band = _Band()
        self._names = Names()
        self._follows = True
        """True if the axes are ours to set: the user has not zoomed."""
        self._setting = False
        self.setGraphGrid(True)
        self.setInteractiveMode("zoom")
        self.setAccessibleName("Curves of frames")
        for axis in (self.getXAxis(), self.getYAxis()):
            axis.sigLimitsChanged.connect(self._note_limits)
            axis.sigScaleChanged.connect(lambda _: self._scale_changed())

    def lines(self) -> tuple[Line, ...]:
        """Return what is drawn, the newest last."""
        return self._lines

    def show_lines(self, lines: Sequence[Line], names: Names, kind: object = None) -> None:
        """Draw these, and no others.

        Args:
            lines: the newest last.
            names: what stands at the axes.
            kind: for curves of another kind than those before the axes are found anew.
        """
        if names != self._names:
            self._names = names
            for axis, text in zip((self.getXAxis(), self.getYAxis()), names.texts(), strict=True):
                axis.setLabel(text)
        self._lines = tuple(lines)
        self._match_items()
        if kind != self._kind:
            self._kind, self._follows = kind, True
            self._fit(anew=True)
        else:
            self._fit(anew=False)

    def resetZoom(self, dataMargins: Any = None) -> None:
        """Show all of the curves, and follow them from now on."""
        self._follows = True
        self._fit(anew=True)

    def follows(self) -> bool:
        """Return whether the axes follow the curves; not after the user has zoomed."""
        return self._follows

    def _match_items(self) -> None:
        """Have an item for each line, and give it the line's numbers."""
        while len(self._drawn) > len(self._lines):
            self.removeItem(self._drawn.pop())
        while len(self._drawn) < len(self._lines):
            item = OverAxes()
            item.setName(f"curve {len(self._drawn)}")
            item.setSymbol("")
            self._drawn.append(item)
            self.addItem(item)
        colours = theme.current()
        others = sum(not each.held for each in self._lines[:-1])
        place = 0
        for item, line in zip(self._drawn, self._lines, strict=True):
            is_newest = line is self._lines[-1]
            ink = qt.QColor(colours.warning if line.held else colours.accent)
            if not line.held and not is_newest:
                place += 1
                ink.setAlphaF(_FAINT * place / (others + 1) + 0.08)
            item.setData(line.x, line.y, copy=False)
            item.setColor(ink.getRgbF())
            item.setLineWidth(1.6 if is_newest or line.held else 1.0)
            item.setZValue(3 if is_newest else 2)
        self._match_band()

    def _match_band(self) -> None:
        newest = self._lines[-1] if self._lines else None
        if newest is None or newest.sigma is None:
            if self._band.getPlot() is not None:
                self.removeItem(self._band)
            return
        ink = qt.QColor(theme.current().accent)
        ink.setAlphaF(_BAND)
        self._band.setColor(ink.getRgbF())
        self._band.setZValue(1)
        self._band.setName("errors")
        self._band.set_band(newest.x, newest.y, newest.sigma)
        if self._band.getPlot() is None:
            self.addItem(self._band)

    # -- axes ----------------------------------------------------------------------------------------

    def _fit(self, *, anew: bool) -> None:
        """Set the axes where curves have left them, or need much less."""
        if not self._follows or not self._lines:
            return
        across = _range([line.x for line in self._lines], self.getXAxis().getScale() == "log", 0.0)
        along = _range(_with_errors(self._lines), self.getYAxis().getScale() == "log", _MARGIN)
        self._setting = True
        for axis, wanted in ((self.getXAxis(), across), (self.getYAxis(), along)):
            if wanted is not None and (anew or _is_out(axis.getLimits(), wanted, axis.getScale() == "log")):
                axis.setLimits(*wanted)
        self._setting = False

    def _scale_changed(self) -> None:
        self._follows = True
        self._fit(anew=True)

    def _note_limits(self, *_: object) -> None:
        if not self._setting:
            self._follows = False

    # -- what is under the cursor --------------------------------------------------------------------

    def text_at(self, x: float) -> str:
        """Return what the newest curve has nearest to this place."""
        line = self._lines[-1] if self._lines else None
        if line is None or not len(line.x) or not np.isfinite(line.x).any():
            return ""
        place = int(np.nanargmin(np.abs(line.x - x)))
        names = self._names
        said = f"{names.x} {line.x[place]:,.6g} {names.x_unit}".rstrip()
        value = f"{line.y[place]:,.6g}"
        if line.sigma is not None:
            value += f" ± {line.sigma[place]:,.3g}"
        return f"{said}   {names.y} {value} {names.y_unit}".rstrip()


def _labelled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _with_errors(lines: Sequence[Line]) -> list[Values]:
    found = [line.y for line in lines]
    newest = lines[-1]
    if newest.sigma is not None:
        found += [newest.y - newest.sigma, newest.y + newest.sigma]
    return found


def _range(values: Sequence[Values], logarithmic: bool, margin: float) -> tuple[float, float] | None:
    """Return the least and the greatest of these numbers, with a margin; `None` if there are none."""
    every = np.concatenate([np.asarray(each, np.float64).ravel() for each in values])
    every = every[np.isfinite(every)]
    if logarithmic:
        every = every[every > 0]
    if not len(every):
        return (1.0, 10.0) if logarithmic else None
    low, high = float(every.min()), float(every.max())
    if logarithmic:
        factor = (high / low) ** margin if high > low else 10.0 if margin else 2.0
        return low / factor, high * factor
    more = margin * (high - low) or (0.0 if high > low else max(0.5, 0.05 * abs(high)))
    return low - more, high + more


def _is_out(now: tuple[float, float], wanted: tuple[float, float], logarithmic: bool) -> bool:
    """Return whether an axis has to change: something is out of sight, or takes a small part of it."""
    if logarithmic:
        if now[0] <= 0:
            return True
        now, wanted = (tuple(np.log10(each)) for each in (now, wanted))
    slack = 0.8 * _MARGIN * (wanted[1] - wanted[0])
    return (
        wanted[0] + slack < now[0] - 1e-12 or wanted[1] - slack > now[1] + 1e-12
        or wanted[1] - wanted[0] < _SMALL * (now[1] - now[0])
    )  # fmt: skip
