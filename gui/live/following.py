"""What the views of frames and of results have in common: how they follow, what they say, what they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from silx.gui import qt

from penstock.gui.banner import StateBanner
from penstock.gui.elsewhere import start_viewer
from penstock.gui.first_place import first_size
from penstock.gui.live.actions.open_file import OpenFile, dropped_files
from penstock.gui.live.actions.parts import Form, Forms
from penstock.gui.live.actions.save import CopyPicture
from penstock.gui.live.texts.caption import CaptionLine
from penstock.gui.live.texts.plate import Plate
from penstock.gui.live.texts.status_line import StatusLine
from penstock.gui.message import Message

TICK_MS = 500
"""Milliseconds after which rates and ages are others, also where nothing new is known."""


class FollowingView(qt.QMainWindow):
    """Follows a feed from when it is first shown until `stop`; while nobody sees it, it has nothing drawn.

    It takes the focus when it is clicked beside its fields, so that its keys act. Like silx' own plot windows
    it is a QMainWindow, because of its tool bars, and fits into any layout.

    Args:
        feed: source of snapshots.
        status: the line below.
        compact: for use next to other widgets.
    """

    frame_drawn = qt.Signal(int)
    """How many times this widget has drawn something new."""
    updated = qt.Signal()
    """A snapshot is on show."""
    restored = qt.Signal()
    """What was kept for this detector or pipeline is chosen now."""

    def __init__(
        self, feed: Any, status: StatusLine, *, compact: bool = False, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setFocusPolicy(qt.Qt.ClickFocus)
        self.setAcceptDrops(True)
        self._compact = compact
        self._feed = feed
        self._snapshot = feed.take()
        self._status = status
        self._forms = Forms()
        self.keeps_size = True
        """True if its size is that of a window, and is remembered."""
        self.opens: Callable[[str], None] = self._open_elsewhere
        """Opens a file that the user has chosen, or dropped here: by default in a window of its own."""
        self.banner = StateBanner(self, compact=compact)
        self.plate = Plate(self)
        self.caption = CaptionLine(compact=compact, parent=self)
        self.copy = CopyPicture(self.picture, self)
        self.open = OpenFile(lambda path: self.opens(path), self._file_on_show, self)
        self.setStatusBar(status)
        self._clock = qt.QTimer(self)
        self._clock.setInterval(TICK_MS)
        self._clock.timeout.connect(self._tick)
        self._feed.fresh.connect(self._refresh, qt.Qt.QueuedConnection)
        self.destroyed.connect(feed.ask_to_stop)
        self.copy.said.connect(self.say)

    # -- what each view does by itself -----------------------------------------------------------

    def picture(self) -> qt.QImage | None:
        """Return the picture as it is seen, with the line above it; `None` before the first."""
        raise NotImplementedError

    def drawn(self) -> int:
        """Return how many times something new was drawn."""
        raise NotImplementedError

    def frame(self) -> int | None:
        """Return the index of the frame on show; `None` if there is none."""
        raise NotImplementedError

    def is_ready(self, count: int) -> bool:
        """Return whether so many were drawn, and what belongs to the last of them is on the screen."""
        raise NotImplementedError

    def lacking(self) -> str:
        """Return that what is wanted is none of what there is; "" if it is, or nothing is known yet."""
        return ""

    def why_never(self, frame: int | None) -> str:
        """Return why what is wanted will never be on the screen; "" if it may.

        Args:
            frame: of a file, the frame that is wanted; `None`: any.
        """
        raise NotImplementedError

    def no_answer_yet(self) -> str:
        """Return why it waits, if it has never had an answer, and what to look at."""
        raise NotImplementedError

    def changes(self) -> tuple[qt.Signal, ...]:
        """Return the signals after which these may be others."""
        return self.updated, self.frame_drawn

    def _refresh(self) -> None:
        """Take the newest snapshot, and show it."""
        raise NotImplementedError

    def _tick(self) -> None:
        """Show rates and ages."""
        raise NotImplementedError

    def _wants(self) -> bool:
        """Return whether the newest is wanted, if somebody sees it."""
        raise NotImplementedError

    def _threads(self) -> Sequence[Any]:
        """Return what has threads: the feed first."""
        raise NotImplementedError

    def _suit_form(self, form: Form) -> None:
        """Follow the form in what it does not hide."""
        raise NotImplementedError

    # -- its life ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to follow; showing it for the first time does so too."""
        if not self._feed.was_started():
            self._clock.start()
            self._feed.start()

    def was_started(self) -> bool:
        """Return whether it has begun to follow."""
        return bool(self._feed.was_started())

    def is_running(self) -> bool:
        """Return whether one of its threads lives: they end with the request under way."""
        return any(each.is_running() for each in self._threads())

    def stop(self) -> None:
        """End it, for good: waits for the request under way."""
        self.ask_to_stop()
        for each in self._threads():
            each.stop()

    def ask_to_stop(self) -> None:
        """End it, for good, without waiting for it."""
        self._clock.stop()
        for each in self._threads():
            each.ask_to_stop()

    def is_seen(self) -> bool:
        """Return whether somebody can see it: minimised it draws nothing."""
        return bool(self.isVisible() and not self.window().isMinimized())

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Begin, now that it is visible."""
        super().showEvent(event)
        self.start()
        self._tell_wanted()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Ask for nothing while it is not visible."""
        super().hideEvent(event)
        self._tell_wanted()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """End it; the widget goes first, since the request under way may take a moment."""
        self.hide()
        self.stop()
        super().closeEvent(event)

    def changeEvent(self, event: qt.QEvent) -> None:
        """Ask for nothing while the window is minimised."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.WindowStateChange:
            self._tell_wanted()

    def _tell_wanted(self) -> None:
        """Tell the feed whether anything is wanted now."""
        self._feed.set_wanted(self.is_seen() and self._wants())

    # -- what it shows -------------------------------------------------------------------------

    def set_form(self, form: Form) -> None:
        """Show all parts; as a tile, none beside the picture; bare, nothing but picture, state, count."""
        if form != self._forms.form:
            self._forms.take(form)
            self.plate.setVisible(form == "bare")
            self._suit_form(form)
            self._refresh()

    def _show_head(self, name: str, says: Message, count: str) -> None:
        """Say whose picture it is, and the state, in the title and to be read from afar."""
        self.plate.show_plate(name, says, count)
        self.setWindowTitle(f"{name} – {says.title.lower()} – Penstock")

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while."""
        self._status.say(sentence, wrong)

    def said(self) -> str:
        """Return what the line below says of what was done last."""
        return self._status.readout.said()

    def _take_keys(self, actions: Iterable[qt.QAction]) -> None:
        for action in actions:
            # Beside other widgets a key is meant for the view only when the view has the focus.
            action.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
            self.addAction(action)

    # -- files ---------------------------------------------------------------------------------

    def dragEnterEvent(self, event: qt.QDragEnterEvent) -> None:
        """Take files."""
        if dropped_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: qt.QDropEvent) -> None:
        """Open the files that are dropped."""
        for path in dropped_files(event.mimeData()):
            self.opens(path)
        event.acceptProposedAction()

    def _open_elsewhere(self, path: str) -> None:
        trouble = start_viewer(path)
        self.say(trouble or f"{path} opens in a window of its own.", bool(trouble))

    def _file_on_show(self) -> str:
        return self._snapshot.url if self._snapshot.is_file else ""

    # -- its size ------------------------------------------------------------------------------

    def _size_kept(self) -> qt.QSize | None:
        return self.size() if self.keeps_size and not self._compact else None

    def _take_size(self, size: qt.QSize) -> None:
        """Take a size that was kept, perhaps on a larger screen."""
        if self.keeps_size and not self._compact:
            window = self.window()  # it may have tabs around this
            kept = window.size() + size - self.size()
            most = window.screen().availableSize().expandedTo(window.size())
            window.resize(first_size(window, kept.boundedTo(most)))
