"""The window of `penstock view`: a live view by itself."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.first_place import first_size
from penstock.gui.live.feed import Feed
from penstock.gui.live.memory import Memory
from penstock.gui.live.view import LiveView


class Viewer(LiveView):
    """Window that starts `feed` when shown and ends it when closed.

    Args:
        feed: source of snapshots.
        backend: silx' plot backend, "mpl" or "gl".
        memory: see `LiveView`.
    """

    def __init__(
        self, feed: Feed, backend: str = "mpl", memory: Memory | None = None,
        parent: qt.QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(feed, backend=backend, memory=memory, parent=parent)
        self.setMinimumSize(880, 560)
        self.resize(first_size(self, qt.QSize(1240, 760)))

    def start(self) -> None:
        """Show the window and begin to follow."""
        super().start()
        self.show()
