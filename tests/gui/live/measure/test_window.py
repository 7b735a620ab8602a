"""Beam centre, rings and resolution in the window, as the user sees, drags and types them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui.live.measure.beam.overlay import RINGS_COLOUR
from penstock.gui.live.view import Viewer
from penstock.receiver.models import Rectangle
from tests.gui.live.stand_in import StandIn

DEADLINE = 10_000
IMAGE = np.zeros((200, 300), np.int32)
PLACE = Rectangle(x=70, y=50, width=20, height=20)
GEOMETRY = {
    "beam_center_x": 150.5, "beam_center_y": 100.25, "distance": 0.1, "x_pixel_size": 1e-4,
    "y_pixel_size": 1e-4, "wavelength": 1.0, "energy": 12398.42,
}  # fmt: skip


@pytest.fixture
def viewer(qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]) -> Viewer:
    receiver.geometry = dict(GEOMETRY)
    opened = show(receiver.url)
    opened.show_measure.setChecked(True)
    opened.measure.tabs.setCurrentWidget(opened.measure.beam_tab)
    receiver.frame(IMAGE, 0)
    qtbot.waitUntil(lambda: opened.drawn() == 1, timeout=DEADLINE)
    qtbot.waitUntil(lambda: opened.measure.facts.geometry() is not None, timeout=DEADLINE)
    return opened


def point(viewer: Viewer, x: float, y: float) -> None:
    """Move the cursor there."""
    viewer.plot._follow_cursor({"event": "mouseMoved", "x": x, "y": y})


def write(qtbot: Any, field: qt.QLineEdit, text: str) -> None:
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, qt.Qt.Key_Return)


def test_the_series_geometry_is_shown_and_the_place_under_the_cursor(viewer: Viewer) -> None:
    tab = viewer.measure.beam_tab
    assert (tab.x.text(), tab.y.text(), tab.distance.text()) == ("150.50", "100.25", "100")
    assert (tab.energy.text(), tab.origin(), tab.says()) == ("12,398.4", "from the series", "")
    point(viewer, 250.5, 100.25)  # 10 mm beside the beam, 100 mm away
    assert viewer.beam_text() == "10.00 mm   2θ 5.711°   d 10.04 Å   q 0.626 Å⁻¹"
    viewer.plot.leaveEvent(qt.QEvent(qt.QEvent.Leave))
    assert viewer.beam_text() == ""


def test_what_is_not_known_is_not_shown_but_said(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    receiver.geometry = {"beam_center_x": 150.5, "beam_center_y": 100.25, "remarks": ["distance is in x"]}
    viewer = show(receiver.url)
    receiver.frame(IMAGE, 0)
    tab = viewer.measure.beam_tab
    qtbot.waitUntil(lambda: tab.x.text() == "150.50", timeout=DEADLINE)
    assert tab.says().startswith("Not known of this series: distance, pixel size, wavelength.")
    assert tab.says().endswith(" set it at the detector. Distance is in x.")
    assert (tab.distance.text(), tab.energy.text()) == ("", "")
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    point(viewer, 153.5, 104.25)
    assert viewer.beam_text() == "5.0 pixels from the beam"
    tab.calibrant.setCurrentText("LaB6")
    assert viewer.measure.rings.lines() == []


def test_the_cross_is_dragged_and_the_numbers_are_copied(qtbot: Any, viewer: Viewer) -> None:
    tab, cross = viewer.measure.beam_tab, viewer.measure.cross
    assert cross.cross() is None
    tab.show_cross.setChecked(True)
    drawn = cross.cross()
    assert drawn is not None and tuple(drawn.getPosition()) == (150.5, 100.25)
    drawn.setPosition((140.126, 90.0))
    assert (tab.x.text(), tab.y.text(), tab.origin()) == ("140.13", "90.00", "set here, not from the series")
    qtbot.waitUntil(
        lambda: "BeamCenterX" in tab.text(), timeout=DEADLINE
    )  # once it is known how it was turned
    tab.copy.click()
    assert qt.QApplication.clipboard().text() == (
        "BeamCenterX 140.13\nBeamCenterY 90.00\nDistance 0.1\nEnergy 12398.4"
    )
    write(qtbot, tab.x, "120.5")
    assert tuple(drawn.getPosition()) == (120.5, 90.0)
    write(qtbot, tab.x, "somewhere")
    assert tab.x.text() == "120.50"
    tab.back.click()
    assert (tab.x.text(), tab.origin()) == ("150.50", "from the series")
    assert tuple(drawn.getPosition()) == (150.5, 100.25)
    tab.show_cross.setChecked(False)
    assert cross.cross() is None


def test_the_mouse_drags_the_cross_and_does_not_zoom(qtbot: Any, viewer: Viewer) -> None:
    viewer.measure.beam_tab.show_cross.setChecked(True)
    qtbot.waitUntil(lambda: not viewer.plot._getDirtyPlot(), timeout=DEADLINE)
    limits = viewer.plot.getGraphXLimits()
    canvas = viewer.plot.getWidgetHandle()
    start, end = (qt.QPointF(*viewer.plot.dataToPixel(*at)) for at in ((150.5, 100.25), (90.5, 60.25)))

    def send(kind: int, point: qt.QPointF, button: int, buttons: int) -> None:
        qt.QApplication.sendEvent(canvas, qt.QMouseEvent(kind, point, button, buttons, qt.Qt.NoModifier))

    send(qt.QEvent.MouseMove, start, qt.Qt.NoButton, qt.Qt.NoButton)
    send(qt.QEvent.MouseButtonPress, start, qt.Qt.LeftButton, qt.Qt.LeftButton)
    for point in ((start + end) / 2, end):
        send(qt.QEvent.MouseMove, point, qt.Qt.NoButton, qt.Qt.LeftButton)
    send(qt.QEvent.MouseButtonRelease, end, qt.Qt.LeftButton, qt.Qt.NoButton)
    qtbot.waitUntil(lambda: viewer.measure.beam.is_set_here(), timeout=DEADLINE)
    assert viewer.measure.beam.beam().centre == pytest.approx((90.5, 60.25), abs=1)
    assert viewer.plot.getGraphXLimits() == limits


def test_distance_and_energy_are_typed(qtbot: Any, viewer: Viewer) -> None:
    tab = viewer.measure.beam_tab
    write(qtbot, tab.distance, "200")
    write(qtbot, tab.energy, "24796.84")
    beam = viewer.measure.beam.beam()
    assert (beam.distance, beam.wavelength) == (0.2, pytest.approx(0.5))
    write(qtbot, tab.energy, "-3")
    assert tab.energy.text() == "24,796.8"
    assert tab.says() == "▲ Energy: -3 is not above 0"
    write(qtbot, tab.energy, "40 keV")
    assert (tab.energy.text(), tab.says()) == ("40,000", "")


def test_the_cross_begins_in_the_middle_where_nobody_knows_the_centre(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    receiver.geometry = {"distance": 0.1, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4}
    viewer = show(receiver.url)
    tab, cross = viewer.measure.beam_tab, viewer.measure.cross
    tab.show_cross.setChecked(True)
    assert cross.cross() is None, "the series may know it"
    receiver.frame(IMAGE, 0)
    qtbot.waitUntil(lambda: cross.cross() is not None, timeout=DEADLINE)
    assert viewer.measure.beam.beam().centre == (150.0, 100.0)
    assert tab.origin() == "set here, not from the series"
    tab.back.click()
    assert cross.cross() is None
    tab.show_cross.setChecked(False)
    tab.show_cross.setChecked(True)
    assert cross.cross() is not None


def test_rings_that_are_out_of_sight_are_named(qtbot: Any, viewer: Viewer) -> None:
    tab = viewer.measure.beam_tab
    write(qtbot, tab.distance, "2 m")
    tab.calibrant.setCurrentText("CeO2")
    assert tab.says() == (
        "No ring is in the picture: at this distance and energy the first one, 3.124 Å, is 6,660 pixels "
        "from the beam centre."
    )
    write(qtbot, tab.energy, "1000")
    assert tab.says() == "No ring: planes 3.124 Å apart diffract above 1,984 eV only."
    write(qtbot, tab.energy, "12.4 keV")
    write(qtbot, tab.distance, "20")
    assert viewer.measure.rings.distances() != []
    assert tab.says() == ""


def test_nothing_moves_when_the_cursor_enters_the_picture(qtbot: Any, viewer: Viewer) -> None:
    tab = viewer.measure.beam_tab
    viewer.resize(1240, 760)
    qtbot.waitUntil(tab.copy.isVisible, timeout=DEADLINE)
    before = tab.copy.geometry(), viewer.size()
    point(viewer, 250.5, 100.25)
    qt.QApplication.processEvents()
    assert viewer.beam_text() != ""
    assert (tab.copy.geometry(), viewer.size()) == before


def test_rings_are_seen_in_the_picture(qtbot: Any, viewer: Viewer) -> None:
    tab, rings = viewer.measure.beam_tab, viewer.measure.rings
    tab.calibrant.setCurrentText("given d")
    write(qtbot, tab.given, "20, 14, 0.4")
    assert rings.distances() == [20, 14], "0.4 Å is beyond what 1 Å diffracts at"
    (ring, _) = rings.lines()[:2]
    radius = 1000 * math.tan(2 * math.asin(1 / 40))  # of d = 20 Å, in pixels
    assert np.hypot(*(ring.getPoints() - (150.5, 100.25)).T) == pytest.approx(radius)
    x, y = viewer.plot.dataToPixel(150.5 - radius, 100.25)

    def is_seen() -> bool:
        picture = viewer.plot.getWidgetHandle().grab().toImage()
        near = [picture.pixelColor(round(x) + step, round(y)) for step in (-1, 0, 1)]
        return any(abs(colour.red() - qt.QColor(RINGS_COLOUR).red()) < 60 for colour in near)

    qtbot.waitUntil(is_seen, timeout=DEADLINE)
    edge, _ = viewer.plot.dataToPixel(viewer.plot.frame_extent()[0], 0, check=False)
    for name in rings.names():
        left, _ = viewer.plot.dataToPixel(*name.getPosition(), check=False)
        assert left + qt.QFontMetrics(viewer.plot.font()).horizontalAdvance(name.getText()) <= edge
    write(qtbot, tab.given, "20, ice")
    assert tab.says() == "▲ 'ice' is no distance: give angstrom above 0, such as 3.5, 1.9"
    tab.calibrant.setCurrentText("none")
    assert rings.lines() == []


def test_the_cross_goes_to_the_centroid_of_the_rectangle(
    qtbot: Any, receiver: StandIn, viewer: Viewer
) -> None:
    spot = IMAGE.copy()
    spot[59:62, 79:82] = 10
    spot[60, 81] = 40
    receiver.frame(spot, 1)
    viewer.measure.tabs.setCurrentWidget(viewer.measure.figures)
    viewer.measure.rectangle.set_place(PLACE)
    qtbot.waitUntil(viewer.measure.figures.to_centroid.isEnabled, timeout=DEADLINE)
    qtbot.waitUntil(
        lambda: viewer.measure.figures.value("Rectangle", "Centroid") == "x 80.75, y 60.50", timeout=DEADLINE
    )
    viewer.measure.figures.to_centroid.click()
    assert viewer.measure.beam.beam().centre == (80.75, 60.5)
    assert viewer.measure.cross.cross() is not None
