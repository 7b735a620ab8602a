"""The receiver's past series: find yesterday's and its file, and which of its frames are missing.

The model filters and sorts them, which knows numbers from words.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Protocol

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.background import Background, later
from penstock.gui.layouts import in_column, in_row
from penstock.gui.model.columns import as_text
from penstock.gui.model.series.past import COLUMNS, DAY, FOLDER, MOST, VERDICT, PastRow, filtered
from penstock.gui.panel.series.files import (
    IN_SILX,
    open_in_silx,
    open_in_view,
    why_not_here,
    why_not_open,
)
from penstock.gui.panel.style import filter_line, look, sheet
from penstock.gui.panel.table import Rows, Table, wrapped
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import PastSeries


class HistoryRows(Rows):
    """The rows that fit the filter, as they are sorted."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self._all: list[PastRow] = []
        self._words = ""
        self._column, self._falling = DAY, True

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
        self._rows = filtered(self._all, self._words, self._column, falling=self._falling)
        self.endResetModel()

    def ink(self, row: PastRow, column: int) -> str:
        """Return the colour of a cell."""
        colours = theme.current()
        if column == VERDICT:
            return colours.good if row.outcome.good else colours.bad
        return colours.muted if column == FOLDER else colours.text

    def tip(self, row: PastRow, column: int) -> str:
        """Return the tool tip of a cell."""
        return wrapped(row.past.why if column == VERDICT else row.file or row.past.why)


TIMEOUT = 2.0
"""Seconds for the receiver's answer, beside what `ReceiverClient` grants its disk."""
LOOK_DELAY = 120
"""Milliseconds for which a row is current before its file is looked for: arrow keys are held down."""
FIRST_SIZE = (1000, 600)
WIDTHS = {"Day": 100, "Time": 80, "Took": 92, "Frames": 140, "Verdict": 112, "File": 200}
"""Pixels at first; the folder has the rest."""
ASKING = "Asking the receiver …"
NONE_YET = "This receiver has taken no series yet."
NONE_FITS = "No series matches the filter. Esc clears it."
NO_FILE = "This series has no file."


class Receiver(Protocol):
    """The part of `ReceiverClient` that is used here."""

    def history(self, limit: int = 20) -> list[PastSeries]:
        """Return the last series, newest first."""


class HistoryDialog(qt.QDialog):
    """A table of series, and below it all that is known of the current one.

    Args:
        receiver: that is asked; or its address.
    """

    def __init__(self, receiver: Receiver | str, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._receiver: Receiver = (
            ReceiverClient(receiver, timeout=TIMEOUT) if isinstance(receiver, str) else receiver
        )
        where = f" of {receiver}" if isinstance(receiver, str) else ""
        self.setWindowTitle(f"Past series{where}")
        self.setWindowFlag(qt.Qt.WindowMaximizeButtonHint)
        self.resize(*FIRST_SIZE)
        hint = "Filter: yesterday, 2026-03-01, incomplete, a file, a reason (Ctrl+F)"
        self.filter = filter_line(hint, "Filter of the series", self)
        self.refresh_button = qt.QPushButton("&Refresh", self)
        self.table = Table(self)
        self.details = qt.QTextBrowser(self)
        self.copy_path = qt.QPushButton("Copy &path", self)
        self.open_file = qt.QPushButton("&Open", self)
        self.open_silx = qt.QPushButton("Open in sil&x", self)
        self._says = qt.QLabel(self)
        self._rows = HistoryRows(self)
        self._asking = Background(self)
        self._looking = Background(self)
        self._chosen: PastRow | None = None
        self._count = 0
        """Series reported by the receiver."""
        self._look_timer = later(self._look_for_file, self, LOOK_DELAY)
        self._lay_out()
        self._bind()
        self._show_row()
        self.refresh()

    def says(self) -> str:
        """Return the result of the last refresh, or of the last button."""
        return str(self._says.text())

    def current(self) -> PastRow | None:
        """Return the series whose details are on show."""
        index = self.table.currentIndex()
        return self._rows.rows()[index.row()] if index.isValid() else None

    def files(self) -> list[str]:
        """Files of the series on show, from top to bottom."""
        return [row.file for row in self._rows.rows()]

    def text(self) -> str:
        """Return the selected rows, or all that are on show, as text with tabs."""
        rows, selected = self._rows.rows(), self.table.rows()
        return as_text(COLUMNS, [rows[number] for number in selected] if selected else rows)

    def refresh(self) -> None:
        """Ask the receiver again; what is on show stays until it has answered."""
        self._say(ASKING)
        self.table.say(ASKING)
        self._asking.call(lambda: self._receiver.history(MOST), self._show, self._fail)

    def done(self, result: int) -> None:
        """Cancel all requests that are under way."""
        self._look_timer.stop()
        self._asking.cancel()
        self._looking.cancel()
        super().done(result)

    # -- how it is put together ------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.setStyleSheet(sheet())
        self.refresh_button.setToolTip("Ask the receiver for what has ended since (F5)")
        self.copy_path.setToolTip("Put the file's path, as the receiver sees it, into the clipboard")
        close = qt.QPushButton("Close", self)
        close.clicked.connect(self.close)
        self.table.setModel(self._rows)
        self.table.setAccessibleName("Series, newest first")
        self.table.setSelectionMode(qt.QTableView.ExtendedSelection)
        self.table.horizontalHeader().setSortIndicator(DAY, qt.Qt.DescendingOrder)
        self.table.setSortingEnabled(True)
        self.table.setTextElideMode(qt.Qt.ElideMiddle)  # a path's end says which scan
        for number, column in enumerate(COLUMNS[:FOLDER]):
            self.table.setColumnWidth(number, WIDTHS[column.title])
        self.details.setAccessibleName("Details of the series")
        self.details.setTabChangesFocus(True)
        self.details.setOpenLinks(False)
        self._says.setWordWrap(True)
        self._says.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        split = qt.QSplitter(qt.Qt.Vertical, self)
        split.addWidget(self.table)
        split.addWidget(self.details)
        split.setStretchFactor(0, 1)
        split.setSizes([380, 150])
        split.setChildrenCollapsible(False)
        for button in (self.copy_path, self.open_file, self.open_silx, close, self.refresh_button):
            button.setAutoDefault(False)  # Enter in the filter presses none of them
        in_column(
            in_row((self.filter, 1), self.refresh_button),
            (split, 1),
            in_row((self._says, 1), self.copy_path, self.open_silx, self.open_file, close),
            of=self, margins=(12, 10, 12, 10), spacing=8,
        )  # fmt: skip

    def _bind(self) -> None:
        self.filter.textChanged.connect(self._set_filter)
        self.filter.returnPressed.connect(self.table.setFocus)
        self.refresh_button.clicked.connect(self.refresh)
        self.copy_path.clicked.connect(self._copy_path)
        self.open_file.clicked.connect(self._open)
        self.open_silx.clicked.connect(self._open_in_silx)
        self.table.add("&Copy rows", self._copy_rows, qt.QKeySequence.Copy)
        self.table.add("Copy &path", self._copy_path)
        self.table.add("&Open", self._open)
        self.table.add("Open in sil&x", self._open_in_silx)
        self.table.activated.connect(self._open)
        self.table.selectionModel().currentRowChanged.connect(self._show_row)
        self._rows.modelReset.connect(self._choose_again)
        for keys, call in ((qt.QKeySequence.Refresh, self.refresh), (qt.QKeySequence.Find, self._find)):
            qt.QShortcut(qt.QKeySequence(keys), self).activated.connect(call)

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Esc clears the filter first, and closes then."""
        if event.key() == qt.Qt.Key_Escape and self.filter.text():
            self.filter.clear()
            self.table.setFocus()
        else:
            super().keyPressEvent(event)

    # -- what happens ------------------------------------------------------------------------------------

    def _show(self, series: list[PastSeries]) -> None:
        now = time.time()
        self._count = len(series)
        self._rows.show_rows([PastRow(past, now) for past in series])
        self.table.say(NONE_FITS if series else NONE_YET)
        self._say_number()

    def _fail(self, error: Exception) -> None:
        text = str(error)
        text = f"{text[:1].upper()}{text[1:]}"
        if not self._rows.rows():
            self.table.say(f"{text} F5 asks again.")
        self._say(f"▲ {text}", wrong=True)

    def _set_filter(self, words: str) -> None:
        self._rows.set_filter(words)
        self._say_number()

    def _choose_again(self) -> None:
        """The same series as before, or else the first one."""
        rows = self._rows.rows()
        same = [number for number, row in enumerate(rows) if self._is_chosen(row)]
        if rows:
            self.table.selectRow(same[0] if same else 0)
        else:
            self._show_row()

    def _is_chosen(self, row: PastRow) -> bool:
        kept = self._chosen
        return kept is not None and (row.past.series.id, row.begun) == (kept.past.series.id, kept.begun)

    def _show_row(self, *_: object) -> None:
        row = self.current()
        self._looking.cancel()
        self._offer("Choose a series first.", "Choose a series first.", "Choose a series first.")
        if row is None:
            self.details.setHtml("")
            return
        self._chosen = row
        self.details.setHtml(_details(row))
        looking = "Looking for the file …" if row.file else NO_FILE
        self._offer("" if row.file else NO_FILE, looking, looking)
        if row.file:
            self._look_timer.start()

    def _look_for_file(self) -> None:
        row = self.current()
        if row is not None and row.file:
            self._looking.call(
                lambda: (why_not_here(row.file), why_not_open(row.file)),
                lambda why: self._offer("", *why),
                lambda error: self._offer("", *2 * (f"The file cannot be looked for: {error}.",)),
            )

    def _offer(self, why_no_path: str, why_not_open: str, why_not_silx: str) -> None:
        self._look_timer.stop()
        for button, does, why in (
            (self.copy_path, "Put the file's path, as the receiver sees it, into the clipboard", why_no_path),
            (self.open_file, "Show its frames in a window, from the first one on (Enter)", why_not_open),
            (self.open_silx, IN_SILX, why_not_silx),
        ):
            button.setEnabled(not why)
            button.setToolTip(wrapped(why or does))
            button.setAccessibleDescription(why or does)

    def _open(self, *_: object) -> None:
        self._open_with(self.open_file, open_in_view, "The viewer")

    def _open_in_silx(self, *_: object) -> None:
        self._open_with(self.open_silx, open_in_silx, "silx")

    def _open_with(self, button: qt.QPushButton, opens: Callable[[str], str], who: str) -> None:
        row = self.current()
        if row is None:
            return
        if not button.isEnabled():
            self._say(str(button.accessibleDescription()))
            return
        trouble = opens(row.file)
        self._say(f"▲ {trouble}" if trouble else f"{who} opens {row.file}.", wrong=bool(trouble))

    def _copy_path(self) -> None:
        row = self.current()
        if row is not None and row.file:
            qt.QApplication.clipboard().setText(row.file)
            self._say("The path is in the clipboard.")

    def _copy_rows(self) -> None:
        qt.QApplication.clipboard().setText(self.text())

    def _find(self) -> None:
        self.filter.setFocus()
        self.filter.selectAll()

    def _say_number(self) -> None:
        shown = len(self._rows.rows())
        self._say(f"{shown:,} of {self._count:,} series" if shown != self._count else f"{shown:,} series")

    def _say(self, words: str, *, wrong: bool = False) -> None:
        look(self._says, role="problem" if wrong else "muted")
        self._says.setText(words)


def _details(row: PastRow) -> str:
    colours = theme.current()
    lines = ""
    for label, text in row.details():
        colour = colours.text
        if label == "Lost frames" or (label == "Verdict" and not row.outcome.good):
            colour = colours.bad
        lines += (
            f"<tr><td style='color: {colours.muted}; padding-right: 16px;'>{label}</td>"
            f"<td style='color: {colour};'>{html.escape(text)}</td></tr>"
        )
    return f"<table cellspacing='0' cellpadding='2'>{lines}</table>"
