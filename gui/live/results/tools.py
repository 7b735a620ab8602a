"""The line of tools: those of curves, of images, and of numbers over frames; only what suits is seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.actions.control import CrosshairAction

from penstock.gui import theme
from penstock.gui.live.actions.colours import (
    autoscale,
    colour_choice,
    log_colours,
    percentiles_choice,
    reduction_choice,
    scale_choice,
)
from penstock.gui.live.actions.parts import show_histogram
from penstock.gui.live.actions.tool_line import PlotTools, Tool, ToolLine, icon, pause
from penstock.gui.live.results.pages.curve_plot import CurvePlot
from penstock.gui.live.results.pages.image_plot import ResultPlot
from penstock.gui.live.results.pages.pages import IMAGES
from penstock.gui.live.results.sources.snapshot import Page
from penstock.gui.number_fields import number_box

MOST_LAST = 100
"""Curves that are drawn over each other."""


class Tools(ToolLine):
    """The tools of the page that is on show.

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
        look = image.look

        def switch(name: str, picture: str, tip: str, key: str) -> Tool:
            return Tool(name, picture, tip, self, key, checkable=True)

        self.pause = pause("Hold what is on show", self)
        tip = "The newest curve, or that of a frame (C)"
        self.as_curve = switch("Curve", "fa5s.chart-line", tip, "C")
        self.as_rows = switch("All frames", "fa5s.th-list", "All curves, one row per frame (F)", "F")
        self.log_x = switch("Log x", "fa5s.arrows-alt-h", "Logarithmic axis (X)", "X")
        self.log_y = switch("Log y", "fa5s.arrows-alt-v", "Logarithmic values (L)", "L")
        self.errors = switch("Errors", "fa5s.grip-lines", "A band of one standard deviation (E)", "E")
        self.errors.setChecked(True)
        tip = "Keep the curve on show, to compare others with it (H)"
        self.hold = switch("Hold", "fa5s.thumbtack", tip, "H")
        tip = "How many curves are drawn: the one on show, and fainter those before it"
        self.last = number_box(self, "Curves on show", 1, MOST_LAST, tip, prefix="last ")
        self.last.setSpecialValueText("one curve")
        self.autoscale = autoscale(look, self)
        self.histogram = show_histogram(self)
        self.histogram.setChecked(True)
        self.log_colours = log_colours(look, self)
        self.scale = scale_choice(look, self)
        self._more_boxes = {
            "Percentiles": percentiles_choice(look, self), "Colours": colour_choice(look, self),
            "Draw": reduction_choice(look, self),
        }  # fmt: skip
        self._ways = (self.as_curve, self.as_rows)
        of_curves = (self.log_x, self.log_y, self.errors)
        of_images = (self.autoscale, self.histogram)
        self.worded = (*self._ways, *of_curves, self.hold, *of_images)
        self.addAction(self.pause)
        self._pages: dict[qt.QAction, tuple[Page, ...]] = {}
        for plot, which in ((curve, (Page.CURVE,)), (numbers, (Page.OVER_FRAMES,)), (image, IMAGES)):
            self._add(which, *self._of_plot(plot))
        self._add((Page.CURVE, Page.FRAMES), *self._ways)
        self._add((Page.CURVE,), *of_curves)
        self._pages[self.addWidget(self.last)] = (Page.CURVE,)
        self._add((Page.CURVE,), self.hold)
        self._pages[self.addWidget(self.scale)] = IMAGES
        self._add(IMAGES, *of_images)
        self._pages[self.log_colours] = IMAGES  # a key only: the list of scales shows it
        tip = "Percentiles, colours, how images are drawn, and rarely used tools"
        self.end_with_more(tip, rare, self._more_boxes)
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
        self.fit()

    def keys(self) -> list[qt.QAction]:
        """Return the actions with keys; those that are not seen have none, so that two may share one."""
        return [self.pause, *self.worded, self.log_colours]

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
        tools = PlotTools(plot, self, "Show all of it, and follow it (Home)")
        cross = CrosshairAction(plot, color=theme.current().accent, parent=self)
        cross.setToolTip("Read values with a crosshair")
        cross.setIcon(icon("fa5s.crosshairs"))
        key = qt.QShortcut(qt.QKeySequence("Home"), plot)
        key.setContext(qt.Qt.WidgetWithChildrenShortcut)
        key.activated.connect(plot.resetZoom)
        return tools.whole, tools.zoom, tools.pan, cross
