"""The log of events, newest at the bottom: filtered by words and kinds, copied and saved as text."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_column, in_row
from penstock.gui.model.columns import Column
from penstock.gui.model.log import KINDS, Entry, Filter, Kind, Log, LogLines, as_text
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.style import filter_line, look, sheet
from penstock.gui.panel.table import Rows, Table, wrapped
from penstock.gui.words import date_and_clock, when
from penstock.stins.texts import plural

NOTHING_YET = "No entries yet."
NOTHING_FITS = "No entry matches the filter. Esc in its line clears it."


def _word(kind: Kind) -> str:
    return f"{KINDS[kind].sign} {KINDS[kind].word}".strip()


COLUMNS = (
    Column("Time", lambda entry: when(entry.time, time.time())),
    Column("Kind", lambda entry: _word(entry.kind)),
    Column("Detector", lambda entry: entry.source),
    Column("What", lambda entry: entry.text),
)
TIME, KIND, DEVICE, TEXT = range(len(COLUMNS))
SWITCHES = """
    QToolButton#kind {{ background: transparent; color: {colours.muted}; border: 1px solid {colours.line};
        border-radius: 3px; padding: 3px 4px; }}
    QToolButton#kind:checked {{ background: {colours.pressed}; color: {colours.text}; }}
    QToolButton#kind:focus {{ border-color: {colours.accent}; }}
"""
AROUND = 40
"""Pixels beside the word that says what the filter is."""
PADDING = 20
"""Pixels of a cell beside its text."""


class Logged(Protocol):
    """A model with a log, as `DetectorModel`."""

    log: Log

    def on_change(self, call: Callable[[], None]) -> None:
        """Have `call` called after each change."""


class LogRows(Rows):
    """Entries as rows; only what is new is added, and what is too old removed."""

    def __init__(self, lines: LogLines, parent: qt.QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self._lines = lines

    def read(self) -> int:
        """Take what is new; how many rows went from the top."""
        dropped, new = self._lines.read()
        if dropped:
            self.beginRemoveRows(qt.QModelIndex(), 0, dropped - 1)
            del self._rows[:dropped]
            self.endRemoveRows()
        if new:
            first = len(self._rows)
            self.beginInsertRows(qt.QModelIndex(), first, first + len(new) - 1)
            self._rows += new
            self.endInsertRows()
        return dropped

    def set_filter(self, wanted: Filter) -> None:
        """Show what fits."""
        self.beginResetModel()
        self._lines.filter = wanted
        self._rows = self._lines.visible()
        self.endResetModel()

    def ink(self, row: Entry, column: int) -> str:
        """Return the colour of a cell."""
        colours = theme.current()
        if row.kind is Kind.TROUBLE and column in (KIND, TEXT):
            return colours.bad
        return colours.text if column == TEXT else colours.muted

    def tip(self, row: Entry, column: int) -> str:
        """Return the tool tip of a cell."""
        return wrapped(date_and_clock(row.time) if column == TIME else row.text)

    def data(self, index: qt.QModelIndex, role: int = qt.Qt.DisplayRole) -> Any:
        """Qt's."""
        if role == qt.Qt.AccessibleTextRole and index.column() == TEXT:
            entry = self._rows[index.row()]
            return f"{KINDS[entry.kind].word}: {entry.text}"
        return super().data(index, role)


class LogView(qt.QWidget):
    """Follows one model or several; at the end, unless the user has scrolled up.

    Args:
        models: whose logs are shown; the column with the detector's name is there if they are several.
    """

    def __init__(self, models: Logged | Sequence[Logged], parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        several = list(models) if isinstance(models, Sequence) else [models]
        self.filter = filter_line("Filter", "Filter of the log", self)
        self.kinds = {kind: qt.QToolButton(self) for kind in KINDS}
        self.save_as = qt.QToolButton(self)
        self.table = Table(self)
        self.newest = qt.QToolButton(self.table)
        self._says = qt.QLabel(self)
        self._rows = LogRows(LogLines(model.log for model in several), self)
        self._follows = True
        self._lay_out()
        self.table.setColumnHidden(DEVICE, len(several) == 1)
        self._bind()
        for model in several:
            Notifier(model, self).changed.connect(self.refresh)
        self.refresh()

    def entries(self) -> Sequence[Entry]:
        """On show, oldest first."""
        return self._rows.rows()

    def says(self) -> str:
        """Return the result of the last "Save as…"."""
        return str(self._says.text())

    def text(self) -> str:
        """Return the selected entries, or all that are on show, as lines."""
        entries, selected = self._rows.rows(), self.table.rows()
        return as_text([entries[row] for row in selected] if selected else entries)

    def copy(self) -> None:
        """Copy `text` to the clipboard."""
        qt.QApplication.clipboard().setText(self.text())

    def save(self, path: Path) -> None:
        """Write all entries that are on show to a file, and show that it was done, or why not."""
        try:
            path.write_text(as_text(self._rows.rows()), encoding="utf-8")
        except OSError as error:
            look(self._says, role="problem")
            said = f"▲ {path} could not be written: {error.strerror}. Choose another folder."
        else:
            look(self._says, role="muted")
            said = f"{path}: {plural(len(self._rows.rows()), 'entry', 'entries')} written."
        self._says.setText(said)
        self._says.setVisible(True)

    def refresh(self) -> None:
        """Show what is new."""
        bar = self.table.verticalScrollBar()
        top, some = bar.value(), bool(self._rows.rowCount())
        dropped = self._rows.read()
        if not some:
            self._fit_columns()
        if self._follows:
            self.table.scrollToBottom()
        elif dropped:
            bar.setValue(top - dropped)  # the rows on show stay where they are
        self._fit_time()
        self._say()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Stay at the end."""
        super().resizeEvent(event)
        if self._follows:
            self.table.scrollToBottom()
        self._place_newest()

    # -- how it is put together ------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.setStyleSheet(sheet() + SWITCHES.format(colours=theme.current()))
        self.filter.ensurePolished()
        self.filter.setMinimumWidth(self.filter.fontMetrics().horizontalAdvance("Filter") + AROUND)
        self.filter.setToolTip("Only entries with all of these words; Esc clears it")
        for kind, button in self.kinds.items():
            words = KINDS[kind]
            button.setText(_word(kind))
            button.setToolTip(f"Show or hide: {words.tip[0].lower()}{words.tip[1:]}")
            button.setAccessibleName(f"Show {words.word}")
            button.setObjectName("kind")
            button.setCheckable(True)
            button.setChecked(True)
        self.save_as.setText("Save as…")
        self.save_as.setToolTip("Write the entries shown to a text file")
        self.table.setModel(self._rows)
        self.table.setAccessibleName("Log")
        self.table.horizontalHeader().hide()
        self.table.horizontalHeader().setMinimumSectionSize(20)
        self.table.setVerticalScrollMode(qt.QTableView.ScrollPerItem)
        self.table.setMinimumHeight(2 * self.table.verticalHeader().defaultSectionSize() + 4)
        self.table.setSelectionMode(qt.QTableView.ExtendedSelection)
        self.newest.setText("↓ Newest")
        self.newest.setToolTip("Follow the log again (End)")
        self.newest.setFocusPolicy(qt.Qt.NoFocus)
        self.newest.hide()
        self._says.setWordWrap(True)
        self._says.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        self._says.hide()
        self.setFocusProxy(self.table)
        top = in_row((self.filter, 1), *self.kinds.values(), 6, self.save_as, spacing=4)
        in_column(top, (self.table, 1), self._says, of=self, margins=(8, 4, 8, 4), spacing=4)

    def _bind(self) -> None:
        self.filter.textChanged.connect(self._set_filter)
        for button in self.kinds.values():
            button.toggled.connect(self._set_filter)
        clear = qt.QShortcut(qt.QKeySequence(qt.Qt.Key_Escape), self.filter)
        clear.setContext(qt.Qt.WidgetShortcut)
        clear.activated.connect(self.filter.clear)
        self.save_as.clicked.connect(self._ask_where)
        self.table.add("&Copy", self.copy, qt.QKeySequence.Copy)
        self.table.add("Select &all", self.table.selectAll, qt.QKeySequence.SelectAll)
        self.table.add("&Save as…", self._ask_where)
        self.newest.clicked.connect(self.table.scrollToBottom)
        self.table.verticalScrollBar().valueChanged.connect(self._scrolled)

    # -- what happens ------------------------------------------------------------------------------------

    def _scrolled(self, value: int) -> None:
        self._follows = value >= self.table.verticalScrollBar().maximum()
        self.newest.setVisible(not self._follows)
        self._place_newest()
        self._fit_time()

    def _place_newest(self) -> None:
        area = self.table.viewport().geometry()
        self.newest.adjustSize()
        self.newest.move(area.right() - self.newest.width() - 8, area.bottom() - self.newest.height() - 6)

    def _set_filter(self, *_: object) -> None:
        kinds = frozenset(kind for kind, button in self.kinds.items() if button.isChecked())
        self._rows.set_filter(Filter(self.filter.text(), kinds))
        self.table.scrollToBottom()
        self._fit_time()
        self._say()

    def _say(self) -> None:
        self.table.say(NOTHING_FITS if self._filters() else NOTHING_YET)

    def _filters(self) -> bool:
        return bool(self.filter.text().strip()) or not all(each.isChecked() for each in self.kinds.values())

    def _ask_where(self) -> None:
        name, _ = qt.QFileDialog.getSaveFileName(self, "Save the log", "penstock-log.txt", "Text (*.txt)")
        if name:
            self.save(Path(name))

    def _fit_columns(self) -> None:
        """Kinds and names are known: their columns need no measuring later."""
        measure = self.table.fontMetrics().horizontalAdvance
        self.table.setColumnWidth(KIND, max(measure(_word(kind)) for kind in Kind) + PADDING)
        names = {entry.source for entry in self._rows.rows()}
        self.table.setColumnWidth(DEVICE, max(map(measure, names), default=0) + PADDING)

    def _fit_time(self) -> None:
        """As wide as the rows in sight need: those of other days have the day before their time."""
        entries = self._rows.rows()
        ends = (self.table.rowAt(0), self.table.rowAt(self.table.viewport().height() - 1))
        texts = [COLUMNS[TIME].text(entries[row]) for row in ends if entries]  # -1, below the last: the last
        width = max(map(self.table.fontMetrics().horizontalAdvance, texts), default=0) + PADDING
        if width != self.table.columnWidth(TIME):
            self.table.setColumnWidth(TIME, width)
