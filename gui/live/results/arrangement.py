"""Where the parts of the view of results are, and which of them its forms hide."""

from __future__ import annotations

from dataclasses import dataclass

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.banner import StateBanner
from penstock.gui.labels import BriefLabel
from penstock.gui.live.caption import CaptionLine, Worth
from penstock.gui.live.forms import Forms
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.plate import Plate
from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.result_pages import ResultPages
from penstock.gui.live.results.status_line import StatusLine
from penstock.gui.live.results.tools import Tools


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a view consists of."""

    banner: StateBanner
    plate: Plate
    results: ResultList
    picture: qt.QWidget
    """Takes the plots, and the line above them."""
    caption: CaptionLine
    legend: BriefLabel
    plots: ResultPages
    bar: PastBar
    tools: Tools
    status: StatusLine


def arrange(view: qt.QMainWindow, parts: Parts) -> Forms:
    """Lay out the parts in the view, and return its forms."""
    _fill_picture(parts)
    right = _in_column(view, (parts.picture, parts.bar), parts.picture)
    middle = qt.QWidget(view)
    columns = qt.QHBoxLayout(middle)
    columns.setContentsMargins(0, 0, 0, 0)
    columns.setSpacing(0)
    columns.addWidget(parts.results)
    columns.addWidget(right, 1)
    view.setCentralWidget(_in_column(view, (parts.banner, parts.plate, middle), middle))
    view.addToolBar(parts.tools)
    view.setStatusBar(parts.status)
    parts.plate.hide()
    plots = parts.plots
    around = [
        parts.results, plots.levels, plots.colour_bar, parts.status, parts.caption, parts.bar, parts.tools,
    ]  # fmt: skip
    forms = Forms()
    forms.hide_in("tile", [parts.results, plots.levels, parts.status.address])
    forms.hide_in("bare", around)
    return forms


def _fill_picture(parts: Parts) -> None:
    lines = qt.QVBoxLayout(parts.picture)
    lines.setContentsMargins(0, 0, 0, 0)
    lines.setSpacing(0)
    lines.addWidget(parts.caption)
    lines.addWidget(parts.plots, 1)
    parts.caption.add(parts.bar.line, lambda: Worth.ANSWER)
    parts.caption.add(parts.legend, lambda: Worth.SERIES)
    parts.legend.setStyleSheet(f"color: {theme.current().warning};")
    parts.legend.hide()


def _in_column(view: qt.QMainWindow, widgets: tuple[qt.QWidget, ...], wide: qt.QWidget) -> qt.QWidget:
    """Return a widget with these, one below the other; `wide` takes the room."""
    column = qt.QWidget(view)
    rows = qt.QVBoxLayout(column)
    rows.setContentsMargins(0, 0, 0, 0)
    rows.setSpacing(0)
    for widget in widgets:
        rows.addWidget(widget, 1 if widget is wide else 0)
    return column
