"""The list of regions: name and place to be typed, values to be read."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.regions.model import Row, colour, marked, number
from penstock.gui.own_keys import keep_moving_keys

EDGES = ("x", "y", "width", "height")
_HEADINGS = ("Region", "x", "y", "Width", "Height", "Sum", "Mean", "Max", "Saturated")
_TIPS = (
    "Name: letters, digits and underscores; it is what a scan's counter and the file call it",
    "First column (pixel)", "First row (pixel)", "Columns", "Rows",
    "Sum of the newest frame's pixels", "Their mean", "Their maximum",
    "Saturated pixels among them: if there are any, the values are too low",
)  # fmt: skip
_EDITABLE = 1 + len(EDGES)


class RegionTable(qt.QTableWidget):
    """One row per region; typed values are only requested here, and shown once the receiver has them."""

    renamed = qt.Signal(str, str)
    """Name, and what was typed for it."""
    edited = qt.Signal(str, str, str)
    """Name, one of `EDGES`, and what was typed."""
    chosen = qt.Signal(object)
    """Name of the row that is selected, or `None`."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(0, len(_HEADINGS), parent)
        self._names: list[str] = []
        self._rows: list[Row] = []
        self._filling = False
        self.setHorizontalHeaderLabels(_HEADINGS)
        for column, tip in enumerate(_TIPS):
            self.horizontalHeaderItem(column).setToolTip(tip)
        self.horizontalHeaderItem(0).setTextAlignment(qt.Qt.AlignLeft | qt.Qt.AlignVCenter)
        self.setSelectionBehavior(qt.QTableWidget.SelectRows)
        self.setSelectionMode(qt.QTableWidget.SingleSelection)
        self.setEditTriggers(qt.QTableWidget.DoubleClicked | qt.QTableWidget.EditKeyPressed)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        keep_moving_keys(self)
        self.setFrameShape(qt.QFrame.NoFrame)
        self.setAccessibleName("Regions of interest")
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().lineSpacing() + 7)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(qt.QHeaderView.ResizeToContents)
        header.setSectionResizeMode(0, qt.QHeaderView.Stretch)
        header.setMinimumSectionSize(30)
        colours = theme.current()
        self.setStyleSheet(
            f"QTableWidget {{ background: {colours.panel}; color: {colours.text};"
            f" selection-background-color: {colours.pressed}; selection-color: {colours.text}; }}"
            f"QHeaderView, QHeaderView::section {{ background: {colours.panel}; color: {colours.muted};"
            " border: 0; padding: 2px 4px; }"
        )
        self.itemChanged.connect(self._tell_typed)
        self.itemSelectionChanged.connect(lambda: self._filling or self.chosen.emit(self.chosen_name()))

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Put these on show; a cell that is being typed in is left alone."""
        names = [row.name for row in rows]
        if names != self._names and self.state() == qt.QTableWidget.EditingState:
            return
        chosen = self.chosen_name()
        self._filling = True
        if names != self._names:
            self._names = names
            self.setRowCount(0)
            self.setRowCount(len(names))
        self._rows = list(rows)
        for line, row in enumerate(rows):
            self._fill(line, row)
        self._filling = False
        if chosen is None or chosen != self.chosen_name():
            self.choose(chosen)

    def chosen_name(self) -> str | None:
        """Name of the row that is selected."""
        lines = self.selectionModel().selectedRows()
        return self._names[lines[0].row()] if lines and lines[0].row() < len(self._names) else None

    def choose(self, name: str | None) -> None:
        """Select a row; the first one if there is no row of this name."""
        line = self._names.index(name) if name in self._names else 0
        if self._names:
            self.selectRow(line)

    def rename(self, name: str) -> None:
        """Start editing a name."""
        if name in self._names:
            self.choose(name)
            self.setFocus()
            self.editItem(self.item(self._names.index(name), 0))

    def text(self, name: str, heading: str) -> str:
        """Return the text of a cell."""
        return str(self.item(self._names.index(name), _HEADINGS.index(heading)).text())

    def names(self) -> list[str]:
        """Names on show, from top to bottom."""
        return list(self._names)

    def _fill(self, line: int, row: Row) -> None:
        place = row.place
        texts = [
            row.name, *(str(getattr(place, edge)) for edge in EDGES),
            number(row.sum), number(row.mean), number(row.max), marked(row),
        ]  # fmt: skip
        colours = theme.current()
        inks = [qt.QBrush(qt.QColor(colours.old if row.pending else colours.text))] * len(texts)
        if row.saturated:
            inks[-1] = qt.QBrush(qt.QColor(colours.warning))
        tip = f"{row.name} has values from the next series on" if row.pending else ""
        for column, text in enumerate(texts):
            item = self.item(line, column)
            if item is None:
                item = qt.QTableWidgetItem()
                if column == 0:
                    item.setIcon(_swatch(colour(line)))
                else:
                    item.setTextAlignment(qt.Qt.AlignRight | qt.Qt.AlignVCenter)
                if column >= _EDITABLE:
                    item.setFlags(item.flags() & ~qt.Qt.ItemIsEditable)
                self.setItem(line, column, item)
            if item.text() != text:
                item.setText(text)
            item.setForeground(inks[column])
            item.setToolTip(tip)

    def _tell_typed(self, item: qt.QTableWidgetItem) -> None:
        if self._filling or item.row() >= len(self._rows):
            return
        row, text = self._rows[item.row()], str(item.text())
        if item.column() == 0 and text.strip() != row.name:
            self.renamed.emit(row.name, text.strip())
        elif 0 < item.column() < _EDITABLE and text.strip() != str(
            getattr(row.place, EDGES[item.column() - 1])
        ):
            self.edited.emit(row.name, EDGES[item.column() - 1], text)


def _swatch(name: str) -> qt.QIcon:
    picture = qt.QPixmap(10, 10)
    picture.fill(qt.QColor(name))
    icon = qt.QIcon(picture)
    icon.addPixmap(picture, qt.QIcon.Selected)
    return icon
