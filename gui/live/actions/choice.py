"""A list to choose from, in the tool bar: what several tools are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from silx.gui import qt

T = TypeVar("T")


def choice(
    entries: Mapping[str, T],
    tip: str,
    get: Callable[[], T],
    set_: Callable[[T], None],
    changed: qt.Signal,
    parent: qt.QWidget | None = None,
) -> qt.QComboBox:
    """Return a box that sets one of several values, and follows who else sets it.

    Args:
        entries: values, by what the user reads.
        tip: what it is for.
        get: the value now; one that is no entry is shown as none.
        set_: what a choice calls.
        changed: signal after which the value may be another.
        parent: widget to which it belongs.
    """
    box = qt.QComboBox(parent)
    box.addItems(list(entries))
    box.setToolTip(tip)
    box.setFocusPolicy(qt.Qt.TabFocus)  # the keys of the view stay the view's after a choice

    def follow() -> None:
        now = get()
        texts = [text for text, value in entries.items() if value == now]
        blocked = box.blockSignals(True)
        box.setCurrentIndex(box.findText(texts[0]) if texts else -1)
        box.blockSignals(blocked)

    box.currentTextChanged.connect(lambda text: set_(entries[text]) if text else None)
    changed.connect(follow)
    follow()
    return box
