"""The line of tools: those of curves, of images, and of numbers over frames; only what suits is seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.actions.control import CrosshairAction, ResetZoomAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme
from penstock.gui.live.actions.colours import (
    Autoscale,
    LogColours,
    colour_choice,
    percentiles_choice,
    reduction_choice,
    scale_choice,
)
from penstock.gui.live.actions.controls import ICON, MARGIN, Pause, more_button
from penstock.gui.live.actions.icons import icon
from penstock.gui.live.actions.parts import ShowHistogram
from penstock.gui.live.results.pages.curve_plot import CurvePlot
from penstock.gui.live.results.pages.image_plot import ResultPlot
from penstock.gui.live.results.pages.pages import IMAGES
from penstock.gui.live.results.sources.snapshot import Page
from penstock.gui.number_fields import select_whole

MOST_LAST = 100
"""Curves that are drawn over each other."""


class Tools(qt.QToolBar):
    """One line of tools. Where there is no room for words, there are icons.

    Args:
        curve: plot of curves.
        image: plot of images.
        numbers: plot of numbers over frames.
        parent: widget to which the bar belongs.
        rare: tools that are behind *More*.
    """

    page_chosen = qt.Signal(object)
    """`Page` that the user has chosen, of a result that can be shown in several ways."""

    def __init__(
        self, curve: CurvePlot, image: ResultPlot, numbers: PlotWidget, parent: qt.QWidget,
        rare: Sequence[qt.QAction] = (),
    ) -> None:  # fmt: skip
        super().__init__("Results", parent)
        self.setMovable(False)
        self.setIconSize(qt.QSize(ICON, ICON))
        self._words: bool | None = None
        look = image.look
        self.pause = Pause(self)
        self.pause.setToolTip("Hold what is on show (Space); state and counts are still updated")
        self.as_curve = self._switch(
            "Curve", "fa5s.chart-line", "The newest curve, or that of a frame (C)", "C"
        )
        self.as_rows = self._switch("All frames", "fa5s.th-list", "All curves, one row per frame (F)", "F")
        self.log_x = self._switch("Log x", "fa5s.arrows-alt-h", "Logarithmic axis (X)", "X")
        self.log_y = self._switch("Log y", "fa5s.arrows-alt-v", "Logarithmic values (L)", "L")
        self.errors = self._switch("Errors", "fa5s.grip-lines", "A band of one standard deviation (E)", "E")
        self.errors.setChecked(True)
        self.hold = self._switch(
            "Hold", "fa5s.thumbtack", "Keep the curve on show, to compare others with it (H)", "H"
        )
        self.last = self._last()
        self.autoscale = Autoscale(look, self)
        self.histogram = ShowHistogram(self)
        self.histogram.setChecked(True)
        self.log_colours = LogColours(look, self)
        self.scale = scale_choice(look, self)
        self._more_boxes = {
            "Percentiles": percentiles_choice(look, self), "Colours": colour_choice(look, self),
            "Draw": reduction_choice(look, self),
        }  # fmt: skip
        self.more = more_button(
            self,
            "Percentiles, colours, how images are drawn, and rarely used tools",
            rare,
            self._more_boxes,
        )
        self.addAction(self.pause)
        self._pages: dict[qt.QAction, tuple[Page, ...]] = {}
        for plot, which in ((curve, (Page.CURVE,)), (numbers, (Page.OVER_FRAMES,)), (image, IMAGES)):
            self._add(which, *self._of_plot(plot))
        both = (Page.CURVE, Page.FRAMES)
        self._add(both, self.as_curve, self.as_rows)
        self._ways = (self.as_curve, self.as_rows)
        self._add((Page.CURVE,), self.log_x, self.log_y, self.errors)
        last = self.addWidget(self.last)
        self._pages[last] = (Page.CURVE,)
        self._add((Page.CURVE,), self.hold)
        scale = self.addWidget(self.scale)
        self._pages[scale] = IMAGES
        self._add(IMAGES, self.autoscale, self.histogram)
        self._pages[self.log_colours] = IMAGES  # a key only: the list of scales shows it
        self.addWidget(self.more)
        self._worded = (
            *self._ways,
            self.log_x,
            self.log_y,
            self.errors,
            self.hold,
            self.autoscale,
            self.histogram,
        )
        self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.as_curve.triggered.connect(partial(self._choose, Page.CURVE))
        self.as_rows.triggered.connect(partial(self._choose, Page.FRAMES))
        self.log_x.toggled.connect(lambda on: curve.getXAxis().setScale("log" if on else "linear"))
        self.log_y.toggled.connect(lambda on: curve.getYAxis().setScale("log" if on else "linear"))
        self._page: Page | None = None
        self.show_page(None, ())

    def show_page(self, page: Page | None, ways: Sequence[Page], *, errors: bool = False) -> None:
        """Show the tools of this page.

        Args:
            page: what is on show; `None`: nothing.
            ways: how the result can be shown.
            errors: whether it has standard deviations.
        """
        self._page = page
        for action, of in self._pages.items():
            action.setVisible(page in of)
        for action in self._ways:
            action.setVisible(len(ways) > 1)
        self.as_curve.setChecked(page is Page.CURVE)
        self.as_rows.setChecked(page is Page.FRAMES)
        self.errors.setVisible(page is Page.CURVE and errors)
        for box in self._more_boxes.values():
            box.setEnabled(page in IMAGES)
        self._fit()

    def keys(self) -> list[qt.QAction]:
        """Return the actions with keys; those that are not seen have none, so that two may share one."""
        return [
            self.pause, *self._ways, self.log_x, self.log_y, self.errors, self.hold, self.autoscale,
            self.histogram, self.log_colours,
        ]  # fmt: skip

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Use words or icons."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: qt.QEvent) -> None:
        """Stay low: the style would have margins of its own around what the style sheet leaves."""
        super().changeEvent(event)
        if event.type() in (qt.QEvent.StyleChange, qt.QEvent.PolishRequest):
            self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)

    def _choose(self, page: Page, _: bool = False) -> None:
        self.as_curve.setChecked(page is Page.CURVE)
        self.as_rows.setChecked(page is Page.FRAMES)
        self.page_chosen.emit(page)

    def _add(self, pages: tuple[Page, ...], *actions: qt.QAction) -> None:
        for action in actions:
            self.addAction(action)
            self._pages[action] = pages

    def _of_plot(self, plot: PlotWidget) -> tuple[qt.QAction, ...]:
        """Return silx' own tools, in the colours of the theme."""
        whole = ResetZoomAction(plot, parent=self)
        whole.setToolTip("Show all of it, and follow it (Home)")
        zoom, pan = ZoomModeAction(plot, parent=self), PanModeAction(plot, parent=self)
        cross = CrosshairAction(plot, color=theme.current().accent, parent=self)
        cross.setToolTip("Read values with a crosshair")
        for action, name in (
            (whole, "fa5s.expand"), (zoom, "fa5s.search-plus"), (pan, "fa5s.arrows-alt"),
            (cross, "fa5s.crosshairs"),
        ):  # fmt: skip
            action.setIcon(icon(name))
        key = qt.QShortcut(qt.QKeySequence("Home"), plot)
        key.setContext(qt.Qt.WidgetWithChildrenShortcut)
        key.activated.connect(plot.resetZoom)
        return whole, zoom, pan, cross

    def _switch(self, name: str, picture: str, tip: str, key: str) -> qt.QAction:
        action = qt.QAction(icon(picture), name, self)
        action.setCheckable(True)
        action.setToolTip(tip)
        action.setShortcut(key)
        return action

    def _last(self) -> qt.QSpinBox:
        box = qt.QSpinBox(self)
        select_whole(box)
        box.setRange(1, MOST_LAST)
        box.setPrefix("last ")
        box.setSpecialValueText("one curve")
        box.setKeyboardTracking(False)
        box.setToolTip("How many curves are drawn: the one on show, and fainter those before it")
        box.setAccessibleName("Curves on show")
        return box

    def _fit(self) -> None:
        """Use words where they fit into one line, else icons."""
        for words in (True, False):
            if words != self._words:
                self._words = words
                style = qt.Qt.ToolButtonTextOnly if words else qt.Qt.ToolButtonIconOnly
                for action in self._worded:
                    self.widgetForAction(action).setToolButtonStyle(style)
                self.more.setToolButtonStyle(style)
            if self.sizeHint().width() <= self.width():
                return
