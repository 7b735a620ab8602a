"""Values of one snapshot after the other come on the screen, no faster than the window can draw them."""

from __future__ import annotations

import time
from collections.abc import Callable

from silx.gui import qt

from penstock.gui.live.plot.screen import Idle
from penstock.gui.live.results.pages.pages import ResultPages
from penstock.gui.live.results.sentences import caption, nothing
from penstock.gui.live.results.sources.snapshot import Shown, Snapshot, Wish
from penstock.gui.live.texts.caption import CaptionLine
from penstock.processing.models import Result


class Drawer(qt.QObject):
    """Has values drawn if they are what is wanted, says what they are, and counts how often it did.

    Args:
        plots: draw them.
        line: says what they are.
        ready: called when the next ones may come: these are on the screen, and the window is idle.
    """

    drawn = qt.Signal(int)
    """How many times something new was drawn."""

    def __init__(
        self,
        plots: ResultPages,
        line: CaptionLine,
        ready: Callable[[], None],
        parent: qt.QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._plots, self._line, self._ready = plots, line, ready
        self._shown: Shown | None = None
        """What is on the screen."""
        self._drawn, self._began = 0, 0.0
        self._drawing = False
        """True if what was shown last is not on the screen yet."""
        self._idle = Idle(ready, self)
        plots.drawn.connect(self._note_drawn)

    def shown(self) -> Shown | None:
        """Return what is on the screen; `None` before the first."""
        return self._shown

    def count(self) -> int:
        """Return how many times something new was drawn."""
        return self._drawn

    def is_loading(self) -> bool:
        """Return whether what is wanted is not all on the screen yet, as far as is known."""
        return self._drawing or bool(getattr(self._shown, "loading", False))

    def show_values(
        self, snapshot: Snapshot, result: Result | None, wish: Wish, *, again: bool = False
    ) -> None:
        """Draw the values of a snapshot, or say why there are none.

        Args:
            snapshot: has them, or has those of another result still.
            result: what is known of the result that is wanted.
            wish: what is wanted.
            again: draw them also if they are on the screen.
        """
        shown = snapshot.shown
        if shown is None or shown.name != wish.name or shown.page is not wish.page:
            self._say_nothing(snapshot, result)
            return
        if shown is not self._shown or again:
            self._began, self._drawing = time.thread_time(), True
            self._plots.show_values(snapshot, result, errors=wish.errors)
            self._shown = shown
        self._line.show_caption(caption(shown, snapshot, wish.frame))

    def _say_nothing(self, snapshot: Snapshot, result: Result | None) -> None:
        self._shown, self._drawing = None, False
        self._plots.say(nothing(snapshot, result))
        self._line.show_caption(None)
        self._ready()

    def _note_drawn(self) -> None:
        self._drawn += 1
        self._drawing = False
        self._idle.wait(time.thread_time() - self._began)
        self.drawn.emit(self._drawn)
