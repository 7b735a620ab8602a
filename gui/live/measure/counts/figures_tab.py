"""The counts of the frame on show, and of the rectangle, in figures; and a warning of saturated pixels."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import BriefLabel
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.live.measure.counts.counts import Figures, Saturated
from penstock.gui.live.measure.parts import Sentence, tool_button
from penstock.gui.live.measure.shapes import RectangleTool
from penstock.gui.live.regions.model import number
from penstock.gui.number_fields import number_box
from penstock.receiver.models import Rectangle
from penstock.stins.texts import plural

NOTHING = "–"
ROWS = ("Sum", "Mean", "Maximum", "At", "Centroid", "Saturated", "Pixels", "Left out")
COLUMNS = ("Frame", "Rectangle")
TIPS = {
    "At": "Where the maximum is",
    "Centroid": "Weighted by the counts, in pixels from the outer corner of the first one: column, row",
    "Left out": "Masked, in a gap, or without a number",
}
MOST = 1_000_000
ALLOWED = 10
"""Saturated pixels of which nobody is warned, at first."""


class FiguresTab(qt.QWidget):
    """Shows figures; what is drawn and kept is asked of its signals.

    Args:
        rectangle: the rectangle's tool.
    """

    keep = qt.Signal(object)
    """`Rectangle` that is to be a region of the receiver."""
    centre = qt.Signal(object)
    """(x, y): the beam cross is to be there."""
    allowed_changed = qt.Signal()
    """Another number of saturated pixels is allowed."""

    def __init__(self, rectangle: RectangleTool, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._rectangle = rectangle
        self._values: dict[tuple[str, str], qt.QLabel] = {}
        self._shown: dict[str, Figures | None] = dict.fromkeys(COLUMNS)
        self._place = qt.QLabel(self)
        self._says = Sentence(self)
        self.draw = tool_button("Draw", "fa5s.vector-square", "Draw a rectangle: press, then drag (B)", self)
        self.draw.setCheckable(True)
        self.remove = tool_button("Remove", "fa5s.trash-alt", "Remove the rectangle", self)
        self.region = tool_button(
            "As region", "fa5s.plus", "Have the receiver measure this rectangle in every frame from the next "
            "series on, and store the values in the file", self,
        )  # fmt: skip
        self.to_centroid = tool_button(
            "Cross to centroid", "fa5s.crosshairs", "Put the beam cross on the rectangle's centroid", self
        )
        self.allowed = number_box(
            self, "Saturated pixels without a warning", 0, MOST,
            "A banner warns when more pixels than these are saturated", value=ALLOWED, grouped=True,
        )  # fmt: skip
        self._lay_out()
        self.draw.clicked.connect(rectangle.draw)
        rectangle.drawing.connect(self.draw.setChecked)
        rectangle.changed.connect(self._follow)
        self.remove.clicked.connect(rectangle.remove)
        self.region.clicked.connect(self._keep)
        self.to_centroid.clicked.connect(self._put_cross)
        self.allowed.valueChanged.connect(lambda _: self.allowed_changed.emit())
        self._follow()

    def value(self, column: str, row: str) -> str:
        """Return one figure as it is written."""
        return str(self._values[column, row].text())

    def figures(self, column: str) -> Figures | None:
        """Return the figures on show."""
        return self._shown[column]

    def says(self) -> str:
        """Return the sentence below the figures."""
        return str(self._says.text())

    def say(self, sentence: str, *, trouble: bool = False) -> None:
        """Put a sentence below the figures."""
        self._says.say(sentence, trouble=trouble)

    def show_figures(self, column: str, figures: Figures | None) -> None:
        """Put figures on show; `None`: nothing is known."""
        self._shown[column] = figures
        for row in ROWS:
            self._values[column, row].setText(NOTHING if figures is None else _text(row, figures))
        self._follow()

    def _follow(self) -> None:
        place = self._rectangle.place()
        there = place is not None
        for button in (self.remove, self.region):
            button.setEnabled(there)
        shown = self._shown["Rectangle"]
        self.to_centroid.setEnabled(there and shown is not None and shown.centroid is not None)
        self._place.setText("no rectangle" if place is None else place_text(place))

    def _keep(self) -> None:
        place = self._rectangle.place()
        if place is not None:
            self.keep.emit(place)

    def _put_cross(self) -> None:
        shown = self._shown["Rectangle"]
        if shown is not None and shown.centroid is not None:
            self.centre.emit(shown.centroid)

    def _lay_out(self) -> None:
        colours = theme.current()
        grid = qt.QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(2)
        for place, column in enumerate(COLUMNS):
            title = qt.QLabel(column, self)
            title.setStyleSheet(f"color: {colours.accent}; font-weight: 600;")
            title.setAlignment(qt.Qt.AlignRight)
            grid.addWidget(title, 0, place + 1)
        for line, row in enumerate(ROWS):
            key = qt.QLabel(row, self)
            key.setStyleSheet(f"color: {colours.muted};")
            key.setToolTip(TIPS.get(row, ""))
            grid.addWidget(key, line + 1, 0)
            for place, column in enumerate(COLUMNS):
                value = self._values[column, row] = qt.QLabel(NOTHING, self)
                value.setAlignment(qt.Qt.AlignRight | qt.Qt.AlignVCenter)
                value.setMinimumWidth(150)
                value.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
                grid.addWidget(value, line + 1, place + 1)
        self._says.setMinimumWidth(220)
        side = in_column(
            in_row(self.draw, self.remove, STRETCH),
            in_row(self.region, self.to_centroid, STRETCH),
            self._place,
            in_row(qt.QLabel("Warn above", self), self.allowed, qt.QLabel("saturated pixels", self), STRETCH),
            self._says,
            STRETCH,
            spacing=6,
        )
        in_row(in_column(grid, STRETCH), (side, 1), of=self, margins=(12, 6, 12, 6), spacing=32)


def place_text(place: Rectangle) -> str:
    """Return a rectangle in words, as regions of interest are typed."""
    return f"x {place.x}   y {place.y}   width {place.width}   height {place.height}"


def _text(row: str, figures: Figures) -> str:
    if row == "Pixels":
        return f"{figures.pixels:,}"
    if row == "Left out":
        return f"{figures.left_out:,}"
    if row == "Saturated":
        return f"▲ {figures.saturated:,}" if figures.saturated else "0"
    if row == "At":
        place = figures.place
        return NOTHING if place is None else f"row {place[0]:,}, column {place[1]:,}"
    if row == "Centroid":
        centre = figures.centroid
        return NOTHING if centre is None else f"x {centre[0]:,.2f}, y {centre[1]:,.2f}"
    value = {"Sum": figures.sum, "Mean": figures.mean, "Maximum": figures.maximum}[row]
    return number(value if figures.pixels else None)


SOME = "▲ Pixels are saturated. How many is not counted in blocks: set Transfer to all pixels"
UNCOUNTED = "Saturated pixels are not counted in blocks: set Transfer to all pixels"


class SaturationBanner(BriefLabel):
    """Seen only while more pixels are saturated than are allowed, or while they are not counted.

    It says less where there is little room; all of it is in the tool tip.
    """

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._warns: bool | None = None
        self._look(warns=True)
        self.hide()

    def show_saturated(self, saturated: Saturated, allowed: int) -> None:
        """Say how many are saturated, or that nobody knows; hide if there is nothing to say."""
        count = saturated.count
        if count is None:
            self._look(warns=saturated.some)
            if saturated.some:
                self.set_texts(SOME, "▲ Pixels are saturated")
            else:
                self.set_texts(UNCOUNTED, "Saturation not counted")
        elif count > allowed:
            self._look(warns=True)
            are = "is" if count == 1 else "are"
            limit = f", more than {allowed:,}" if allowed else ""
            pixels, remedy = plural(count, "pixel"), "attenuate the beam or expose shorter"
            self.set_texts(
                f"▲ {pixels} {are} saturated{limit}: {remedy}",
                f"▲ {pixels} saturated: {remedy}", f"▲ {pixels} saturated", f"▲ {count:,} saturated",
            )  # fmt: skip
        self.setVisible(count is None or count > allowed)

    def _look(self, *, warns: bool) -> None:
        if warns == self._warns:
            return  # a style sheet costs more than all the rest
        self._warns, colours = warns, theme.current()
        edge, weight = (colours.warning, 600) if warns else (colours.accent, 400)
        self.setStyleSheet(
            f"background: {colours.edit}; color: {colours.text}; border-left: 4px solid {edge};"
            f" padding: 0 6px; font-weight: {weight};"
        )
