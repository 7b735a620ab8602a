"""Which images of a file are shown, where it has several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from silx.gui import qt

WIDTH = 220
"""Pixels at most."""


class ImagesChoice(qt.QComboBox):
    """Names of what a file has, by the path in it.

    Args:
        choose: is called with the name that the user has chosen.
    """

    def __init__(self, choose: Callable[[str], None], parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTip("Which images of the file to show, by their path in it")
        self.setMaximumWidth(WIDTH)
        self.setFocusPolicy(qt.Qt.TabFocus)
        self.currentTextChanged.connect(lambda name: choose(name) if name else None)

    def show_choices(self, names: Sequence[str], chosen: str) -> None:
        """Offer these."""
        blocked = self.blockSignals(True)
        if list(names) != [self.itemText(place) for place in range(self.count())]:
            self.clear()
            self.addItems(list(names))
        self.setCurrentText(chosen)
        self.blockSignals(blocked)
