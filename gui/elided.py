"""A label that shortens in the middle what does not fit; the whole text is in its tool tip."""

from __future__ import annotations

from silx.gui import qt


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

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Shorten again."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(self.fontMetrics().elidedText(self._whole, qt.Qt.ElideMiddle, self.width()))
