"""Light and dark: everything can be read, and no colour is taken for another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.theme import DARK, LIGHT, Theme

BOTH = pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.1), 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@BOTH
@pytest.mark.parametrize("name", ["text", "muted", "old", "accent", "good", "warning", "bad"])
def test_words_can_be_read_on_panel_and_window(colours: Theme, name: str) -> None:
    least = 3.0 if name == "old" else 4.5  # that it may not hold any more is what it has to say
    assert contrast(getattr(colours, name), colours.panel) >= least
    assert contrast(getattr(colours, name), colours.window) >= least


@BOTH
def test_a_box_to_tick_can_be_seen(colours: Theme) -> None:
    application = qt.QApplication.instance() or qt.QApplication([])
    before = application.palette(), application.styleSheet(), application.font()
    theme.apply(application, colours)
    try:
        box = qt.QCheckBox("Cross")
        box.resize(box.sizeHint())
        picture = box.grab().toImage()
        row = [picture.pixelColor(x, box.height() // 2).name() for x in range(16)]
        assert max(contrast(each, colours.panel) for each in row) >= 3.0
    finally:
        application.setPalette(before[0])
        application.setStyleSheet(before[1])
        application.setFont(before[2])


@BOTH
def test_what_is_typed_can_be_read(colours: Theme) -> None:
    assert contrast(colours.text, colours.edit) >= 4.5


@BOTH
def test_the_arrows_that_unfold_a_tool_bar_can_be_seen(colours: Theme) -> None:
    assert contrast("#000000", colours.more) >= 4.5


@BOTH
def test_the_state_can_be_read_on_its_colour(colours: Theme) -> None:
    for colour in colours.state.values():
        assert contrast("#ffffff", colour) >= 4.0  # 15 points, bold: 3 would do


@BOTH
def test_fates_stand_out_and_are_told_apart(colours: Theme) -> None:
    for inks in (colours.fates, colours.ends):
        for fate, colour in inks.items():
            assert fate == "pending" or contrast(colour, colours.panel) >= 3.0, fate
        for one, other in combinations(inks.values(), 2):
            parts = [(int(one[p : p + 2], 16), int(other[p : p + 2], 16)) for p in (1, 3, 5)]
            assert sum((a - b) ** 2 for a, b in parts) ** 0.5 > 40, (one, other)


def test_the_theme_follows_the_palette_of_the_application(qapp: Any) -> None:
    before, sheet = qapp.palette(), qapp.styleSheet()
    try:
        for colours in (LIGHT, DARK):
            theme.apply(qapp, colours)
            assert theme.current() is colours
            assert theme.of_name("auto", qapp) is colours
        assert theme.of_name("light", qapp) is LIGHT
        foreign = qt.QPalette(qt.QColor("#f4f4f4"))
        qapp.setPalette(foreign)
        assert theme.current() is LIGHT
    finally:
        qapp.setPalette(before)
        qapp.setStyleSheet(sheet)


def test_a_look_that_the_application_has_is_not_given_again(qapp: Any, qtbot: Any) -> None:
    class Watched(qt.QWidget):
        given = 0

        def changeEvent(self, event: qt.QEvent) -> None:
            self.given += event.type() == qt.QEvent.StyleChange

    before, sheet = qapp.palette(), qapp.styleSheet()
    widget = Watched()
    qtbot.addWidget(widget)
    widget.show()
    try:
        theme.apply(qapp, DARK)
        first = widget.given
        theme.apply(qapp, DARK)
        assert widget.given == first
        theme.apply(qapp, LIGHT)
        assert widget.given > first
    finally:
        qapp.setPalette(before)
        qapp.setStyleSheet(sheet)
