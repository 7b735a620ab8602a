"""One bar with all statuses of frames; losses also differ in height and are hatched: not by colour alone."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.series.account import Account
from penstock.gui.model.series.fate_bar import Range, Segment, in_words, segments

HEIGHT = 22
"""Pixels; frames that are not lost are drawn `INSET` lower at top and bottom."""
INSET = 4


class FateBar(qt.QWidget):
    """Shows an `Account`."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._account: Account | None = None
        self._lost: Sequence[Range] = ()
        self._old = False
        self._segments: list[Segment] = []
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(80)
        self.setAccessibleName("Frames by status")

    def segments(self) -> list[Segment]:
        """Return what is on show."""
        return self._segments

    def show_account(self, account: Account, *, lost: Sequence[Range] = (), old: bool = False) -> None:
        """Show `account`.

        Args:
            account: frames by status.
            lost: which ones are lost, as far as that is known.
            old: whether the device no longer answers.
        """
        if (account, lost, old) == (self._account, self._lost, self._old):
            return
        self._account, self._lost, self._old = account, lost, old
        self.setAccessibleDescription(in_words(account))
        self._divide(anew=False)

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Divide the new width among the parts."""
        super().resizeEvent(event)
        self._divide(anew=True)

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw a groove, and a rectangle for each fate."""
        painter = qt.QPainter(self)
        colours = theme.current()
        inner = qt.QRect(0, INSET, self.width(), self.height() - 2 * INSET)
        painter.fillRect(inner, qt.QColor(colours.groove))
        if self._old:
            painter.setOpacity(0.45)
        for part in self._segments:
            inset = 0 if part.loss else INSET
            area = qt.QRect(part.left, inset, part.width, self.height() - 2 * inset)
            painter.fillRect(area, qt.QColor(colours.fates[part.fate]))
            if part.loss:
                painter.fillRect(area, qt.QBrush(qt.QColor(colours.panel), qt.Qt.BDiagPattern))

    def event(self, event: qt.QEvent) -> bool:
        """Show the tool tip of the part under the cursor."""
        if event.type() == qt.QEvent.ToolTip:
            tip = self.tip_at(event.x())
            if tip:
                qt.QToolTip.showText(event.globalPos(), tip, self)
            else:
                qt.QToolTip.hideText()
            return True
        return bool(super().event(event))

    def tip_at(self, x: int) -> str:
        """Return what the part at pixel `x` means; a pixel beside a sliver is near enough."""
        near = [part for part in self._segments if part.left - 3 <= x < part.left + part.width + 3]
        return min(near, key=lambda part: part.width).words() if near else ""

    def _divide(self, *, anew: bool) -> None:
        account, lost = self._account, self._lost
        parts = segments(account, self.width(), lost) if account is not None else []
        if anew or parts != self._segments or self._old:
            self._segments = parts
            self.update()
