"""The slider over the frames of a series, with marks where frames are missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.sources.ranges import Range, fate_at

FARTHEST = 2**31 - 1
"""Qt counts the steps of a slider with 32 bits."""
_HEIGHT = 22
_GROOVE, _MARK, _HANDLE = 4, 7, 9
"""Pixels: height of the groove and of the marks below it, width of the handle."""


class FrameSlider(qt.QSlider):
    """Slider whose value is the index of a frame. A press moves the handle there.

    A gap has one pixel at least, however many frames there are; which fate it is, its tool tip says.
    """

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(qt.Qt.Horizontal, parent)
        self._ranges: Sequence[Range] = ()
        self._known: int | None = None
        self._marks: list[tuple[int, int, str]] | None = None
        self._placed = True
        self.setTracking(True)
        self.setSingleStep(1)
        self.setPageStep(10)
        self.setFixedHeight(_HEIGHT)
        self.setMinimumWidth(30)
        self.setMouseTracking(True)
        self.setAccessibleName("Frame on show")

    def set_frames(self, first: int, last: int, known: int | None) -> None:
        """Offer these frames; those after `known`, if that is given, have not arrived yet."""
        last = min(max(first, last), FARTHEST)
        if (first, last) != (self.minimum(), self.maximum()):
            with qt.QSignalBlocker(self):
                self.setRange(min(first, FARTHEST), last)
            self._marks = None
        if known != self._known:
            self._known = known
            self.update()

    def is_placed(self) -> bool:
        """Return whether the frame on show is one of those on offer."""
        return self._placed

    def set_placed(self, placed: bool) -> None:
        """Set whether the frame on show is on offer; else there is no handle, and each press asks
        for a frame."""
        if placed != self._placed:
            self._placed = placed
            self.update()

    def set_ranges(self, ranges: Sequence[Range]) -> None:
        """Mark these frames."""
        if ranges is not self._ranges and list(ranges) != list(self._ranges):
            self._ranges, self._marks = ranges, None
            self.update()

    def marks(self) -> list[tuple[int, int, str]]:
        """Return first and last pixel, and the fate, of each mark."""
        if self._marks is None:
            self._marks = self._find_marks()
        return self._marks

    def place(self, index: int) -> int:
        """Return the pixel, from the left of the widget, of a frame."""
        span = max(1, self.maximum() - self.minimum())
        return int(_HANDLE // 2 + round((index - self.minimum()) / span * self._room()))

    def index_at(self, x: int) -> int:
        """Return the frame at a pixel."""
        share = min(1.0, max(0.0, (x - _HANDLE // 2) / self._room()))
        return int(self.minimum() + round(share * (self.maximum() - self.minimum())))

    def _room(self) -> int:
        return max(1, int(self.width()) - _HANDLE)

    def _find_marks(self) -> list[tuple[int, int, str]]:
        if not self._ranges:
            return []
        edges = np.array([(first, last) for first, last, _ in self._ranges], np.float64)
        span = max(1, self.maximum() - self.minimum())
        places = np.rint((edges - self.minimum()) / span * self._room()).astype(int) + _HANDLE // 2
        found: list[tuple[int, int, str]] = []
        for (first, last), (_, _, fate) in zip(places.tolist(), self._ranges, strict=True):
            if found and found[-1][2] == fate and first <= found[-1][1] + 1:
                found[-1] = (found[-1][0], max(last, found[-1][1]), fate)
            else:
                found.append((first, last, fate))
        return found

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw groove, marks and handle."""
        colours = theme.current()
        painter = qt.QPainter(self)
        painter.setRenderHint(qt.QPainter.Antialiasing, False)
        painter.setPen(qt.Qt.NoPen)
        top = self.height() // 2 - _GROOVE
        left, right = self.place(self.minimum()), self.place(self.maximum())
        here = self.place(self.value())
        self._fill(painter, colours.groove, left, right, top, _GROOVE)
        if self.isEnabled():
            newest = here if self._placed else right
            until = newest if self._known is None else min(self.place(self._known), right)
            self._fill(painter, colours.handle, left, until, top, _GROOVE)
            if self._placed:
                self._fill(painter, colours.accent, left, min(here, until), top, _GROOVE)
        for first, last, fate in self.marks():
            ink = colours.fates.get(fate) or colours.ends[fate]
            self._fill(painter, ink, first, max(last, first + 1), top + _GROOVE + 2, _MARK)
        if self.isEnabled() and self._placed:
            ink = colours.accent if self.hasFocus() or self.isSliderDown() else colours.text
            painter.setBrush(qt.QColor(ink))
            painter.drawRect(here - _HANDLE // 2, top - 5, _HANDLE, _GROOVE + 10)
        painter.end()

    @staticmethod
    def _fill(painter: qt.QPainter, colour: str, first: int, last: int, top: int, height: int) -> None:
        if last >= first:
            painter.fillRect(first, top, last - first + 1, height, qt.QColor(colour))

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Find the marks' pixels again."""
        super().resizeEvent(event)
        self._marks = None

    def mousePressEvent(self, event: qt.QMouseEvent) -> None:
        """Go there at once."""
        if event.button() == qt.Qt.LeftButton:
            self.setFocus(qt.Qt.MouseFocusReason)
            self.setSliderDown(True)
            before = self.value()
            self.setValue(self.index_at(event.x()))
            if not self._placed and self.value() == before:
                self.valueChanged.emit(before)

    def mouseMoveEvent(self, event: qt.QMouseEvent) -> None:
        """Follow the mouse, and say what is under it."""
        if self.isSliderDown():
            self.setValue(self.index_at(event.x()))
        index = self.index_at(event.x())
        fate = self.fate_near(event.x())
        self.setToolTip(f"frame {index:,}" + (f": {fate}" if fate else ""))

    def fate_near(self, x: int) -> str:
        """Return what became of the frames at a pixel; "" if nothing is wrong with them."""
        marks = [fate for first, last, fate in self.marks() if first <= x <= last]
        fate = fate_at(self._ranges, self.index_at(x)) or (marks[0] if marks else "")
        return fate.replace("_", " ")

    def mouseReleaseEvent(self, event: qt.QMouseEvent) -> None:
        """Let go."""
        self.setSliderDown(False)
        self.update()
