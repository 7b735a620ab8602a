"""Angles, resolutions and rings against pyFAI's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.gui.live.measure.beam import calibrants
from penstock.gui.live.measure.beam.geometry import Beam, known, sentence, visible
from penstock.receiver.models import Geometry

pyfai = pytest.importorskip("pyFAI.geometry", reason="rings are compared with pyFAI's")

BEAM = Beam((520.3, 260.8), 0.15, (75e-6, 172e-6), 0.9)
PLACES = [(0.5, 0.5), (520.5, 260.5), (1029.5, 3.5), (100.5, 513.5)]


def pyfais(beam: Beam, rot1: float = 0.0, rot2: float = 0.0, rot3: float = 0.0) -> tuple[Beam, object]:
    """pyFAI's geometry with this distance and poni and these rotations, and the same as a `Beam`."""
    assert beam.centre is not None and beam.pixel is not None and beam.distance is not None
    geometry = pyfai.Geometry(
        beam.distance, beam.centre[1] * beam.pixel[1], beam.centre[0] * beam.pixel[0], rot1, rot2, rot3,
        pixel1=beam.pixel[1], pixel2=beam.pixel[0], wavelength=beam.wavelength * 1e-10,
    )  # fmt: skip

    def point(x: float, y: float) -> np.ndarray:
        """(right, down, along the beam), in m; pyFAI's pixels have their numbers in the middle."""
        along, down, right = geometry.calc_pos_zyx(d1=np.array([y - 0.5]), d2=np.array([x - 0.5]))
        return np.array([right[0], down[0], along[0]])

    corner = point(0, 0)
    fast, slow = point(1, 0) - corner, point(0, 1) - corner
    # Where the beam meets the detector: corner + x fast + y slow is on the axis.
    x, y = np.linalg.solve(np.stack((fast[:2], slow[:2]), axis=1), -corner[:2])
    distance = (corner + x * fast + y * slow)[2]
    directions = (*(fast / np.linalg.norm(fast)), *(slow / np.linalg.norm(slow)))
    return Beam((x, y), distance, beam.pixel, beam.wavelength, directions), geometry


@pytest.mark.parametrize(
    "rotations", [(0, 0, 0), (0, 0, 0.3), (0.2, 0, 0), (0, -0.3, 0), (0.25, 0.35, 1.2), (0.9, 0.1, 0)]
)
def test_angle_q_and_d_are_pyfais_also_on_a_tilted_detector(rotations: tuple[float, float, float]) -> None:
    beam, geometry = pyfais(BEAM, *rotations)
    assert beam.is_tilted is (rotations[:2] != (0, 0))
    for x, y in PLACES:
        d1, d2 = np.array([y - 0.5]), np.array([x - 0.5])
        angle = geometry.tth(d1, d2, path="numpy")[0]
        place = beam.at(x, y)
        assert place.two_theta == pytest.approx(math.degrees(angle), rel=1e-6)
        q = geometry.qFunction(d1, d2, path="numpy")[0] / 10  # it has 1/nm
        assert place.q == pytest.approx(q, rel=1e-6)
        assert place.d == pytest.approx(2 * math.pi / q, rel=1e-6)


@pytest.mark.parametrize("rotations", [(0, 0, 0), (0.25, 0.35, 1.2)])
def test_a_ring_is_where_pyfai_has_its_angle(rotations: tuple[float, float, float]) -> None:
    beam, geometry = pyfais(BEAM, *rotations)
    for angle in (2.0, 15.0, 40.0):
        ring = beam.ring(angle)
        assert ring is not None and np.isfinite(ring).all()
        found = geometry.tth(ring[:, 1] - 0.5, ring[:, 0] - 0.5, path="numpy")
        np.testing.assert_allclose(np.degrees(found), angle, rtol=1e-6)


def test_a_ring_that_misses_a_tilted_detector_is_open() -> None:
    beam, _ = pyfais(BEAM, 0.9)
    ring = beam.ring(60.0)
    assert ring is not None
    missing = np.isnan(ring).any(1)
    assert missing.any() and not missing.all()


def test_the_distance_from_the_beam_is_on_the_detector() -> None:
    place = BEAM.at(520.3 + 100, 260.8)
    assert place.millimetres == pytest.approx(7.5)
    assert place.pixels is None, "its pixels are not square"
    assert place.two_theta == pytest.approx(math.degrees(math.atan(7.5e-3 / 0.15)))


def test_what_is_not_known_is_not_shown() -> None:
    assert sentence(Beam().at(3, 4)) == ""
    assert sentence(Beam((0, 0)).at(3, 4)) == "5.0 pixels from the beam"
    assert sentence(Beam((0, 0), None, (1e-4, 1e-4)).at(3, 4)) == "0.50 mm"
    assert sentence(Beam((0, 0), 0.1, (1e-4, 1e-4)).at(3, 4)) == "0.50 mm   2θ 0.286°"
    whole = Beam((0, 0), 0.1, (1e-4, 1e-4), 1.0)
    assert sentence(whole.at(3, 4)) == "0.50 mm   2θ 0.286°   d 200 Å   q 0.03142 Å⁻¹"
    assert sentence(whole.at(0, 0)) == "0.00 mm   2θ 0.000°   q 0 Å⁻¹"
    assert Beam((0, 0)).ring(3.0) is None
    assert Beam(wavelength=1.0).two_theta(0.4) is None, "planes too close to diffract"
    assert whole.lacks() == () and Beam((0, 0)).lacks() == ("distance", "pixel size", "wavelength")


def test_what_the_receiver_knows_is_what_is_used() -> None:
    geometry = Geometry(
        series="a", beam_center_x=12.5, beam_center_y=4.0, distance=0.2, x_pixel_size=75e-6,
        y_pixel_size=172e-6, wavelength=1.5, detector_orientation=[0, 1, 0, -1, 0, 0],
    )  # fmt: skip
    assert known(geometry) == Beam((12.5, 4.0), 0.2, (75e-6, 172e-6), 1.5, (0, 1, 0, -1, 0, 0))
    assert known(Geometry(series="a", beam_center_x=3.0)) == Beam()
    assert known(None) == Beam()


@pytest.mark.parametrize(
    ("name", "other"), [("LaB6", "LaB6_SRM660c"), ("CeO2", "CeO2"), ("Si", "Si_SRM640e"), ("AgBh", "AgBh")]
)
def test_rings_of_calibrants_are_those_of_pyfai(name: str, other: str) -> None:
    from pyFAI.calibrant import get_calibrant

    expected = list(get_calibrant(other).dspacing)[:12]
    assert calibrants.spacings(name) == pytest.approx(expected, rel=1e-6)


def test_distances_are_typed_as_people_write_them() -> None:
    assert calibrants.typed(" 1.9, 3.5;2 ") == (3.5, 2, 1.9)
    assert calibrants.typed("") == ()
    for text in ("3.5, ice", "-1", "0", "inf"):
        with pytest.raises(ValueError, match="is no distance: give angstrom above 0"):
            calibrants.typed(text)


def test_of_a_ring_that_leaves_the_picture_its_pieces_are_drawn() -> None:
    ring = Beam((50, 50), 0.1, (1e-4, 1e-4), 1.0).ring(math.degrees(math.atan(0.06)))  # 60 pixels
    assert ring is not None
    pieces = visible(ring, (100, 100))
    assert len(pieces) >= 4
    assert all(((piece >= -2) & (piece <= 102)).all() for piece in pieces)
    assert [len(piece) for piece in visible(ring + 500, (1000, 1000))] == [361]
    assert visible(ring + 5000, (100, 100)) == []


def test_of_a_ring_a_corner_of_the_picture_has_its_part_though_none_of_its_points() -> None:
    centre, radius = (-6000.0, -5905.0), 8425.0
    ring = Beam(centre, 1.0, (1e-4, 1e-4), 1.0).ring(math.degrees(math.atan(radius * 1e-4)))
    assert ring is not None
    assert math.dist(centre, (0, 0)) < radius < math.dist(centre, (1000, 0)), "it goes through that corner"
    assert not ((ring >= 0) & (ring <= 1000)).all(1).any()

    (piece,) = visible(ring, (1000, 1000))

    assert np.hypot(*(piece - np.array(centre)).T) == pytest.approx([radius, radius])
    assert (piece[0, 0] < 0) != (piece[1, 0] < 0) or (piece[0, 1] < 0) != (piece[1, 1] < 0)
