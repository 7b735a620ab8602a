"""The line above the picture: which frame it is, of when and of which series. It is always in sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import BriefLabel, ElidedLabel
from penstock.gui.live.texts.sentences import Caption

APART = 14
"""Pixels from one part to the next."""
_EDGE = 10
_FIRM, _LEGIBLE = 24, 10
"""Characters of a name: before anything else goes for its sake, and so that it still says something."""


class Worth(IntEnum):
    """Where there is no room for all, the part that is worth least is left out first."""

    NOTE = 0
    TIME = 1
    SERIES = 2
    ANSWER = 3
    """To what the user has asked for."""
    KEPT = 4
    """It is never left out."""


@dataclass(frozen=True)
class Need:
    """The pixels that a part of the line needs."""

    whole: int
    firm: int
    """Below that something that is worth less goes instead."""
    least: int
    """Below that it says nothing."""
    worth: Worth


def rooms(needs: Sequence[Need], room: int) -> list[int]:
    """Return the pixels that each part gets of `room`, in the order of `needs`; 0: it is left out.

    What is worth less is left out as a whole, before anything that is worth more is shortened. What then is
    left goes to those that are not whole, from the first on.
    """
    given = [need.firm for need in needs]

    def lacks() -> int:
        parts = sum(width > 0 for width in given)
        return sum(given) + APART * max(0, parts - 1) - room

    for place, need in sorted(enumerate(needs), key=lambda each: each[1].worth):
        if lacks() > 0:
            given[place] = max(need.least, given[place] - lacks())
        if lacks() > 0 and need.worth < Worth.KEPT:
            given[place] = 0
    for place in range(1, len(needs)):
        given[place] = max(0, given[place] - max(0, lacks()))
    for place, need in enumerate(needs):
        if given[place]:
            given[place] = min(need.whole, given[place] + max(0, -lacks()))
    return given


class CaptionLine(qt.QWidget):
    """Frame number, time, series, and a mark while the frame is not of the running series.

    Each part has the room that it needs; what is left out is in the tool tip.

    Args:
        compact: take as little height as the text needs.
    """

    def __init__(self, *, compact: bool = False, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme.current()
        self._number, self._time = qt.QLabel(self), qt.QLabel(self)
        self._series, self._mark = ElidedLabel(self), ElidedLabel(self)
        for label in (self._number, self._time):  # as in the others, which stand on the same line then
            label.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        self._mark.hide()
        self._old: bool | None = None
        self._margin = 0 if compact else 2
        self._parts: list[tuple[qt.QLabel, Callable[[], Worth]]] = [
            (self._number, lambda: Worth.KEPT), (self._time, lambda: Worth.TIME),
            (self._series, lambda: Worth.SERIES), (self._mark, lambda: Worth.KEPT),
        ]  # fmt: skip
        # A picture may be narrower than what is said of it.
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Fixed)
        metrics = self.fontMetrics()  # whatever is said: the picture below does not move
        self.setFixedHeight(max(metrics.height(), metrics.lineSpacing()) + 1 + 2 * self._margin)
        self.setAccessibleName("Which frame is on show")

    def text(self) -> str:
        """Return all of it, not shortened."""
        parts = [self._number.text(), self._time.text(), self._series.whole()]
        return " · ".join([*filter(None, parts), *([self._mark.whole()] if self._old else [])])

    def in_sight(self) -> list[str]:
        """Return what can be read of it, part by part."""
        return [str(label.text()) for label, _ in self._shown() if label.width() > 0]

    def add(self, label: BriefLabel, worth: Callable[[], Worth]) -> None:
        """Show something more, between the series and the mark, while it is not hidden."""
        self._parts.insert(-1, (label, worth))
        label.setParent(self)

    def show_trouble(self, sentence: str) -> None:
        """Say that a frame is not on show, and why."""
        self.show_caption(Caption("", "", sentence, "▲ not drawn"))

    def show_caption(self, caption: Caption | None) -> None:
        """Show what there is to say of the frame on show; nothing where there is no frame."""
        if caption is None:
            caption = Caption("", "", "", "")
        self._number.setText(caption.number)
        self._time.setText(caption.time)
        self._series.set_whole(caption.series)
        self._mark.set_whole(caption.mark)
        self._dress(bool(caption.mark))
        self._place()

    def event(self, event: qt.QEvent) -> bool:
        """Place the parts again when one of them says something else."""
        if event.type() == qt.QEvent.LayoutRequest:
            self._place()
        return bool(super().event(event))

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Place the parts again."""
        super().resizeEvent(event)
        self._place()

    def _dress(self, old: bool) -> None:
        if old == self._old:  # a style sheet costs more than all the rest
            return
        self._old = old
        self._mark.setVisible(old)
        colours = self._theme
        text = colours.old if old else colours.text
        self._number.setStyleSheet(f"color: {text}; font-weight: 600;")
        for label in (self._time, self._series):
            label.setStyleSheet(f"color: {text};")
        self._mark.setStyleSheet(f"color: {colours.warning}; font-weight: 600;")

    def _shown(self) -> list[tuple[qt.QLabel, Callable[[], Worth]]]:
        return [part for part in self._parts if _whole(part[0]) and not part[0].isHidden()]

    def _place(self) -> None:
        shown = self._shown()
        given = rooms([_need(label, worth()) for label, worth in shown], self.width() - 2 * _EDGE)
        self.setToolTip(" · ".join(_whole(label) for label, _ in shown))
        height, x = self.height() - 2 * self._margin, _EDGE
        for (label, _), width in zip(shown, given, strict=True):
            if label is self._mark:
                x = max(x, self.width() - _EDGE - width)
            label.setGeometry(x, self._margin, width, height)
            x += width + APART if width else 0


def _whole(label: qt.QLabel) -> str:
    return label.whole() if isinstance(label, ElidedLabel) else str(label.text())


def _need(label: qt.QLabel, worth: Worth) -> Need:
    if isinstance(label, BriefLabel):
        firm = least = label.least()
        if worth is Worth.ANSWER:  # it says something even if it is shortened
            least = min(firm, _letters(label, _LEGIBLE))
        return Need(label.room_for(label.whole()), firm, least, worth)
    if not isinstance(label, ElidedLabel):
        label.ensurePolished()
        whole = int(label.sizeHint().width())
        return Need(whole, whole, whole, worth)
    whole = label.room_for(label.whole())
    if worth is Worth.KEPT:
        return Need(whole, whole, whole, worth)
    return Need(whole, min(whole, _letters(label, _FIRM)), min(whole, _letters(label, _LEGIBLE)), worth)


def _letters(label: qt.QLabel, count: int) -> int:
    return int(label.fontMetrics().averageCharWidth()) * count
