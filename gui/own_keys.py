"""Lists and tables keep the keys that move in them, where the window has other uses for these."""

from __future__ import annotations

from silx.gui import qt

MOVING = frozenset(
    {
        qt.Qt.Key_Left, qt.Qt.Key_Right, qt.Qt.Key_Up, qt.Qt.Key_Down, qt.Qt.Key_Home, qt.Qt.Key_End,
        qt.Qt.Key_PageUp, qt.Qt.Key_PageDown,
    }
)  # fmt: skip


def keep_moving_keys(view: qt.QAbstractItemView) -> None:
    """Have the keys in `MOVING` act in this list or table while it has the focus."""
    view.installEventFilter(_Keeper(view))


class _Keeper(qt.QObject):
    def eventFilter(self, watched: qt.QObject, event: qt.QEvent) -> bool:
        """Claim them before a shortcut takes them."""
        if event.type() == qt.QEvent.ShortcutOverride and event.key() in MOVING:
            event.accept()
            return True
        return False
