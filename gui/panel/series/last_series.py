"""How the last series ended: its verdict, its file, which frames are lost, and what to do with it."""

from __future__ import annotations

import time
from collections.abc import Callable

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.background import Background
from penstock.gui.labels import ClampedLabel, ElidedLabel
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.series.outcome import Ending, ending
from penstock.gui.model.tango.answers import LastSeries
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.series.files import (
    IN_SILX,
    CheckFile,
    open_in_silx,
    open_in_view,
    why_not_here,
)
from penstock.gui.panel.series.fill_meter import heading, tint
from penstock.gui.panel.series.history import HistoryDialog

NOTHING_WRITTEN = "Nothing was written."
LOOKING = "Looking for the file …"
CHECKS = "Read the whole file: are its frames and its record in order?"
PAST = "Every series that the receiver remembers, such as yesterday's (Ctrl+H)"
NONE_YET = "No series has ended since the device server was started."
AGE_MS = 20_000
"""Milliseconds between two updates of "2 min ago"."""


class LastSeriesView(qt.QWidget):
    """Follows `model`; opens and checks files that this host can see."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._last: LastSeries | None = None
        self._receiver_url = ""
        self._checking = CheckFile(self)
        self._looking = Background(self)
        self._looked_for = ""
        self._unanswered = ""
        """File that is being looked for: on a hanging file system, threads must not accumulate."""
        self._why_not_here = LOOKING
        self._title = heading("Last series", self)
        self._time = qt.QLabel(self)
        # All of a fixed height: the picture above must not jump when a series ends.
        self._verdict = ClampedLabel(2, self)
        self._file = ElidedLabel(self)
        self._lost = ClampedLabel(1, self)
        self._note = ClampedLabel(1, self)
        """What the check of the file said, or else why the file cannot be opened here."""
        self._found = ""
        self._found_good = True
        self._why = ""
        self._busy = qt.QLabel(self)
        self.open_file = qt.QPushButton("Open", self)
        self.open_silx = qt.QPushButton("Open in sil&x", self)
        self.copy_path = qt.QPushButton("Copy &path", self)
        self.check = qt.QPushButton("Chec&k file", self)
        self.past = qt.QPushButton("Past series…", self)
        self._history: HistoryDialog | None = None
        self._lay_out()
        self.open_file.clicked.connect(lambda: self._open(open_in_view))
        self.open_silx.clicked.connect(lambda: self._open(open_in_silx))
        self.copy_path.clicked.connect(self._copy)
        self.check.clicked.connect(self._check)
        self.past.clicked.connect(self.show_past)
        self._checking.said.connect(self._say_found)
        self._notifier = Notifier(model, self)
        self._notifier.changed.connect(self._refresh)
        self._clock = qt.QTimer(self)
        self._clock.setInterval(AGE_MS)
        self._clock.timeout.connect(self.look_again)
        self._clock.start()
        self._show()

    def verdict(self) -> str:
        """Return the sentence on show, with its sign and word."""
        return self._verdict.whole()

    def lost(self) -> str:
        """Return which frames are not in the file as they should be."""
        return self._lost.whole()

    def check_result(self) -> str:
        """Return what the check of the file said."""
        return self._found

    def why_not(self) -> str:
        """Return why the file cannot be opened on this host; "" where it can."""
        return str(self._busy.text()) or self._why

    def look_again(self) -> None:
        """Update how long ago it was, and whether this host sees the file."""
        self._show()

    def show_past(self) -> None:
        """Open the receiver's list of past series, or bring it to the front."""
        url = self._model.view().receiver_url
        if not url:
            return
        if self._history is None:
            self._history = HistoryDialog(url, self.window())
            self._history.setAttribute(qt.Qt.WA_DeleteOnClose)
            self._history.destroyed.connect(self._forget_history)
            self._history.show()
        self._history.raise_()
        self._history.activateWindow()

    def _forget_history(self) -> None:
        self._history = None

    def changeEvent(self, event: qt.QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.PaletteChange and hasattr(self, "_clock"):
            self._show()

    def _refresh(self) -> None:
        view = self._model.view()
        if (view.last, view.receiver_url) == (self._last, self._receiver_url):
            return
        self._receiver_url = view.receiver_url
        if view.last == self._last:
            self._offer()
            return
        self._last = view.last
        self._say_found("", True)
        self._show()

    def _show(self) -> None:
        colours = theme.current()
        tint(self._title, colours.accent)
        self._last = self._model.view().last
        if self._last is None:
            self._verdict.set_whole(NONE_YET)
            tint(self._verdict, colours.muted)
            self._time.setText("")
            self._lost.set_whole("")
            self._file.set_whole("")
            self._offer()
            return
        self._show_ending(ending(self._last, time.time()), colours)
        self._look_for_file()

    def _show_ending(self, last: Ending, colours: theme.Theme) -> None:
        outcome = last.outcome
        words = f"{outcome.sign} {outcome.word}. {last.sentence}"
        self._verdict.set_whole(words)
        tint(self._verdict, colours.text if outcome.good else colours.bad)
        self._time.setText(last.time)
        tint(self._time, colours.muted)
        self._lost.set_whole(f"▲ Frames {last.lost}" if last.lost else "")
        tint(self._lost, colours.bad)
        self._file.set_whole(last.file)
        tint(self._file, colours.muted)
        self._time.setToolTip(f"Armed by {last.armed_by}" if last.armed_by else "")
        self.setAccessibleName(f"Last series: {self.verdict()}")

    def _look_for_file(self) -> None:
        """Not in the thread of the windows: a file system that hangs would hold them."""
        file = self._last.file if self._last is not None else ""
        if file != self._looked_for:
            self._looked_for, self._why_not_here = file, LOOKING
        self._offer()
        if file and file != self._unanswered:
            self._unanswered = file
            self._looking.call(
                lambda: why_not_here(file), self._found_here, lambda error: self._found_here(str(error))
            )

    def _found_here(self, why: str) -> None:
        self._unanswered = ""
        self._why_not_here = why
        self._offer()

    def _offer(self) -> None:
        file = self._last.file if self._last is not None else ""
        none = "" if file else NOTHING_WRITTEN if self._last is not None else "There is no file yet."
        why_not_open = none or self._why_not_here
        busy = "The file is being read." if self._checking.is_running() else ""
        no_receiver = "" if self._model.view().receiver_url else "The device names no receiver to ask."
        looking = why_not_open == LOOKING
        self._busy.setText(LOOKING if looking else "")
        self._why = "" if none or looking else why_not_open
        tint(self._busy, theme.current().muted)
        self._show_note()
        for button, does, why in (
            (self.open_file, "Show its frames in a window, from the first one on", why_not_open),
            (self.open_silx, IN_SILX, why_not_open),
            (self.copy_path, "Put the file's path into the clipboard", none),
            (self.check, CHECKS, why_not_open or busy),
            (self.past, PAST, no_receiver),
        ):
            button.setEnabled(not why)
            button.setToolTip(why or does)
            button.setAccessibleDescription(why or does)

    def _open(self, opens: Callable[[str], str]) -> None:
        if self._last is not None:
            trouble = opens(self._last.file)
            self._say_found(trouble, not trouble)

    def _copy(self) -> None:
        if self._last is not None:
            qt.QApplication.clipboard().setText(self._last.file)
            self._say_found("The path is in the clipboard.", True)

    def _check(self) -> None:
        if self._last is not None:
            self._checking.begin(self._last.file)
            self._say_found("The file is being read …", True)

    def _say_found(self, words: str, good: bool) -> None:
        self._found, self._found_good = words if good or not words else f"▲ {words}", good
        self._offer()

    def _show_note(self) -> None:
        self._note.set_whole(self._found or self._why)
        self._note.setVisible(bool(self._found or self._why))  # else it takes half the line
        bad = bool(self._found) and not self._found_good
        tint(self._note, theme.current().bad if bad else theme.current().muted)

    def _lay_out(self) -> None:
        buttons = (self.open_file, self.open_silx, self.copy_path, self.check, self.past)
        in_column(
            in_row(self._title, (self._file, 1), self._time, spacing=14),
            self._verdict,
            in_row((self._lost, 1), (self._note, 1), spacing=14),
            in_row(*buttons, 6, (self._busy, 1), spacing=6),
            STRETCH, of=self, margins=(12, 5, 12, 5), spacing=4,
        )  # fmt: skip
