"""Labels that shorten what does not fit; the whole text is in their tool tip."""

from __future__ import annotations

from silx.gui import qt

_SPARE = 2
"""Pixels: fractions of them that letters take more than they say."""


class ElidedLabel(qt.QLabel):
    """For paths: the beginning says which experiment, the end which scan."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setTextFormat(qt.Qt.PlainText)
        self.setSizePolicy(qt.QSizePolicy.Ignored, qt.QSizePolicy.Preferred)
        self.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)

    def minimumSizeHint(self) -> qt.QSize:
        """Of one line, also while there is no text: nothing below moves when there is."""
        self.ensurePolished()
        metrics = self.fontMetrics()  # some fonts have less between their lines than Qt leaves there
        height = max(metrics.height(), metrics.lineSpacing())
        return super().minimumSizeHint().expandedTo(qt.QSize(0, height))

    def sizeHint(self) -> qt.QSize:
        """Likewise."""
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def whole(self) -> str:
        """Return the text, not shortened."""
        return self._whole

    def set_whole(self, text: str) -> None:
        """Show `text`."""
        self._whole = text
        self.setToolTip(text)
        self._fit()

    def room_for(self, text: str) -> int:
        """Return the pixels that it needs to show `text`."""
        self.ensurePolished()
        frame = int(self.width() - self.contentsRect().width())
        return int(self.fontMetrics().horizontalAdvance(text)) + frame + _SPARE

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Shorten again."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(self.fontMetrics().elidedText(self._whole, qt.Qt.ElideMiddle, self.width()))


class BriefLabel(ElidedLabel):
    """For sentences: where there is little room, it says less."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._shorter: tuple[str, ...] = ()
        self.setIndent(0)

    def set_texts(self, whole: str, *shorter: str) -> None:
        """Show the first of them that fits."""
        self._shorter = shorter
        self.set_whole(whole)

    def least(self) -> int:
        """Return the pixels that the shortest of them needs."""
        return min(map(self.room_for, self._texts()))

    def _texts(self) -> tuple[str, ...]:
        return (self._whole, *self._shorter)

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        texts = self._texts()
        fits = next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])
        self.setText(metrics.elidedText(fits, qt.Qt.ElideRight, room))
