"""The fleet's rows for a Qt table: text and sorting of each cell, and the coloured state."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.columns import Column
from penstock.gui.model.fleet.row import ASKING, AWAY, WAITING, Row
from penstock.gui.model.texts.sentences import KIND
from penstock.gui.panel.table import Rows
from penstock.gui.words import capital, clock, date_and_clock

SORT = qt.Qt.UserRole
"""What a cell sorts by: a number, where its text is one."""
STATE_KIND: Mapping[str, str] = {
    **KIND, AWAY: "away", "UNKNOWN": "away", ASKING: "connecting", "IDLE": "idle", WAITING: "away",
}  # fmt: skip


def _since(row: Row) -> str:
    if row.away_since is None:
        return "not seen yet" if row.state == AWAY else ""
    today = time.localtime(row.away_since)[:3] == time.localtime()[:3]
    return clock(row.away_since) if today else date_and_clock(row.away_since)


def _number(value: float | None) -> float:
    return -1.0 if value is None else value


COLUMNS = (
    Column("State", lambda row: row.state, lambda row: row.place, tip="Sorts faults first."),
    Column("Device", lambda row: row.name, lambda row: row.name.lower()),
    Column("Kind", lambda row: row.kind, lambda row: row.kind),
    Column("Series", lambda row: row.series, lambda row: row.series.lower(), old=True,
           tip="File of the running, or else of the last, series."),
    Column("Frames", lambda row: row.frames, lambda row: _number(row.done), right=True, old=True,
           tip="Frames of that series stored, delivered live, done by a pipeline, or come to a bridge."),
    Column("Rate", lambda row: row.hertz, lambda row: _number(row.rate), right=True,
           tip="Frames per second that the receiver takes, or the pipeline does."),
    Column("Free disk", lambda row: row.free, lambda row: _number(row.free_bytes), right=True,
           tip="Where the receiver writes to."),
    Column("Away since", _since, lambda row: _number(row.away_since), right=True),
    Column("What it says", lambda row: capital(row.says), lambda row: row.says.lower()),
)  # fmt: skip
STATE, DEVICE, KIND_COLUMN, SERIES, *_, SAYS = range(len(COLUMNS))


class FleetTable(Rows):
    """Rows in the order of their appearance; the view sorts them."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self._theme = theme.current()

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Change what has changed: selection and place of the view stay."""
        now = {row.key: row for row in rows}
        for number in reversed(range(len(self._rows))):
            if self._rows[number].key not in now:
                self.beginRemoveRows(qt.QModelIndex(), number, number)
                del self._rows[number]
                self.endRemoveRows()
        for number, row in enumerate(self._rows):
            new = now.pop(row.key)
            if new != row:
                self._rows[number] = new
                self.dataChanged.emit(self.index(number, 0), self.index(number, len(COLUMNS) - 1))
        if now:
            first = len(self._rows)
            self.beginInsertRows(qt.QModelIndex(), first, first + len(now) - 1)
            self._rows += now.values()
            self.endInsertRows()

    def row_at(self, index: qt.QModelIndex) -> Row:
        """Return the row behind a cell."""
        row: Row = self._rows[index.row()]
        return row

    def data(self, index: qt.QModelIndex, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        if role == SORT:
            return COLUMNS[index.column()].key(self._rows[index.row()])
        return super().data(index, role)

    def tip(self, row: Row, column: int) -> str:
        """Return the tool tip of a cell."""
        return {STATE: row.says, SERIES: row.file}.get(column, COLUMNS[column].text(row))

    def ink(self, row: Row, column: int) -> str | None:
        """Return the colour of a cell."""
        if column == SAYS and row.problem:
            return self._theme.bad if row.state == "FAULT" else self._theme.warning
        if column in (SAYS, KIND_COLUMN):
            return self._theme.muted
        return self._theme.old if COLUMNS[column].old and row.state == AWAY else None


class SortedFleet(qt.QSortFilterProxyModel):
    """Sorts numbers as numbers, and equal rows by name; a row has to contain all words of the filter."""

    def __init__(self, table: FleetTable, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSourceModel(table)

    def set_filter(self, text: str) -> None:
        """Show the rows that have every word of `text` in some cell."""
        self._words = text.lower().split()
        self.invalidateFilter()

    def row_at(self, index: qt.QModelIndex) -> Row:
        """Return the row behind a cell of the view."""
        found: Row = self.sourceModel().row_at(self.mapToSource(index))
        return found

    def filterAcceptsRow(self, number: int, parent: qt.QModelIndex) -> bool:
        """Qt's."""
        table = self.sourceModel()
        row = table.row_at(table.index(number, 0))
        text = "\n".join(column.text(row) for column in COLUMNS).lower()
        return all(word in text for word in self._words)

    def lessThan(self, left: qt.QModelIndex, right: qt.QModelIndex) -> bool:
        """Qt's."""
        mine, others = (
            (COLUMNS[index.column()].key(row), row.name.lower())
            for index in (left, right)
            for row in [self.sourceModel().row_at(index)]
        )
        if mine[0] != others[0]:
            return bool(mine[0] < others[0])
        # Equal ones go down the alphabet either way.
        return bool((mine[1] < others[1]) == (self.sortOrder() == qt.Qt.AscendingOrder))


class StateDelegate(qt.QStyledItemDelegate):
    """The state as a word on its colour."""

    def paint(self, painter: qt.QPainter, option: qt.QStyleOptionViewItem, index: qt.QModelIndex) -> None:
        """Qt's."""
        options = qt.QStyleOptionViewItem(option)
        self.initStyleOption(options, index)
        state, options.text = options.text, ""
        options.widget.style().drawControl(qt.QStyle.CE_ItemViewItem, options, painter, options.widget)
        painter.save()
        painter.setRenderHint(qt.QPainter.Antialiasing)
        painter.setPen(qt.Qt.NoPen)
        painter.setBrush(qt.QColor(theme.current().state[STATE_KIND.get(state, "notice")]))
        pill = qt.QRectF(0, 0, option.rect.width() - 8, options.fontMetrics.lineSpacing() + 4)
        pill.moveCenter(qt.QRectF(option.rect).center())
        painter.drawRoundedRect(pill, 3, 3)
        font = options.font
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(qt.QColor("white"))
        painter.drawText(pill, qt.Qt.AlignCenter, state)
        painter.restore()


class PathDelegate(qt.QStyledItemDelegate):
    """A file's name that does not fit is shortened in the middle: its end says which scan."""

    def initStyleOption(self, option: qt.QStyleOptionViewItem, index: qt.QModelIndex) -> None:
        """Qt's."""
        super().initStyleOption(option, index)
        option.textElideMode = qt.Qt.ElideMiddle
