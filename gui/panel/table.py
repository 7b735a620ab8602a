"""A table to be read and copied: rows that are selected as a whole, and a sentence where there are none."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.columns import Column

MARGIN = 7
"""Pixels of a row beside its line of text."""


class Table(qt.QTableView):
    """Has its look from the theme; Tab leaves it, and does not walk through its cells."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._says = ""
        self._dressed_for: theme.Theme | None = None
        self.setSelectionBehavior(qt.QTableView.SelectRows)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setFrameShape(qt.QFrame.NoFrame)
        self.setContextMenuPolicy(qt.Qt.ActionsContextMenu)
        self.verticalHeader().hide()
        # One height for all rows: Qt need not ask each of them.
        self.verticalHeader().setSectionResizeMode(qt.QHeaderView.Fixed)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().lineSpacing() + MARGIN)
        self.verticalHeader().setMinimumSectionSize(0)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setStretchLastSection(True)
        self._dress()

    def says(self) -> str:
        """Return the sentence in place of rows."""
        return self._says

    def say(self, words: str) -> None:
        """Set the sentence that is shown while there are no rows."""
        if words != self._says:
            self._says = words
            self.setAccessibleDescription(words)
            self.viewport().update()

    def rows(self) -> list[int]:
        """Rows that are selected, from top to bottom."""
        return sorted(index.row() for index in self.selectionModel().selectedRows())

    def add(self, text: str, call: object, keys: qt.QKeySequence.StandardKey | None = None) -> qt.QAction:
        """Return an entry of the context menu; its keys hold while the table has the focus."""
        action = qt.QAction(text, self)
        if keys is not None:
            action.setShortcuts(keys)
            action.setShortcutContext(qt.Qt.WidgetShortcut)
        action.triggered.connect(call)
        self.addAction(action)
        return action

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw the rows, or the sentence in their place."""
        super().paintEvent(event)
        if self._says and self.model() is not None and not self.model().rowCount():
            painter = qt.QPainter(self.viewport())
            painter.setPen(qt.QColor(theme.current().muted))
            area = self.viewport().rect().adjusted(24, 8, -24, -8)
            painter.drawText(area, qt.Qt.AlignCenter | qt.Qt.TextWordWrap, self._says)

    def changeEvent(self, event: qt.QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.PaletteChange:
            self._dress()

    def _dress(self) -> None:
        colours = theme.current()
        if colours is self._dressed_for:
            return
        self._dressed_for = colours
        self.setStyleSheet(
            f"QTableView {{ background: {colours.panel}; border: 1px solid {colours.line};"
            f" selection-background-color: {colours.pressed}; selection-color: {colours.text}; }}"
            "QTableView::item { padding: 0 5px; }"
            f"QTableView:focus {{ border-color: {colours.accent}; }}"
            f"QHeaderView::section {{ background: {colours.panel}; color: {colours.muted}; border: 0;"
            f" border-bottom: 1px solid {colours.line}; padding: 5px 7px; }}"
        )


class Rows(qt.QAbstractTableModel):
    """What is listed, under the titles of its columns.

    Args:
        columns: what each says of a row.
    """

    sides = True
    """True if titles stand at the same side as what is below them; else Qt puts them into the middle."""

    def __init__(self, columns: Sequence[Column], parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = columns
        self._rows: list[Any] = []

    def rows(self) -> Sequence[Any]:
        """Return what is on show, from top to bottom."""
        return self._rows

    def ink(self, row: Any, column: int) -> str | None:
        """Return the colour of a cell; `None`: that of all others."""
        return None

    def tip(self, row: Any, column: int) -> str:
        """Return the tool tip of a cell."""
        raise NotImplementedError

    def rowCount(self, parent: qt.QModelIndex | None = None) -> int:
        """Qt's."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: qt.QModelIndex | None = None) -> int:
        """Qt's."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: int, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        if orientation != qt.Qt.Horizontal:
            return None
        column = self._columns[section]
        if role == qt.Qt.TextAlignmentRole and self.sides:
            return _side(column)
        return {qt.Qt.DisplayRole: column.title, qt.Qt.ToolTipRole: column.tip or None}.get(role)

    def data(self, index: qt.QModelIndex, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        row, column = self._rows[index.row()], self._columns[index.column()]
        if role == qt.Qt.DisplayRole:
            return column.text(row)
        if role == qt.Qt.TextAlignmentRole:
            return _side(column)
        if role == qt.Qt.ToolTipRole:
            return self.tip(row, index.column())
        ink = self.ink(row, index.column()) if role == qt.Qt.ForegroundRole else None
        return None if ink is None else qt.QBrush(qt.QColor(ink))


def _side(column: Column) -> int:
    return int((qt.Qt.AlignRight if column.right else qt.Qt.AlignLeft) | qt.Qt.AlignVCenter)


def wrapped(text: str) -> str:
    """Return a tool tip that is no wider than can be read: Qt wraps none but rich text."""
    return f"<qt>{html.escape(text)}</qt>" if len(text) > 60 else text
