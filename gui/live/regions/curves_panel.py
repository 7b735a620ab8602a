"""The plot of the regions' values, and what is drawn in it over what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import in_column
from penstock.gui.live.plot.curves import Curve, CurvePlace, RegionCurve
from penstock.gui.live.regions.axis import FRAME, TIME, Scan, Values, seconds
from penstock.gui.live.regions.history import VALUES, WHOLE, History, Shown, as_csv
from penstock.gui.live.threads import Worker
from penstock.gui.number_fields import choice_box
from penstock.gui.words import clock

FULL = "A region of the whole frame has every frame; these are only those that this window has shown."
_WORDS = {"saturated": "saturated pixels"}
LEAST_FRAMES, LEAST_SECONDS = 20.0, 1.0
"""Left free on the axis for frames to come."""


class CurvesPanel(qt.QWidget):
    """One value of the selected region, or of all regions, over frames, times or a scan's motor."""

    shown_wanted = qt.Signal(bool)
    """True if frames shown are to be counted."""
    changed = qt.Signal()
    """The user has chosen something else to draw."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._place = CurvePlace(parent=self)
        self.value = choice_box(VALUES, "What the curves show", self)
        tip = "What the curves are drawn over; in a scan of one motor also over its positions"
        self.axis = choice_box(["by frame", "by time"], tip, self)
        self.all = self._switch("All", "fa5s.layer-group", "Curves of all regions, the selected one thicker")
        self.with_shown = self._switch("Frames shown", "fa5s.braille", f"Crosses: the whole frame. {FULL}")
        self.crosshair = self._switch("Crosshair", "fa5s.crosshairs", "Read values with a crosshair")
        self.save = qt.QAction(qtawesome.icon("fa5s.file-csv", color=theme.current().text), "CSV", self)
        self.save.setToolTip("Save all values that are known here as a table (CSV)")
        self._reading = ElidedLabel(self)
        self._jobs = Worker("penstock-csv")
        self._tools: list[qt.QAction] = []
        self._scan: Scan | None = None
        self._history: History | None = None
        self._shown = Shown()
        self._lay_out()
        self.value.currentTextChanged.connect(lambda _: self.changed.emit())
        self.axis.currentTextChanged.connect(lambda _: self.changed.emit())
        self.all.toggled.connect(lambda _: self.changed.emit())
        self.with_shown.toggled.connect(self.shown_wanted)
        self.with_shown.toggled.connect(lambda _: self.changed.emit())
        self.crosshair.toggled.connect(lambda on: self.curve.setGraphCursor(on, color=theme.current().accent))
        self._place.read.connect(self._reading.set_whole)
        self.save.triggered.connect(self._ask_path)
        self._jobs.done.connect(lambda _, path: self.say(f"Saved as {path}"), qt.Qt.QueuedConnection)
        self._jobs.failed.connect(
            lambda _, error: self.say(f"▲ Not saved: {error}; choose another folder"), qt.Qt.QueuedConnection
        )
        self.destroyed.connect(self._jobs.ask_to_stop)

    @property
    def curve(self) -> RegionCurve:
        """The plot."""
        return self._place.curve

    def add_tools(self, tools: qt.QToolBar) -> None:
        """Put what is chosen here into this tool bar; it is seen there while this is to be seen."""
        self._tools = [
            tools.addWidget(self.value), tools.addWidget(self.axis), self.all, self.with_shown,
            self.crosshair, self.save,
        ]  # fmt: skip
        tools.addActions(self._tools[2:])

    def set_shown(self, seen: bool) -> None:
        """Show or hide it with its tools."""
        self.setVisible(seen)
        for action in self._tools:
            action.setVisible(seen)

    def reading(self) -> str:
        """Return what is said below the plot."""
        return self._reading.whole()

    def show_scan(self, scan: Scan | None) -> None:
        """Offer the motor of this scan; `None`: there is none."""
        if scan == self._scan:
            return
        self._scan = scan
        if self.axis.currentIndex() > 1:
            self.axis.setCurrentIndex(0)
        while self.axis.count() > 2:
            self.axis.removeItem(2)
        if scan is not None:
            self.axis.addItem(f"by {scan.motor}")
        self.changed.emit()

    def show_history(
        self, history: History | None, frames_shown: Shown, chosen: str | None, inks: Mapping[str, str]
    ) -> None:
        """Draw what is known.

        Args:
            history: values of the receiver's regions; `None`: there are none.
            frames_shown: what this window has counted.
            chosen: name of the selected region.
            inks: colours, by region.
        """
        self._history, self._shown = history, frames_shown
        value = self.value.currentText()
        names: Sequence[str] = [name for name in inks if self.all.isChecked() or name == chosen]
        curves = []
        start: float | None = None
        if history is not None:
            x_times, start = seconds(history.times()[1])
            for name in names:
                frames, values = history.curve(name, value)
                if len(values):
                    x = self._over(frames, x_times[: len(frames)])
                    curves.append(Curve(name, frames, x, values, inks[name], name == chosen))
        if self.with_shown.isChecked() and (history is None or frames_shown.series == history.series):
            frames, values = frames_shown.curve(value)
            times = frames_shown.times()
            if start is None:
                after, start = seconds(times)
            else:
                after = times - start
            x = self._over(frames, after)
            ink = theme.current().text
            curves.append(Curve(WHOLE, frames, x, values, ink, not curves, dots_only=True))
        y_label = _y_label(value, [curve.name for curve in curves], chosen, self.all.isChecked())
        kind = (history.series if history is not None else "", chosen, self.axis.currentText(), value)
        least = {FRAME: LEAST_FRAMES, TIME: LEAST_SECONDS}.get(self._chosen_axis(), 0.0)
        self._place.show_curves(curves, self._label(start), y_label, kind, least)
        self.save.setEnabled(bool(curves))

    def save_csv(self, path: Path) -> None:
        """Write all values that are known into a file, beside the window's thread."""
        text = as_csv(self._history, self._shown, self._scan)

        def write() -> Path:
            path.write_text(text)
            return path

        self._jobs.ask("csv", write)

    def _ask_path(self) -> None:
        name, _ = qt.QFileDialog.getSaveFileName(self, "Save values", "values.csv", "Tables (*.csv)")
        if name:
            self.save_csv(Path(name))

    def say(self, sentence: str) -> None:
        """Put a sentence below the plot."""
        self._reading.set_whole(sentence)

    def _chosen_axis(self) -> str:
        return (FRAME, TIME, "scan")[self.axis.currentIndex()]

    def _over(self, frames: np.ndarray, after: Values) -> Values:
        axis = self._chosen_axis()
        if axis == TIME:
            return after
        if axis == "scan" and self._scan is not None:
            return self._scan.positions(frames)
        return frames.astype(np.float64)

    def _label(self, start: float | None) -> str:
        axis = self._chosen_axis()
        if axis == TIME:
            return "time: not known" if start is None else f"seconds after {clock(start)}"
        if axis == "scan" and self._scan is not None:
            return self._scan.label
        return "frame"

    def _switch(self, name: str, icon: str, tip: str) -> qt.QAction:
        action = qt.QAction(qtawesome.icon(icon, color=theme.current().text), name, self)
        action.setToolTip(tip)
        action.setCheckable(True)
        return action

    def _lay_out(self) -> None:
        self._reading.setStyleSheet(f"color: {theme.current().muted}; padding: 0 8px;")
        in_column((self._place, 1), self._reading, of=self, spacing=0)


def _y_label(value: str, drawn: Sequence[str], chosen: str | None, of_all: bool) -> str:
    """Return what the y axis has: values of the frames shown are never a region's."""
    words = _WORDS.get(value, value)
    of_region = f"{words} of {chosen}" if chosen and not of_all else words
    if WHOLE not in drawn:
        return of_region
    return f"{words}, {WHOLE}" if len(drawn) == 1 else f"{of_region}; crosses: {WHOLE}"
