"""The picture with what stands around it; or, while there is none, a sentence in its place."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_column, in_row


class Pages(qt.QStackedWidget):
    """Two pages, of which one is on show."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.picture = qt.QWidget(self)
        """The page of the picture."""
        self._instead = qt.QLabel(self)
        self._instead.setAlignment(qt.Qt.AlignCenter)
        self._instead.setWordWrap(True)
        colours = theme.current()
        self._instead.setStyleSheet(f"color: {colours.muted}; font-size: 12pt; background: {colours.window};")
        self.addWidget(self._instead)
        self.addWidget(self.picture)

    def fill(
        self, plot: qt.QWidget, *,
        over: Sequence[qt.QWidget], beside: Sequence[qt.QWidget], below: qt.QWidget,
    ) -> None:  # fmt: skip
        """Put the plot into its page, and around it what belongs to it.

        Args:
            plot: takes all the room that the others leave.
            over: lines, from the top, as wide as plot and bars.
            beside: bars, from the plot to the right.
            below: line, likewise.
        """
        middle = in_row((plot, 1), *beside, spacing=0)
        in_column(*over, (middle, 1), below, of=self.picture, spacing=0)

    def say(self, sentence: str) -> None:
        """Set what is said in place of a picture."""
        self._instead.setText(sentence)

    def show_picture(self, shown: bool) -> None:
        """Show the picture, or the sentence."""
        self.setCurrentIndex(1 if shown else 0)
