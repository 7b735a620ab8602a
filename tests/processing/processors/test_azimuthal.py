"""`processor: azimuthal`: geometry from the series or a .poni, its refusals, and changes within a series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyFAI
import pytest

from penstock.processing.azimuthal import kept
from penstock.processing.processors.azimuthal import Azimuthal
from penstock.processing.worker.configuring import Refusal
from penstock.receiver import geometry
from penstock.receiver.geometry import NEEDED, NO_ENERGY, REMARKS
from penstock.stins import codec
from penstock.streamer.simulated.patterns import powder, powder_geometry
from tests import rings
from tests.processing.azimuthal.compared import make_here
from tests.processing.azimuthal.counted import DISTANCE, PIXEL, points
from tests.processing.processors.built_in import Made, begun
from tests.processing.worker.worker_process import frame
from tests.streams import image as head

SHAPE = (200, 240)
MAKE = kept._make
"""In a process of its own, as outside these tests."""
GEOMETRY = dict(powder_geometry(*SHAPE))
HEADER = {"shape": SHAPE, "type": "uint16"}
POINTS = 400


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One folder of matrices for these tests: each is made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(kept, "_make", make_here)
        yield


def image() -> np.ndarray[Any, Any]:
    return (10 + 5000 * powder(*SHAPE)).astype(np.uint16)


def step_of(made: Made) -> Azimuthal:
    """The instance that processes the series."""
    (step,) = made.run._steps
    return cast(Azimuthal, step)


def mask() -> list[list[int]]:
    masked = np.zeros(SHAPE, int)
    masked[10:20, 30:40] = 1
    return masked.tolist()


METADATA = {**GEOMETRY, "pixel_mask": mask()}


def tilted() -> str:
    """A .poni that is not that of the header."""
    ai = pyFAI.load(geometry.poni(geometry.find(GEOMETRY), SHAPE))
    ai.rot1, ai.poni2 = 0.05, ai.poni2 * 1.02
    return f"""poni_version: 2.1
Detector: Detector
Detector_config: {json.dumps({"pixel1": ai.pixel1, "pixel2": ai.pixel2, "orientation": 2})}
Distance: {ai.dist}
Poni1: {ai.poni1}
Poni2: {ai.poni2}
Rot1: {ai.rot1}
Rot2: 0
Rot3: 0
Wavelength: {ai.wavelength}
"""


def test_powder_rings_are_where_they_belong() -> None:
    made = begun("azimuthal", {"points": POINTS, "unit": "q_A^-1"}, METADATA, **HEADER).take([image()])
    step = step_of(made)
    (plot,) = step.describe()
    axis = plot.axes[0]

    assert not made.errors
    assert (plot.definition, plot.errors, axis.unit, axis.label) == (
        "NXazint1d",
        "I_errors",
        "1/angstrom",
        "q",
    )
    assert plot.fields["instrument/monochromator/energy"] == (
        pytest.approx(GEOMETRY["incident_energy"] / 1000),
        "keV",
    )
    wanted = rings.momentum_transfer()
    wanted = wanted[(wanted > axis.values[5]) & (wanted < axis.values[-5])]
    found = rings.peaks(axis.values, made.of("I")[0], wanted, 0.06)
    assert len(wanted) >= 3
    assert np.abs(found - wanted).max() < (axis.values[1] - axis.values[0]) / 2


@pytest.mark.parametrize(
    ("metadata", "parameters", "says"),
    [
        ({}, {}, f"/a.h5 has no geometry: {NEEDED}"),
        ({REMARKS: ["distance is in x"]}, {}, "; or set `poni`; distance is in x"),
        ({**GEOMETRY, "incident_energy": 0}, {}, f"/a.h5 {NO_ENERGY}"),
        (GEOMETRY, {"points": 0}, "points is 0"),
        (GEOMETRY, {"polarisation": 2}, "polarisation is 2.0: a factor from -1 to 1"),
        (GEOMETRY, {"radial_range": [3, 1]}, r"radial_range is [3.0, 1.0]: give [from, to]"),
        (GEOMETRY, {"azimuth_range": [-90, 270]}, "give degrees from -180 to 180, or from 0 to 360"),
        (GEOMETRY, {"poni": "a.poni"}, "poni is a.poni: workers run in folders of their own"),
        (GEOMETRY, {"poni": "/no/a.poni"}, "poni: /no/a.poni: No such file or directory"),
        (
            GEOMETRY,
            {"poni": "/dev/null"},
            "poni: /dev/null is no geometry: it has no Detector, Distance, Poni1",
        ),
        (
            GEOMETRY,
            {"poni": tilted().replace("Distance: ", "Distance: hello # ")},
            'the text of poni (10 lines) is no geometry: Distance is "hello # 0.',
        ),
        (
            GEOMETRY,
            {"poni": "{no"},
            "the text of poni (1 line) is no geometry: it begins with {, and is no JSON",
        ),
        (GEOMETRY, {"dark": "/no/a.npy"}, "dark: /no/a.npy: No such file or directory"),
    ],
)
def test_what_is_refused_is_said_when_the_series_begins(
    metadata: dict[str, Any], parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(Refusal) as refused:
        begun("azimuthal", parameters, metadata, filename="/a.h5", **HEADER)
    assert says in str(refused.value) and "azimuthal.py" not in str(refused.value)


def test_what_pyfai_does_not_take_names_the_file_and_what_it_should_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_make", MAKE)
    path = tmp_path / "a.poni"
    path.write_text(tilted().replace("Detector: Detector", "Detector: Nothing"))
    with pytest.raises(Refusal) as refused:
        begun("azimuthal", {"poni": str(path)}, METADATA, **HEADER)
    said = str(refused.value)
    assert (
        f"pyFAI cannot read the geometry of {path}: " in said and "; a .poni file has lines such as " in said
    )


def test_pixels_that_are_missing_do_not_count() -> None:
    gap = image()
    gap[50:60] = np.iinfo(gap.dtype).max
    partial = head(1, gap, partial="a part")
    made = begun("azimuthal", {"points": POINTS, "unit": "q_A^-1"}, METADATA, **HEADER)
    made.take([frame(image(), 0), [codec.encode_image(partial), gap.tobytes()]])

    whole, rest = made.of("I")
    assert not made.errors and not np.array_equal(whole, rest)
    assert np.nanmax(np.abs(rest / whole - 1)) < 0.2  # and no 65535


def test_a_geometry_that_changes_within_a_series_keeps_the_axis() -> None:
    """Counted by hand, pixel by pixel: also in the first bin, below which pixels of the new geometry lie."""
    shape, beam, tilt = (60, 70), (-12.0, 28.1), 0.03
    keys = geometry.poni(geometry.Geometry(DISTANCE, beam, (PIXEL, PIXEL), 1.0), shape)
    header = {
        "distance": DISTANCE, "beam_center_x": beam[0], "beam_center_y": beam[1], "x_pixel_size": PIXEL,
        "y_pixel_size": PIXEL,
    }  # fmt: skip
    given = {"points": 20, "unit": "2th_deg", "splitting": "no", "solid_angle": False}
    pixels = np.random.default_rng(3).poisson(50, shape).astype(np.uint16)
    made = begun("azimuthal", given, header, shape=shape, type="uint16").take([pixels])
    before = step_of(made).describe()[0].axes

    made.change(**given, poni=json.dumps(keys | {"rot1": -tilt}))
    made.take([pixels], first=1)

    assert step_of(made).describe()[0].axes == before
    edges = step_of(made)._matrix.radial_edges  # type: ignore[union-attr]
    circle = np.array([-180.0, 180.0])
    for curve, angle in zip(made.of("I"), (0.0, -tilt), strict=True):
        places = points(shape, beam, angle)
        assert angle == 0 or places.radius.min() < edges[0] - (edges[1] - edges[0])
        counts, mean = places.counted(edges, circle, pixels)
        np.testing.assert_allclose(curve, mean[0], rtol=1e-6)
        assert (counts[0, :5] > 5).all()


@pytest.mark.parametrize("turn", [None, (0.0, 360.0)])
@pytest.mark.parametrize("splitting", ["no", "bbox", "full"])
def test_a_cake_that_changes_within_a_series_is_that_of_the_same_circle(
    splitting: str, turn: tuple[float, float] | None
) -> None:
    given = {"points": 50, "azimuth_points": 12, "splitting": splitting, "azimuth_range": turn}
    made = begun("azimuthal", given, METADATA, **HEADER).take([image()])
    made.change(**given, solid_angle=False)
    made.take([image()], first=1)

    before, after = made.of("I")
    counts = np.isfinite(before)
    assert counts.mean() > 0.5 and (counts == np.isfinite(after)).mean() > 0.98
    assert np.nanmin(after / before) > 0.7 and np.nanmax(after / before) < 1.01


def test_another_axis_within_a_series_is_refused() -> None:
    made = begun("azimuthal", {"points": POINTS, "unit": "q_A^-1"}, METADATA, **HEADER)
    with pytest.raises(Refusal, match="whose results have one axis: set them between two series"):
        made.change(points=10, unit="q_A^-1")


def test_frames_behind_a_start_message_without_a_shape() -> None:
    made = begun("azimuthal", {"points": POINTS, "unit": "q_A^-1"}, METADATA).take([image()])
    assert not made.errors and len(made.of("I")[0]) == POINTS
