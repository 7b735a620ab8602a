"""The regions' part of the live view: list, curve and buttons below the picture, rectangles over it."""

from __future__ import annotations

from collections.abc import Sequence

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_column
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.regions import model
from penstock.gui.live.regions.axis import Scan
from penstock.gui.live.regions.curves_panel import CurvesPanel
from penstock.gui.live.regions.history import History, Shown
from penstock.gui.live.regions.link import RegionLink
from penstock.gui.live.regions.model import colour
from penstock.gui.live.regions.overlay import Overlay
from penstock.gui.live.regions.table import RegionTable
from penstock.gui.theme import dress
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import Rectangle, Roi, Rois, RoiValues, Status


class RegionsDock(qt.QDockWidget):
    """Shows the receiver's regions and changes them; while it is hidden, only the rectangles of the series
    are drawn.

    Args:
        plot: plot in which they are drawn.
        compact: hide the curve until it is requested.
        timeout: seconds for one answer of the receiver.
    """

    def __init__(
        self, plot: ImagePlot, *, compact: bool, timeout: float, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__("Regions", parent)
        self._timeout = timeout
        self._url = ""
        self._now: list[Roi] = []
        self._series = self._scanned = ""
        self._latest: int | None = None
        self._rows: list[model.Row] = []
        self._next: dict[str, Rectangle] | None = None
        self._kept = False
        self._unanswered = 0  # changes that are not answered yet
        self._new = ""  # a region that was just drawn, to be named
        self._trouble = ""
        self._history: History | None = None
        self.overlay = Overlay(plot, self)
        self.link = RegionLink()  # outlives the widget by the request under way
        self.table = RegionTable(self)
        self.curves = CurvesPanel(self)
        self.shown = Shown()
        self._message = qt.QLabel(self)
        self._lay_out(compact)
        self._connect()
        self.hide()
        self._refresh()

    def message(self) -> str:
        """Return the sentence below the list."""
        return str(self._message.text())

    def rows(self) -> list[model.Row]:
        """Return what is on show."""
        return list(self._rows)

    def show_status(self, url: str, status: Status | None) -> None:
        """Show what the receiver at `url` says; "": there is none."""
        if url != self._url:
            self._url = url
            self._next, self._unanswered, self._trouble = None, 0, ""
            self._follow("", None)
            self.link.set_receiver(ReceiverClient(url, self._timeout) if url else None)
        series = status.series if status is not None else None
        self._latest = status.latest_frame if status is not None else None
        self._now = list(status.rois) if status is not None else []
        if (series.id if series is not None else "") != self._series:
            self._follow(series.id if series is not None else "", self._latest)
        self._refresh()

    def show_counted(
        self, series: str, frame: int, time: float | None, counted: Sequence[float | None]
    ) -> None:
        """Note sum, mean, maximum and saturated pixels of a frame that was shown."""
        self.shown.add(series, frame, time, counted)
        if self.curves.with_shown.isChecked() and self.isVisible():
            self._draw_curve()

    def say_of_frames_shown(self, sentence: str, trouble: bool) -> None:
        """Say why frames shown have no values, where these are to be drawn."""
        if trouble and self.curves.with_shown.isChecked():
            self.curves.say(f"▲ Frames shown: {sentence[:1].lower()}{sentence[1:]}")

    def show_scan(self, scan: Scan | None) -> None:
        """Offer the motor of the scan whose series is on show. The scan takes back what it says when it has
        ended: it stays until the next series."""
        if scan is not None or self._series != self._scanned:
            self._scanned = self._series
            self.curves.show_scan(scan)

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Follow the regions of the next series, now that they are visible and may be changed."""
        super().showEvent(event)
        self.link.watch(True)
        self._follow(self._series, self._latest)
        self._refresh()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Stop requests while it is not visible."""
        super().hideEvent(event)
        self.overlay.draw(False)
        self.link.watch(False)
        self._next, self._trouble = None, ""
        self._follow(self._series, self._latest)
        self._refresh()

    # What the user does -------------------------------------------------------------------------

    def _ask(self, change: model.Change, *, keep: bool = False) -> None:
        """Show it at once, and ask the receiver for it."""
        if self._next is not None:
            try:
                self._next = change(self._next)
            except model.RegionError as error:
                self._refuse(str(error))
                return
        self._trouble = ""
        self._unanswered += 1
        self.link.change(change, keep=keep)
        self._refresh()

    def add(self, place: Rectangle) -> None:
        """Have the receiver measure this rectangle from the next series on."""
        self._new = model.free_name(self._next or {})
        self._ask(model.put(self._new, place))

    def _delete(self) -> None:
        name = self.table.chosen_name()
        if name is not None:
            self._ask(model.without(name))

    # What the receiver says ---------------------------------------------------------------------

    def _on_rois(self, rois: Rois) -> None:
        if not self._unanswered and self.isVisible():
            self._next, self._kept = dict(rois.rois), rois.kept
            self._refresh()

    def _on_changed(self, rois: Rois) -> None:
        self._unanswered = max(0, self._unanswered - 1)
        self._on_rois(rois)
        if self._new in self.table.names():
            new, self._new = self._new, ""
            self.table.rename(new)

    def _on_refused(self, sentence: str) -> None:
        self._unanswered, self._new = max(0, self._unanswered - 1), ""
        self.link.watch(self.isVisible())  # request the values of the curve at once
        self._refuse(sentence)

    def _refuse(self, sentence: str) -> None:
        self._trouble = sentence
        self._refresh()

    # Showing ------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        self._rows = model.rows(self._now, self._next)
        if self.isVisible():
            self.table.show_rows(self._rows)
        self.overlay.show_rows(self._rows, editable=self._next is not None)
        known = self._next is not None
        self._adding.setEnabled(known)
        self._deleting.setEnabled(known and bool(self._rows))
        self._keeping.setEnabled(known and not self._kept)
        colours = theme.current()
        said = self._trouble or (model.footer(self._rows, kept=self._kept) if known else "")
        self._message.setText(f"▲ {said}" if self._trouble else said)
        self._message.setToolTip(said)
        colour = colours.warning if self._trouble else colours.muted
        dress(self._message, f"color: {colour}; padding: 2px 8px;")

    def _follow(self, series: str, latest: int | None) -> None:
        self._series = series
        seen = self.isVisible() and self._curve_shown.isChecked() and bool(series)
        self._history = History(series, latest) if seen else None
        if self._history is None:
            self.link.ask_no_values()
        else:
            self.link.ask_values(series, self._history.next)
        self._draw_curve()

    def _draw_curve(self) -> None:
        name = self.table.chosen_name()
        names = self.table.names()
        inks = {each: colour(place) for place, each in enumerate(names)}
        self.curves.show_history(self._history, self.shown, name, inks)

    def _on_values(self, answer: RoiValues) -> None:
        history = self._history
        if history is None or answer.series != history.series:
            return
        if history.take(answer):
            self._draw_curve()
        if not history.ended:
            self.link.ask_values(history.series, history.next)

    def _choose(self, name: str | None) -> None:
        self.overlay.select(name)
        self._draw_curve()

    def _connect(self) -> None:
        self.link.received.connect(self._on_rois)
        self.link.changed.connect(self._on_changed)
        self.link.refused.connect(self._on_refused)
        self.link.values.connect(self._on_values)
        self.overlay.drawn.connect(self.add)
        self.overlay.moved.connect(lambda name, place: self._ask(model.put(name, place)))
        self.overlay.selected.connect(self.table.choose)
        self.overlay.drawing.connect(self._adding.setChecked)
        self.table.renamed.connect(lambda name, new: self._ask(model.renamed(name, new)))
        self.table.edited.connect(lambda name, edge, text: self._ask(model.edited(name, edge, text)))
        self.table.chosen.connect(self._choose)
        self._adding.triggered.connect(self.overlay.draw)
        self._deleting.triggered.connect(self._delete)
        self._keeping.triggered.connect(lambda: self._ask(model.unchanged, keep=True))
        self._curve_shown.toggled.connect(self._show_curve)
        self.curves.changed.connect(self._draw_curve)

    def _show_curve(self, shown: bool) -> None:
        self.curves.set_shown(shown)
        self._follow(self._series, self._latest)

    def _lay_out(self, compact: bool) -> None:
        colours = theme.current()
        tools = qt.QToolBar("Regions", self)
        tools.setIconSize(qt.QSize(13, 13))
        tools.setStyleSheet("QToolBar { padding: 0px 4px; border: 0; }")
        self._adding = self._tool(tools, "Add", "fa5s.plus", "Draw a region: press, then drag in the picture")
        self._adding.setCheckable(True)
        self._deleting = self._tool(tools, "Delete", "fa5s.trash-alt", "Delete the region that is selected")
        self._keeping = self._tool(
            tools, "Keep", "fa5s.save", "Keep these regions when the receiver is restarted"
        )
        self._curve_shown = self._tool(
            tools, "Curve", "fa5s.chart-line", "Values of the regions, frame by frame"
        )
        self._curve_shown.setCheckable(True)
        self._curve_shown.setChecked(not compact)
        self._deleting.setShortcut(qt.QKeySequence.Delete)
        self._deleting.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
        self.table.addAction(self._deleting)
        tools.addSeparator()
        self.curves.add_tools(tools)
        self.curves.set_shown(not compact)
        halves = qt.QSplitter(qt.Qt.Horizontal, self)
        halves.addWidget(self.table)
        halves.addWidget(self.curves)
        halves.setSizes([560, 440])
        halves.setChildrenCollapsible(False)
        self._message.setWordWrap(True)
        self._message.setTextFormat(qt.Qt.PlainText)
        self._message.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        whole = qt.QWidget(self)
        in_column(tools, (halves, 1), self._message, of=whole, spacing=0)
        whole.setStyleSheet(f"QSplitter {{ background: {colours.panel}; }}")
        self.setWidget(whole)
        self.setFeatures(qt.QDockWidget.DockWidgetClosable)
        self.setTitleBarWidget(qt.QWidget(self))  # the button in the tool bar says what it is, and closes it

    def _tool(self, tools: qt.QToolBar, name: str, icon: str, tip: str) -> qt.QAction:
        action = qt.QAction(qtawesome.icon(icon, color=theme.current().text), name, self)
        action.setToolTip(tip)
        tools.addAction(action)
        tools.setToolButtonStyle(qt.Qt.ToolButtonTextBesideIcon)
        return action
