"""Past series for a Qt table: filtered and sorted by the model, which knows numbers from words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.series.past import COLUMNS, DAY, FOLDER, VERDICT, PastRow, filtered
from penstock.gui.panel.table import wrapped


class HistoryRows(qt.QAbstractTableModel):
    """The rows that fit the filter, as they are sorted."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[PastRow] = []
        self._visible: list[PastRow] = []
        self._words = ""
        self._column, self._falling = DAY, True

    def rows(self) -> Sequence[PastRow]:
        """Rows on show, from top to bottom."""
        return self._visible

    def show_rows(self, rows: list[PastRow]) -> None:
        """Replace all rows."""
        self._all = rows
        self._update()

    def set_filter(self, words: str) -> None:
        """Show the rows that contain every word."""
        self._words = words
        self._update()

    def sort(self, column: int, order: int = qt.Qt.AscendingOrder) -> None:
        """Qt's."""
        self._column, self._falling = column, order == qt.Qt.DescendingOrder
        self._update()

    def _update(self) -> None:
        self.beginResetModel()
        self._visible = filtered(self._all, self._words, self._column, falling=self._falling)
        self.endResetModel()

    def rowCount(self, parent: qt.QModelIndex | None = None) -> int:
        """Qt's."""
        return 0 if parent is not None and parent.isValid() else len(self._visible)

    def columnCount(self, parent: qt.QModelIndex | None = None) -> int:
        """Qt's."""
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: int, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        if orientation != qt.Qt.Horizontal:
            return None
        if role == qt.Qt.TextAlignmentRole:
            return _side(section)
        return COLUMNS[section].title if role == qt.Qt.DisplayRole else None

    def data(self, index: qt.QModelIndex, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        row, number = self._visible[index.row()], index.column()
        if role == qt.Qt.DisplayRole:
            return COLUMNS[number].text(row)
        if role == qt.Qt.TextAlignmentRole:
            return _side(number)
        if role == qt.Qt.ForegroundRole:
            return qt.QBrush(qt.QColor(_colour(row, number)))
        if role == qt.Qt.ToolTipRole:
            return wrapped(row.past.why if number == VERDICT else row.file or row.past.why)
        return None


def _side(column: int) -> int:
    side = qt.Qt.AlignRight if COLUMNS[column].right else qt.Qt.AlignLeft
    return int(side | qt.Qt.AlignVCenter)


def _colour(row: PastRow, column: int) -> str:
    colours = theme.current()
    if column == VERDICT:
        return colours.good if row.outcome.good else colours.bad
    return colours.muted if column == FOLDER else colours.text
