"""Beam centre, distance and energy in figures, typed with a unit or without, and the choice of rings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.live.measure.beam import calibrants
from penstock.gui.live.measure.beam.geometry import NOT_ASKED, PLANCK_LIGHT, Beam, NotKnown, Turned
from penstock.gui.live.measure.beam.state import BeamState
from penstock.gui.live.measure.parts import Sentence, tool_button
from penstock.gui.number_fields import choice_box, select_one, select_whole

LENGTHS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
"""In m; the first unit is that of a number alone."""
ENERGIES = {"eV": 1.0, "keV": 1e3}
"""In eV."""
PIXELS = {"": 1.0, "px": 1.0}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\W\d]*)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?(?![\d,])")
MOST = 1e12
"""Greater ones are taken for slips."""


def number(name: str, text: str, units: Mapping[str, float], *, positive: bool = False) -> float:
    """Return a number in the base unit.

    Args:
        name: what it is, for the sentence.
        text: what was typed.
        units: those that may stand behind it, and what they are in the base unit; the first is meant if
            there is none.
        positive: whether it is above 0.

    Raises:
        ValueError: it is no such number; the sentence says what would be one.
    """
    text = text.strip()
    plain = text.replace(",", "") if _THOUSANDS.match(text) else text
    found = _NUMBER.fullmatch(plain)
    first, *others = units
    if found is None or (found[2] or first) not in units:
        comma = "; the decimal mark is a point" if "," in plain else ""
        unit = f"in {first}{''.join(f', or with {each}' for each in others)}" if first else "in pixels"
        raise ValueError(f'{name}: "{text:.30}" is no number {unit}{comma}')
    value = float(found[1]) * units[found[2] or first]
    if not math.isfinite(value) or abs(value) >= MOST or (positive and value <= 0):
        raise ValueError(f"{name}: {text:.30} is {'not above 0' if value <= 0 else 'too large'}")
    return float(f"{value:.15g}")


NO_RINGS, GIVEN = "none", "given d"
UNKNOWN = "not known"


class BeamTab(qt.QWidget):
    """Shows what is used, and where it is from; nothing is shown that is not known.

    Args:
        state: the beam.
    """

    cross_shown = qt.Signal(bool)
    """True if the cross is drawn."""
    rings_changed = qt.Signal()
    """`rings` are others."""
    use = qt.Signal(float, float)
    """x and y: the detector is to have this beam centre, of the image as it sends it."""

    def __init__(self, state: BeamState, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._rings: tuple[float, ...] = ()
        self._seen = True
        """True if one of the rings is in the picture, as far as is known."""
        self._wrong = ""
        """What of the last that was typed is no number; "" if nothing."""
        self._why_not: str | None = None
        self._turned = Turned()
        self._remarks: tuple[str, ...] = ()
        names = ("Beam centre x", "Beam centre y", "Distance", "Energy")
        self.x, self.y, self.distance, self.energy = map(self._field, names)
        self._wavelength, self._pixel, self._stands, self._origin = (qt.QLabel(self) for _ in range(4))
        self._says, self._place = Sentence(self), qt.QLabel(self)
        self.show_cross = qt.QCheckBox("Cross", self)
        self.show_cross.setToolTip("Draw the beam centre as a cross; drag it by its middle")
        tip = "Rings of a calibrant's lattice planes, or of distances that are typed"
        self.calibrant = choice_box([NO_RINGS, *calibrants.NAMES, GIVEN], tip, self)
        self.given = qt.QLineEdit(self)
        select_one(self.given)
        self.given.setPlaceholderText("d in Å: 3.9, 3.67, 3.44")
        self.given.setAccessibleName("Distances of rings")
        self.back = tool_button(
            "Back to the series'", "fa5s.undo",
            "Forget the cross that was dragged and the numbers typed here", self,
        )  # fmt: skip
        self.copy = tool_button("Copy", "fa5s.copy", "Copy the numbers", self)
        self.to_device = tool_button("Use as beam centre", "fa5s.check", "", self)
        self.to_device.hide()
        self._lay_out()
        self.x.editingFinished.connect(self._read_centre)
        self.y.editingFinished.connect(self._read_centre)
        self.distance.editingFinished.connect(self._read_distance)
        self.energy.editingFinished.connect(self._read_energy)
        self.show_cross.toggled.connect(self.cross_shown)
        self.calibrant.currentTextChanged.connect(lambda _: self._choose_rings())
        self.given.editingFinished.connect(self._choose_rings)
        self.back.clicked.connect(state.forget)
        self.copy.clicked.connect(self._copy)
        self.to_device.clicked.connect(self._use)
        state.changed.connect(self._follow)
        self._choose_rings()
        self._follow()

    def rings(self) -> tuple[float, ...]:
        """Return the distances whose rings are chosen, in angstrom."""
        return self._rings

    def says(self) -> str:
        """Return the sentence below the figures."""
        return str(self._says.text())

    def origin(self) -> str:
        """Return where the figures are from."""
        return str(self._origin.text())

    def show_place(self, text: str) -> None:
        """Show what is known of the place under the cursor."""
        self._place.setText(text)

    def show_seen(self, seen: bool) -> None:
        """Note whether one of the rings is in the picture."""
        if seen != self._seen:
            self._seen = seen
            self._explain()

    def offer_device(self, why_not: str | None) -> None:
        """Offer to set the detector's beam centre.

        Args:
            why_not: why that is not possible now, a sentence; "" if it is; `None`: there is no detector here.
        """
        if why_not == self._why_not:
            return
        self._why_not = why_not
        self.to_device.setVisible(why_not is not None)
        self._follow()

    def show_turned(self, turned: Turned) -> None:
        """Take note of what was done to the image on show."""
        if turned != self._turned:
            self._turned = turned
            self._follow()

    def show_remarks(self, remarks: Sequence[str]) -> None:
        """Take note of why numbers that the series has are not known."""
        if tuple(remarks) != self._remarks:
            self._remarks = tuple(remarks)
            self._explain()

    def text(self) -> str:
        """Return the numbers as they are copied, for the detector."""
        beam = self._state.beam()
        lines = []
        centre, _ = self._as_sent()
        if centre is not None:
            lines += [f"BeamCenterX {centre[0]:.2f}", f"BeamCenterY {centre[1]:.2f}"]
        if beam.distance is not None:
            lines.append(f"Distance {beam.distance:.6g}")
        if beam.energy is not None:
            lines.append(f"Energy {beam.energy:.6g}")
        return "\n".join(lines)

    # -- what the user does ----------------------------------------------------------------------

    def _read_centre(self) -> None:
        x, y = self.x.text(), self.y.text()
        shown = self._state.beam().centre
        if (x, y) == _centre_text(shown):
            return
        if not (x.strip() and y.strip()):
            if shown is not None:
                self._show()
            return  # of two numbers that are not known, one is typed first
        try:
            centre = number("Beam centre x", x, PIXELS), number("Beam centre y", y, PIXELS)
        except ValueError as error:
            self._refuse(str(error))
            return
        self._wrong = ""
        self._state.set_centre(centre)
        self._show()

    def _read_distance(self) -> None:
        shown = _millimetres(self._state.beam().distance)
        self._read("Distance", self.distance.text(), shown, LENGTHS, self._state.set_distance)

    def _read_energy(self) -> None:
        shown = _electronvolts(self._state.beam().energy)
        self._read("Energy", self.energy.text(), shown, ENERGIES, self._state.set_energy)

    def _read(
        self, name: str, text: str, shown: str, units: Mapping[str, float], take: Callable[[float], None]
    ) -> None:
        """Take what was typed, unless it is what is shown."""
        if text.strip() and text != shown:
            try:
                value = number(name, text, units, positive=True)
            except ValueError as error:
                self._refuse(str(error))
                return
            self._wrong = ""
            take(value)
        self._show()

    def _refuse(self, sentence: str) -> None:
        """Say what is wrong with what was typed, and show what is used."""
        self._wrong = sentence
        self._show()

    def _choose_rings(self) -> None:
        chosen = self.calibrant.currentText()
        self.given.setVisible(chosen == GIVEN)
        try:
            if chosen == GIVEN:
                self._rings = calibrants.typed(self.given.text())
            else:
                self._rings = () if chosen == NO_RINGS else calibrants.spacings(chosen)
        except ValueError as error:
            self._refuse(str(error))
            return
        self._wrong = ""
        self._follow()
        self.rings_changed.emit()

    def _copy(self) -> None:
        qt.QApplication.clipboard().setText(self.text())

    def _use(self) -> None:
        centre, _ = self._as_sent()
        if centre is not None:
            self.use.emit(*centre)

    def _as_sent(self) -> tuple[tuple[float, float] | None, str]:
        """Return the centre in the image as the detector sends it, or why that is not known."""
        centre = self._state.beam().centre
        try:
            return None if centre is None else self._turned.as_sent(centre), ""
        except NotKnown as error:
            return None, str(error)

    # -- showing ---------------------------------------------------------------------------------

    def _show(self) -> None:
        """Show what is used in place of what was typed."""
        for field in (self.x, self.y, self.distance, self.energy):
            field.setModified(False)
        self._follow()

    def _follow(self) -> None:
        beam = self._state.beam()
        for field, text in (
            (self.x, _centre_text(beam.centre)[0]),
            (self.y, _centre_text(beam.centre)[1]),
            (self.distance, _millimetres(beam.distance)),
            (self.energy, _electronvolts(beam.energy)),
        ):
            if not (field.hasFocus() and field.isModified()):
                field.setText(text)
        self._wavelength.setText(UNKNOWN if beam.wavelength is None else f"{beam.wavelength:.5g} Å")
        self._pixel.setText(
            UNKNOWN if beam.pixel is None else " × ".join(f"{1e6 * side:.6g}" for side in beam.pixel) + " µm"
        )
        self._stands.setText(_stands(beam))
        here = self._state.is_set_here()
        self._origin.setText("set here, not from the series" if here else "from the series")
        self._origin.setVisible(here or self._state.series() != Beam())
        self.back.setEnabled(here)
        self.copy.setEnabled(bool(self.text()))
        centre, unknown = self._as_sent()
        self.to_device.setEnabled(self._why_not == "" and centre is not None)
        which = "this centre"
        if centre is not None and self._turned.is_turned:
            which = (
                f"x {centre[0]:.2f}, y {centre[1]:.2f}, this centre in the image as the detector sends it,"
            )
        self.to_device.setToolTip(
            self._why_not or unknown or f"Write {which} into the detector's BeamCenterX and BeamCenterY"
        )
        self._explain()

    def _explain(self) -> None:
        """Say why something is not shown."""
        beam = self._state.beam()
        lacks = beam.lacks()
        if self._wrong:
            self._say(self._wrong, trouble=True)
        elif (unknown := self._as_sent()[1]) not in ("", NOT_ASKED) and self._why_not is not None:
            self._say(f"Use as beam centre: {unknown}", trouble=True)
        elif lacks:
            self._say(
                f"Not known of this series: {', '.join(lacks)}. What needs it is not shown; type it, or set "
                "it at the detector." + "".join(f" {each[0].upper()}{each[1:]}." for each in self._remarks)
            )
        elif self._rings and not self._seen:
            self._say(_out_of_sight(beam, max(self._rings)))
        else:
            self._say("")

    def _say(self, sentence: str, *, trouble: bool = False) -> None:
        self._says.say(sentence, trouble=trouble)

    # -- layout ----------------------------------------------------------------------------------

    def _field(self, name: str) -> qt.QLineEdit:
        field = qt.QLineEdit(self)
        field.setAccessibleName(name)
        select_whole(field)
        field.setPlaceholderText(UNKNOWN)
        field.setFixedWidth(104)
        return field

    def _lay_out(self) -> None:
        grid = qt.QGridLayout(self)
        grid.setContentsMargins(12, 6, 12, 6)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        rows = (
            ("Beam centre x, y", [self.x, self.y, qt.QLabel("pixels", self)]),
            ("Distance", [self.distance, qt.QLabel("mm", self)]),
            ("Energy", [self.energy, qt.QLabel("eV", self), self._wavelength]),
            ("Pixel size", [self._pixel]), ("Detector", [self._stands]), ("", [self._origin]),
            ("Under the cursor", [self._place]),
        )  # fmt: skip
        last = len(rows) - 1
        for line, (name, widgets) in enumerate(rows):
            key = qt.QLabel(name, self)
            key.setStyleSheet(f"color: {theme.current().muted};")
            grid.addWidget(key, line, 0)
            # The last line goes below the buttons, which would move each time the cursor enters the picture.
            grid.addLayout(in_row(*widgets, STRETCH, spacing=8), line, 1, 1, 2 if line == last else 1)
        self._origin.setStyleSheet(f"color: {theme.current().accent};")
        side = in_column(
            in_row(self.show_cross, qt.QLabel("Rings", self), self.calibrant, self.given, STRETCH, spacing=8),
            in_row(self.back, self.copy, self.to_device, STRETCH, spacing=8),
            self._says, STRETCH, margins=(22, 0, 0, 0), spacing=6,
        )  # fmt: skip
        grid.addLayout(side, 0, 2, last, 1)
        grid.setColumnStretch(2, 1)
        grid.setRowStretch(last + 1, 1)


def _out_of_sight(beam: Beam, spacing: float) -> str:
    """Return why the rings are not seen, of which this distance of planes has the smallest."""
    angle = beam.two_theta(spacing)
    if angle is None:
        return f"No ring: planes {spacing:.4g} Å apart diffract above {_least_energy(spacing):,.0f} eV only."
    line = beam.ring(angle)
    if line is None or beam.centre is None or not np.isfinite(line).any():
        return "No ring is in the picture: the first one does not meet the detector."
    radius = np.nanmin(np.hypot(*(line - beam.centre).T))
    return (
        f"No ring is in the picture: at this distance and energy the first one, {spacing:.4g} Å, is "
        f"{radius:,.0f} pixels from the beam centre."
    )


def _least_energy(spacing: float) -> float:
    return PLANCK_LIGHT / (2 * spacing)


def _centre_text(centre: tuple[float, float] | None) -> tuple[str, str]:
    return ("", "") if centre is None else (f"{centre[0]:.2f}", f"{centre[1]:.2f}")


def _millimetres(distance: float | None) -> str:
    return "" if distance is None else f"{1000 * distance:.6g}"


def _electronvolts(energy: float | None) -> str:
    return "" if energy is None else f"{energy:,.6g}"


def _stands(beam: Beam) -> str:
    if beam.orientation is None:
        return "taken as upright on the beam"
    if beam.is_tilted:
        return "tilted, as the series says"
    return "upright on the beam" if beam.orientation == (1, 0, 0, 0, 1, 0) else "turned or mirrored"
