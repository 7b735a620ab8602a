"""The page of all detectors: a row per detector, receiver and pipeline of a Tango database, and per bridge
behind them, faults first."""

from __future__ import annotations

import html
from collections.abc import Mapping

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.elsewhere import open_page
from penstock.gui.labels import ClampedLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.model.columns import as_text
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.fleet.row import REGISTER, START, Row, summary
from penstock.gui.panel.fleet.table import (
    COLUMNS,
    DEVICE,
    SAYS,
    SERIES,
    STATE,
    FleetTable,
    PathDelegate,
    SortedFleet,
    StateDelegate,
)  # fmt: skip
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.style import filter_line, sheet
from penstock.gui.panel.table import Table

WIDTHS = {"State": 100, "Device": 165, "Kind": 72, "Series": 165, "Frames": 126, "Rate": 76, "Free disk": 80,
          "Away since": 88}  # fmt: skip
"""Pixels of the columns at first; the last one has the rest."""
NARROW = {**WIDTHS, "State": 92, "Device": 130, "Kind": 66, "Series": 124, "Frames": 112, "Rate": 68}
"""Where less than `ROOMY` pixels are there for all: what it says needs some."""
ROOMY = 1050

WIDEST_NAME = 320
"""Pixels; the tool tip has what is longer."""
LINES = 2
"""Lines of each row, whatever it says: no row moves under the pointer. The whole text is below the table."""
MARGIN = 12
"""Pixels between two rows' lines."""


class FleetPage(qt.QWidget):
    """Follows `fleet` from the first time that the page is shown until it is closed."""

    chosen = qt.Signal(str)
    """A detector was chosen, to be opened: its name."""

    def __init__(self, fleet: Fleet, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._fleet = fleet
        self._started = False
        self._named: list[str] = []
        self._widths: Mapping[str, int] = {}
        self._own_widths = False
        """True if they are those that the user has left."""
        self._notifier = Notifier(fleet, self)
        self._notifier.changed.connect(self._refresh)
        self._table = FleetTable(self)
        self._sorted = SortedFleet(self._table, self)
        self._head = qt.QLabel(self)
        self._trouble = _text(self)
        self._empty = _text(self)
        self._detail = ClampedLabel(2, self)
        self._filter = filter_line("Filter: name, state, file (Ctrl+F)", "Filter", self)
        self._view = Table(self)
        self._arrange()
        self._bind()
        self._refresh()

    def head(self) -> str:
        """Return the counts on show."""
        return str(self._head.text())

    def said(self) -> str:
        """Return the text in place of the table, or above it; "" for none."""
        shown = self._trouble if not self._trouble.isHidden() else self._empty
        return "" if shown.isHidden() else str(shown.text())

    def detail(self) -> str:
        """Return the whole sentence of the current row."""
        return self._detail.whole()

    def names(self) -> list[str]:
        """Devices on show, from top to bottom."""
        return [self._row(number).name for number in range(self._sorted.rowCount())]

    def text(self) -> str:
        """Return the selected rows, or all that are on show, as text: a line per row, with tabs."""
        selected = self._view.selectionModel().selectedRows()
        numbers = sorted(index.row() for index in selected) or range(self._sorted.rowCount())
        return as_text(COLUMNS, map(self._row, numbers))

    def layout_state(self) -> dict[str, qt.QByteArray]:
        """Width, order and sorting of the columns."""
        return {"fleet_columns": self._view.horizontalHeader().saveState()}

    def restore_layout(self, state: Mapping[str, qt.QByteArray | None]) -> None:
        """Put the columns as they were."""
        kept = state.get("fleet_columns")
        if kept is not None:
            self._view.horizontalHeader().restoreState(kept)
            self._own_widths = True

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Begin to follow."""
        super().showEvent(event)
        if not self._started:
            self._started = True
            self._fleet.start()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """Release the devices."""
        self._notifier.close()
        self._fleet.stop()
        super().closeEvent(event)

    # -- how it is put together ----------------------------------------------------------------------

    def _arrange(self) -> None:
        colours = theme.current()
        self._head.setStyleSheet("font-size: 10.5pt; font-weight: 600;")
        self._head.setWordWrap(True)
        self._filter.setMinimumWidth(240)
        self._filter.setStyleSheet(sheet())
        self._trouble.setStyleSheet(
            f"background: {colours.panel}; color: {colours.warning}; padding: 8px 12px;"
            f" border-left: 4px solid {colours.state['away']};"
        )
        self._empty.setAlignment(qt.Qt.AlignCenter)
        self._empty.setStyleSheet("font-size: 11.5pt; padding: 40px;")
        self.setFocusProxy(self._view)
        self._arrange_table(colours)
        look = _button(self, "Look again", "Ask the Tango database for new devices (F5)", self._fleet.look)
        copy = _button(self, "Copy", "Copy the table, or the selected rows, as text (Ctrl+C)", self._copy)
        top = in_row((self._head, 1), self._filter, look, copy, spacing=8)
        in_column(
            top, self._trouble, (self._view, 1), (self._empty, 1), self._detail,
            of=self, margins=(12, 10, 12, 8), spacing=8,
        )  # fmt: skip

    def _arrange_table(self, colours: theme.Theme) -> None:
        view = self._view
        view.setModel(self._sorted)
        view.setSortingEnabled(True)
        view.sortByColumn(STATE, qt.Qt.AscendingOrder)
        view.setAlternatingRowColors(True)
        view.setWordWrap(True)
        view.verticalHeader().setDefaultSectionSize(LINES * view.fontMetrics().lineSpacing() + MARGIN)
        view.setAccessibleName("Detectors and receivers")
        view.setItemDelegateForColumn(STATE, StateDelegate(view))
        view.setItemDelegateForColumn(SERIES, PathDelegate(view))
        self._set_widths(WIDTHS)
        view.setStyleSheet(
            f"QTableView {{ border: 1px solid {colours.line}; selection-background-color: {colours.pressed};"
            f" selection-color: {colours.text}; }}"
            f"QHeaderView::section {{ background: {colours.panel}; color: {colours.muted}; border: 0;"
            f" border-bottom: 1px solid {colours.line}; padding: 5px 4px; }}"
        )

    def _bind(self) -> None:
        self._filter.textChanged.connect(self._set_filter)
        self._view.activated.connect(self._choose)
        self._view.selectionModel().selectionChanged.connect(self._show_detail)
        for keys, call in (
            (qt.QKeySequence.Refresh, self._fleet.look),
            (qt.QKeySequence.Find, self._filter.setFocus),
            (qt.QKeySequence.Cancel, self._clear),
        ):
            action = qt.QAction(self)
            action.setShortcuts(keys)
            action.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
            action.triggered.connect(call)
            self.addAction(action)
        self._view.add("Copy", self._copy, qt.QKeySequence.Copy)

    # -- what happens -----------------------------------------------------------------------------------

    def _refresh(self) -> None:
        rows, trouble = self._fleet.rows(), self._fleet.trouble
        self._table.show_rows(rows)
        self._head.setText(summary(rows) if rows else "All detectors")
        below = "The devices below are still followed; new ones are not seen."
        self._trouble.setText(f"{_html(trouble)}.<br>{below}" if trouble else "")
        self._trouble.setVisible(bool(trouble and rows))
        self._show_emptiness(bool(rows), trouble)
        self._show_detail()
        self._fit_names([row.name for row in rows])

    def _set_widths(self, widths: Mapping[str, int]) -> None:
        self._widths = widths
        for number, column in enumerate(COLUMNS[:SAYS]):
            self._view.setColumnWidth(number, widths[column.title])

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Make the columns narrower where there is little room, wider where there is more again."""
        super().resizeEvent(event)
        widths = WIDTHS if self.width() >= ROOMY else NARROW
        if widths is not self._widths and not self._own_widths:
            self._set_widths(widths)
            self._widen_names()

    def _fit_names(self, names: list[str]) -> None:
        """Widen the column for the longest name when devices appear, until the user drags it."""
        if names == self._named:
            return
        self._named = names
        self._widen_names()

    def _widen_names(self) -> None:
        needed = self._view.sizeHintForColumn(DEVICE) + 8
        if needed > self._view.columnWidth(DEVICE):
            self._view.setColumnWidth(DEVICE, min(needed, WIDEST_NAME))

    def _show_emptiness(self, some: bool, trouble: str) -> None:
        if some and not self._sorted.rowCount():
            self._empty.setText("No row matches the filter. Esc clears it.")
        elif trouble:
            self._empty.setText(f"{_html(trouble)}.<br><br>This page looks again every two seconds.")
        elif not self._fleet.looked:
            self._empty.setText("Asking the Tango database which detectors there are …")
        else:
            self._empty.setText(
                "This Tango database knows no detector of Penstock yet.<br><br>"
                f"Register one:<br>{_command(REGISTER)}<br><br>"
                f"and start its server, which makes it known here:<br>{_command(START)}<br><br>"
                "This page looks every half minute, and at F5."
            )
        shown = some and self._sorted.rowCount() > 0
        if shown and self._view.isHidden() and not self._filter.text():
            self._view.setFocus()
        self._view.setVisible(shown)
        self._detail.setVisible(shown)
        self._empty.setVisible(not shown)

    def _show_detail(self, *_: object) -> None:
        selected = self._view.selectionModel().selectedRows()
        if len(selected) != 1:
            self._detail.set_whole(
                "Enter or a double click opens a detector's panel, or the page of a receiver, pipeline or "
                "bridge."
            )
            return
        row = self._sorted.row_at(selected[0])
        parts = [f"{row.name}, {row.server}: {row.says}"]
        if row.file:
            parts.append(f"File: {row.file}")
        if row.last_error and row.last_error not in row.says:
            parts.append(f"Last error: {row.last_error}")
        if row.page:
            parts.append(f"Enter or a double click opens its page, {row.page}")
        self._detail.set_whole("  ".join(parts))

    def _set_filter(self, text: str) -> None:
        self._sorted.set_filter(text)
        self._refresh()

    def _clear(self) -> None:
        self._filter.clear()
        self._view.setFocus()

    def _choose(self, index: qt.QModelIndex) -> None:
        row = self._sorted.row_at(index)
        if row.kind == "detector":
            self.chosen.emit(row.name)
        elif row.page and (why := open_page(row.page)):
            self._detail.set_whole(why)

    def _copy(self) -> None:
        qt.QApplication.clipboard().setText(self.text())

    def _row(self, number: int) -> Row:
        return self._sorted.row_at(self._sorted.index(number, DEVICE))


def _text(parent: qt.QWidget) -> qt.QLabel:
    label = qt.QLabel(parent)
    label.setWordWrap(True)
    label.setTextInteractionFlags(qt.Qt.TextSelectableByMouse | qt.Qt.TextSelectableByKeyboard)
    return label


def _button(parent: qt.QWidget, text: str, tip: str, call: object) -> qt.QPushButton:
    button = qt.QPushButton(text, parent)
    button.setToolTip(tip)
    button.clicked.connect(call)
    return button


def _html(sentence: str) -> str:
    return html.escape(sentence[:1].upper() + sentence[1:])


def _command(text: str) -> str:
    look = f"font-family: 'DejaVu Sans Mono', monospace; color: {theme.current().accent}"
    return f'<span style="{look}">{html.escape(text)}</span>'
