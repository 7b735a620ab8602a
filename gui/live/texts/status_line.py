"""The line below a picture: what is under the cursor, and what was done last."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.background import later
from penstock.gui.labels import ElidedLabel, line_height
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
        self._over = later(lambda: self.say("", 0), self)

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
_FIGURES = "font-family: monospace; font-size: 11pt;"
_FLAG_WORDS = {Flag.GOOD: "", Flag.INVALID: "   no valid value", Flag.SATURATED: "   saturated"}


class StatusLine(qt.QStatusBar):
    """Says it, and the source's address where there is room for all of that.

    Args:
        hint: what is said while the cursor is beside the picture.
    """

    free = 60
    """Pixels that neither what is read nor the address may take."""

    def __init__(self, hint: str, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint, self._address = hint, ""
        self.readout = Readout(self)
        self.readout.setStyleSheet(_FIGURES)
        self.address = qt.QLabel(self)
        """Is hidden where the view is a tile among others."""
        self.address.setStyleSheet(f"color: {theme.current().muted}; padding: 2px 8px;")
        self.setSizeGripEnabled(False)
        self.addWidget(self.readout, 1)
        self.addPermanentWidget(self.address)

    def read(self, text: str) -> None:
        """Say what is under the cursor; "": nothing is."""
        self.readout.set_text(text or self._hint)

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while in place of what is under the cursor."""
        self.readout.say(f"▲ {sentence}" if wrong else sentence, SAID_MS)

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
        room = self.width() - self._taken() - self.free
        fits = self.address.fontMetrics().horizontalAdvance(self._address) <= room
        self.address.setText(self._address if fits else "")

    def _taken(self) -> int:
        """Return the pixels that all the rest takes."""
        return self.readout.room()


class PixelLine(StatusLine):
    """Pixel, its place as seen from the sample, and the source's address.

    Args:
        compact: say only what the pixel is, which needs the room of all the rest.
    """

    free = 46

    def __init__(self, *, compact: bool, parent: qt.QWidget | None = None) -> None:
        super().__init__("Point at the picture to read a pixel", parent)
        colours = theme.current()
        self.place = qt.QLabel(self)
        self.legend = qt.QLabel(self)
        """What the colours of marked pixels mean."""
        self._other: qt.QWidget | None = None
        if compact:
            self.readout.setStyleSheet("")
        self.setFixedHeight(line_height(self.readout) + 10)  # signs of other fonts may be higher
        self.place.setStyleSheet(f"{_FIGURES} padding: 2px 8px; color: {colours.accent};")
        self.legend.setText(
            f"<span style='color:{colours.invalid_pixel}'>■</span> no valid value &nbsp; "
            f"<span style='color:{colours.saturated_pixel}'>■</span> saturated"
        )
        self.legend.setStyleSheet(f"color: {colours.muted}; padding: 2px 8px;")
        self.address.setVisible(not compact)
        if compact:  # the tab Beam says the place, and the pixel what is wrong with it
            self.place.hide()
            self.legend.hide()
        else:
            self.readout.setMinimumWidth(self.readout.room())
            self.addWidget(self.place, 1)
            self.insertPermanentWidget(2, self.legend)  # behind those two, before the address
        self.show_pixel(None, "")

    def show_pixel(self, pixel: Pixel | None, place: str) -> None:
        """Show what is under the cursor.

        Args:
            pixel: the pixel; `None`: there is none.
            place: where it is as seen from the sample; "" if that is not known.
        """
        self.read("" if pixel is None else _words(pixel))
        self.place.setText(place)
        self.fit()

    def is_shared(self) -> bool:
        """Return whether another widget is in this line."""
        return self._other is not None

    def share_with(self, other: qt.QWidget | None) -> None:
        """Take another widget into this line, beside what is said of a pixel; `None`: give it back."""
        if self._other is not None:
            self.removeWidget(self._other)
        self._other = other
        if other is None:
            self.readout.setMinimumWidth(0)
            self.readout.setMaximumWidth(qt.QWIDGETSIZE_MAX)
        else:
            self.readout.setFixedWidth(self.readout.room())
            self.addPermanentWidget(other, 1)

    def _taken(self) -> int:
        return int(
            self.readout.minimumWidth() + self.place.sizeHint().width() + self.legend.sizeHint().width()
        )


def _words(pixel: Pixel) -> str:
    where = f"row {pixel.row:,}   column {pixel.column:,}"
    if pixel.value is None:
        return f"{where}   transferred in blocks: no value"
    value = f"{pixel.value:,}" if isinstance(pixel.value, int) else f"{pixel.value:,.6g}"
    return f"{where}   value {value}{_FLAG_WORDS[pixel.flag]}"
