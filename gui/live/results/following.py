"""When a view of results follows its feed, and when it wants values: only while it is seen."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.live.results.feed import ResultsFeed
from penstock.gui.live.takes_files import TakesFiles


class Following(TakesFiles):
    """Follows a feed from when it is first shown until `stop`.

    Args:
        feed: source of snapshots.
    """

    began = qt.Signal()
    """It has begun to follow."""
    ended = qt.Signal()
    """It ends, for good."""

    def __init__(self, feed: ResultsFeed, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._paused = False
        self.destroyed.connect(feed.ask_to_stop)

    def start(self) -> None:
        """Begin to follow; showing it for the first time does so too."""
        if not self._feed.was_started():
            self.began.emit()
            self._feed.start()

    def was_started(self) -> bool:
        """Return whether it has begun to follow."""
        return self._feed.was_started()

    def is_running(self) -> bool:
        """Return whether one of its threads lives: they end with the request under way."""
        return self._feed.is_running()

    def stop(self) -> None:
        """End it, for good: waits for the request under way."""
        self.ask_to_stop()
        self._feed.stop()

    def ask_to_stop(self) -> None:
        """End it, for good, without waiting for it."""
        self._feed.ask_to_stop()
        self.ended.emit()

    def pause(self, on: bool) -> None:
        """Ask for no values, although it is visible."""
        self._paused = on
        self._tell_wanted()

    def _tell_wanted(self) -> None:
        self._feed.set_wanted(self.is_seen() and not self._paused)
