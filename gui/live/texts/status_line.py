"""The line below the picture: what is under the cursor, and what was done last."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.live.plot.image_plot import Pixel
from penstock.receiver.validity.pixels import Flag

LONGEST = "row 10,000   column 10,000   value 4,294,967,295   saturated"
"""The longest of what is usually said of a pixel."""
_PADDING = 16


class Readout(ElidedLabel):
    """A line that others may share with it: its width does not depend on what it says."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = self._said = ""
        self.setContentsMargins(_PADDING // 2, 0, _PADDING // 2, 0)
        self._over = qt.QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(lambda: self.say("", 0))

    def room(self) -> int:
        """Return the pixels that it needs."""
        return int(self.fontMetrics().horizontalAdvance(LONGEST)) + _PADDING

    def set_text(self, text: str) -> None:
        """Say this unless something was done just now."""
        self._text = text
        self._show()

    def pixel_text(self) -> str:
        """Return what was last set, also where something else is said."""
        return self._text

    def say(self, sentence: str, milliseconds: int) -> None:
        """Say for a while what was done."""
        self._said = sentence
        if sentence:
            self._over.start(milliseconds)
        self._show()

    def said(self) -> str:
        """Return what was done, while it is said; ""."""
        return self._said

    def _show(self) -> None:
        text = self._said or self._text
        if text != self.whole():
            self.set_whole(text)


SAID_MS = 8000
"""Milliseconds for which it says what was done."""
_BETWEEN = 46
"""Pixels between the parts, and around the address."""
_FLAG_WORDS = {Flag.GOOD: "", Flag.INVALID: "   no valid value", Flag.SATURATED: "   saturated"}


class StatusLine(qt.QStatusBar):
    """Pixel, its place as seen from the sample, and the source's address.

    Args:
        compact: say only what the pixel is, which needs the room of all the rest.
    """

    def __init__(self, *, compact: bool, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.pixel = Readout(self)
        self.place = qt.QLabel(self)
        self.legend = qt.QLabel(self)
        """What the colours of marked pixels mean."""
        self.address = qt.QLabel(self)
        self._other: qt.QWidget | None = None
        self._address = ""
        self._lay_out(compact)
        self.show_pixel(None, "")

    def show_pixel(self, pixel: Pixel | None, place: str) -> None:
        """Show what is under the cursor.

        Args:
            pixel: the pixel; `None`: there is none.
            place: where it is as seen from the sample; "" if that is not known.
        """
        self.pixel.set_text(_words(pixel))
        self.place.setText(place)
        self.fit()

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while in place of the pixel."""
        self.pixel.say(f"▲ {sentence}" if wrong else sentence, SAID_MS)

    def is_shared(self) -> bool:
        """Return whether another widget is in this line."""
        return self._other is not None

    def share_with(self, other: qt.QWidget | None) -> None:
        """Take another widget into this line, beside what is said of a pixel; `None`: give it back."""
        if self._other is not None:
            self.removeWidget(self._other)
        self._other = other
        if other is None:
            self.pixel.setMinimumWidth(0)
            self.pixel.setMaximumWidth(qt.QWIDGETSIZE_MAX)
        else:
            self.pixel.setFixedWidth(self.pixel.room())
            self.addPermanentWidget(other, 1)

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Leave out what would be cut."""
        super().resizeEvent(event)
        self.fit()

    def show_address(self, address: str) -> None:
        """Show the source's address where there is room for all of it."""
        self._address = address
        self.fit()

    def fit(self) -> None:
        """Leave out the address where it would be cut."""
        others = self.pixel.minimumWidth() + self.place.sizeHint().width() + self.legend.sizeHint().width()
        room = self.width() - others - _BETWEEN
        fits = self.address.fontMetrics().horizontalAdvance(self._address) <= room
        self.address.setText(self._address if fits else "")

    def _lay_out(self, compact: bool) -> None:
        colours = theme.current()
        figures = "font-family: monospace; font-size: 11pt; padding: 2px 8px;"
        if not compact:
            self.pixel.setStyleSheet("font-family: monospace; font-size: 11pt;")
        self.pixel.ensurePolished()
        metrics = self.pixel.fontMetrics()  # signs of other fonts may be higher, and nothing moves
        self.setFixedHeight(max(metrics.height(), metrics.lineSpacing()) + 10)
        self.place.setStyleSheet(f"{figures} color: {colours.accent};")
        self.legend.setText(
            f"<span style='color:{colours.invalid_pixel}'>■</span> no valid value &nbsp; "
            f"<span style='color:{colours.saturated_pixel}'>■</span> saturated"
        )
        for label in (self.legend, self.address):
            label.setStyleSheet(f"color: {colours.muted}; padding: 2px 8px;")
        self.setSizeGripEnabled(False)
        self.addWidget(self.pixel, 1)
        if compact:  # the tab Beam says the place, and the pixel what is wrong with it
            self.place.hide()
            self.legend.hide()
        else:
            self.pixel.setMinimumWidth(self.pixel.room())
            self.addWidget(self.place, 1)
            self.addPermanentWidget(self.legend)
        self.addPermanentWidget(self.address)
        self.address.setVisible(not compact)


def _words(pixel: Pixel | None) -> str:
    if pixel is None:
        return "Point at the picture to read a pixel"
    where = f"row {pixel.row:,}   column {pixel.column:,}"
    if pixel.value is None:
        return f"{where}   transferred in blocks: no value"
    value = f"{pixel.value:,}" if isinstance(pixel.value, int) else f"{pixel.value:,.6g}"
    return f"{where}   value {value}{_FLAG_WORDS[pixel.flag]}"
