"""What a result is drawn in: a plot of curves, of numbers over frames, an image, a number; or a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import page_label
from penstock.gui.layouts import in_row
from penstock.gui.live.drawing.picture import Picture as Drawn
from penstock.gui.live.plot.colour_bar import ColourBar
from penstock.gui.live.plot.curves import Curve, RegionCurve
from penstock.gui.live.plot.histogram import LevelsTool
from penstock.gui.live.results.pages.curve_plot import CurvePlot, Line, Names
from penstock.gui.live.results.pages.image_plot import ResultPlot
from penstock.gui.live.results.pages.save import Table, file_name
from penstock.gui.live.results.sentences import why_nothing
from penstock.gui.live.results.sources.held import rows_with_gaps
from penstock.gui.live.results.sources.snapshot import (
    Curves,
    OverFrames,
    Page,
    Picture,
    Rectangle,
    Shown,
    Snapshot,
)
from penstock.processing.models import Result

MOST = 4000
"""Numbers that are drawn; the screen has no more columns."""


def is_scattered(values: npt.NDArray[np.float64]) -> bool:
    """Return whether most of the numbers stand alone, so that no line can be drawn."""
    known = np.isfinite(values)
    beside = np.zeros(len(known), np.bool_)
    beside[1:] |= known[:-1]
    beside[:-1] |= known[1:]
    return bool(known.any() and (known & ~beside).sum() > known.sum() / 2)


def thinned(
    frames: npt.NDArray[np.int64], values: npt.NDArray[np.float64], most: int = MOST
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the least and the greatest of each few frames, and NaN where one of them has no value.

    Args:
        frames: (n,), ascending.
        values: (n,), NaN where there is none.
        most: numbers at most, about; as many as this or fewer stay as they are.
    """
    if len(frames) <= most:
        return frames, values
    block = -(-3 * len(frames) // most)
    count = len(frames) // block
    whole = values[: count * block].reshape(count, block)
    known = np.isfinite(whole)
    least = np.where(known, whole, np.inf).argmin(1)
    greatest = np.where(known, whole, -np.inf).argmax(1)
    places = np.sort(np.stack([least, greatest], axis=1), axis=1) + np.arange(count)[:, np.newaxis] * block
    gap = ~known.all(1)
    x = np.concatenate([frames[places], frames[places[:, 1:]]], axis=1)
    y = np.concatenate([values[places], np.where(gap, np.nan, values[places[:, 1]])[:, np.newaxis]], axis=1)
    rest = slice(count * block, None)
    return np.concatenate([x.ravel(), frames[rest]]), np.concatenate([y.ravel(), values[rest]])


LEAST_FREE = 20.0
"""Frames for which the axis of numbers over frames has room while the series goes on."""
IMAGES = (Page.FRAMES, Page.PICTURE)


class ResultPages(qt.QStackedWidget):
    """Draws what a snapshot has."""

    read = qt.Signal(str)
    """What is under the cursor; "" beside the plots."""
    drawn = qt.Signal()
    """What was shown last is on the screen."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.curve = CurvePlot(self)
        self.image = ResultPlot(self)
        self.numbers = RegionCurve(self)
        self.number = qt.QLabel(self)
        self.levels = LevelsTool(self.image.look, self)
        self.colour_bar = ColourBar(self.image.look, self.levels.bins, self)
        self._instead = page_label(self)
        self._snapshot = Snapshot()
        self._result: Result | None = None
        self._shown: Shown | None = None
        self._errors = True
        self._held: Line | None = None
        self._lay_out()
        self.curve.read.connect(self.read)
        self.numbers.read.connect(self.read)
        self.image.pixel.connect(lambda pixel: self.read.emit(self.image.reading(pixel)))
        self.image.drawn.connect(self._show_histogram)
        self.image.shown.connect(self._note_image)

    def says(self) -> str:
        """Return what is said in place of values; "" where there are some."""
        return str(self._instead.text()) if self.currentWidget() is self._instead else ""

    def say(self, sentence: str) -> None:
        """Say something in place of values."""
        self._shown = None
        self._instead.setText(sentence)
        self.setCurrentWidget(self._instead)

    def show_values(self, snapshot: Snapshot, result: Result | None, *, errors: bool) -> None:
        """Draw what the snapshot has; `drawn` follows.

        Args:
            snapshot: has something to be shown.
            result: what is known of that result.
            errors: whether standard deviations are drawn.
        """
        shown = snapshot.shown
        assert shown is not None
        self._snapshot, self._result, self._shown, self._errors = snapshot, result, shown, errors
        match shown:
            case Curves():
                sentence = self._draw_curves(shown)
            case OverFrames():
                sentence = self._draw_numbers(shown)
            case Rectangle():
                sentence = self._draw_rows(shown)
            case Picture():
                sentence = self._draw_picture(shown)
            case _:
                raise TypeError(type(shown))
        self._instead.setText(sentence)
        self.setCurrentWidget(self._instead if sentence else self._plots[shown.page])
        if sentence or shown.page not in IMAGES:
            # The plot has posted its own drawing to the event loop; this follows it.
            qt.QTimer.singleShot(0, self.drawn.emit)

    def hold(self, on: bool) -> str:
        """Keep the curve on show from now on, to compare others with it, or no curve; return its name."""
        shown = self._shown
        self._held = None
        if on and isinstance(shown, Curves) and shown.curves:
            last = self._lines(shown)[-1]
            self._held = Line(f"{last.name} on hold", last.x, last.y, held=True)
        return "" if self._held is None else self._held.name

    def table(self, picture: qt.QImage) -> Table | None:
        """Return what is on the screen, for a file; `None` if there is nothing."""
        shown = self._shown
        if shown is None or self.says():
            return None
        name, frame = shown.name, getattr(shown, "frame", None)
        file = file_name(shown.series, name, "" if frame is None else f"frame{frame:06d}")
        match shown:
            case Curves():
                lines = self._lines(shown)
                columns = [(self._names().x, lines[-1].x)]
                for line in lines:
                    columns.append((f"{name} {line.name}".replace(",", ""), line.y))
                    if line.sigma is not None:
                        columns.append((f"{name} {line.name} sigma".replace(",", ""), line.sigma))
                return Table(file, picture, lines[-1].y, tuple(columns))
            case OverFrames():
                frames = np.arange(len(shown.values)) * shown.step
                return Table(file, picture, shown.values, (("frame", frames), (name, shown.values)))
            case Rectangle():
                return Table(file, picture, shown.values.copy())
            case Picture():
                return None if shown.value is None else Table(file, picture, shown.value)
        return None

    # -- drawing: each returns a sentence if there is nothing to be drawn ----------------------------

    def _draw_curves(self, shown: Curves) -> str:
        if shown.frame is not None and not (shown.curves and shown.curves[-1].frame == shown.frame):
            return why_nothing(shown.frame, shown.name, self._snapshot)
        held = [] if self._held is None else [self._held]
        self.curve.show_lines([*held, *self._lines(shown)], self._names(), (shown.name, shown.series))
        return ""

    def _lines(self, shown: Curves) -> list[Line]:
        found = []
        for one in shown.curves:
            x = self._axis(0)
            if x is None or x.shape != one.y.shape:
                x = np.arange(one.y.size, dtype=np.float64)
            name = f"frame {one.frame:,}" if one.frame >= 0 else shown.name
            found.append(Line(name, x, one.y.ravel(), one.sigma if self._errors else None))
        return found

    def _draw_numbers(self, shown: OverFrames) -> str:
        frames = np.arange(len(shown.values), dtype=np.int64) * shown.step
        kept, values = thinned(frames, shown.values)
        curve = Curve(
            shown.name, kept, kept.astype(np.float64), values, theme.current().accent, True,
            dots_only=is_scattered(shown.values),
        )  # fmt: skip
        status, result = self._snapshot.status, self._result
        running = status is not None and status.state == "running"
        is_events = result is not None and result.kind == "events"
        label = f"{shown.name} per frame" if is_events else self._names().texts()[1]
        kind, least = (shown.name, shown.series), LEAST_FREE if running else 0.0
        self.numbers.show_curves([curve], "frame", label, kind, least)
        return ""

    def _draw_rows(self, shown: Rectangle) -> str:
        if not len(shown.values):
            return f"No frame has a value of {shown.name} yet."
        status = self._snapshot.status
        series = status.series if status is not None else None
        planned = None
        if series is not None and series.id == shown.series:
            planned = series.planned if series.active else series.counts.frames
        is_of_it = shown.series == self._snapshot.series
        marked = rows_with_gaps(self._snapshot.codes, len(shown.values), shown.step) if is_of_it else None
        self.image.show_rows(
            shown.values, shown.step, shown.series, self._names(), self._axis(0), planned, marked
        )  # fmt: skip
        return ""

    def _draw_picture(self, shown: Picture) -> str:
        if shown.value is None:
            assert shown.frame is not None
            return why_nothing(shown.frame, shown.name, self._snapshot)
        if shown.page is Page.NUMBER:
            self.number.setText(f"{shown.value.item():,.10g}")
            return ""
        rows, columns = self._named(0), self._named(1)
        names = Names(columns[0] or "column", columns[1], rows[0] or "row", rows[1])
        self.image.show_image(shown.value, shown.frame, shown.series, names, self._axis(1), self._axis(0))
        return ""

    def _names(self) -> Names:
        x, unit = self._named(0)
        result = self._result
        label, y_unit = ("", "") if result is None else (result.label or result.name, result.unit)
        return Names(x or "point", unit, label, y_unit)

    def _named(self, dimension: int) -> tuple[str, str]:
        """Return name and unit of an axis; "" where it has none."""
        result = self._result
        if result is None or dimension >= len(result.axes):
            return "", ""
        axis = next((each for each in self._snapshot.results if each.name == result.axes[dimension]), None)
        return ("", "") if axis is None else (axis.label or axis.name, axis.unit)

    def _axis(self, dimension: int) -> npt.NDArray[Any] | None:
        result = self._result
        if result is None or dimension >= len(result.axes):
            return None
        return self._snapshot.axes.get(result.axes[dimension])

    def _note_image(self, _: object) -> None:
        if self._shown is not None and self._shown.page in IMAGES:
            self.drawn.emit()

    def _show_histogram(self, picture: Drawn) -> None:
        self.levels.show_histogram(picture.histogram)

    def _lay_out(self) -> None:
        colours = theme.current()
        self.numbers.setAccessibleName("Numbers over frames")
        self.numbers.setBackgroundColor(colours.window)
        self.number.setAlignment(qt.Qt.AlignCenter)
        self.number.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        self.number.setStyleSheet(f"color: {colours.text}; font-size: 32pt; background: {colours.window};")
        pictures = qt.QWidget(self)
        in_row((self.image, 1), self.levels, self.colour_bar, of=pictures, spacing=0)
        self._plots: dict[Page, qt.QWidget] = {
            Page.CURVE: self.curve, Page.OVER_FRAMES: self.numbers, Page.NUMBER: self.number,
            Page.FRAMES: pictures, Page.PICTURE: pictures,
        }  # fmt: skip
        for widget in (self._instead, self.curve, self.numbers, self.number, pictures):
            self.addWidget(widget)
