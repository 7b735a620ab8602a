"""Numbers that somebody types into the measuring tools."""

from __future__ import annotations

import pytest

from penstock.gui.live.measure.beam.tab import ENERGIES, LENGTHS, PIXELS, number


@pytest.mark.parametrize(
    ("text", "metres"),
    [("150", 0.15), (" 150 mm ", 0.15), ("15cm", 0.15), ("0.15 m", 0.15), ("1,500", 1.5), ("1.5e2", 0.15)],
)
def test_a_length_is_in_millimetres_unless_it_bears_a_unit(text: str, metres: float) -> None:
    assert number("Distance", text, LENGTHS) == metres


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("40 kev", 'Energy: "40 kev" is no number in eV, or with keV'),
        ("12,4", 'Energy: "12,4" is no number in eV, or with keV; the decimal mark is a point'),
        ("much", 'Energy: "much" is no number in eV, or with keV'),
        ("-3", "Energy: -3 is not above 0"),
        ("1e30", "Energy: 1e30 is too large"),
    ],
)
def test_what_is_no_energy_is_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ValueError) as refused:
        number("Energy", text, ENERGIES, positive=True)
    assert str(refused.value) == says


def test_a_decimal_comma_is_not_taken_for_thousands() -> None:
    with pytest.raises(ValueError, match="is no number in pixels; the decimal mark is a point"):
        number("Beam centre x", "520,3", PIXELS)
