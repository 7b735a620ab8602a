"""The orientation of the detector reaches the vectors of NeXus and pyFAI's geometry alike."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver import geometry
from penstock.receiver.files.contents import geometry_fields
from penstock.receiver.sources import create
from penstock.stins.messages import Start
from tests.receiver.files.written import DETECTOR, Written, packed
from tests.receiver.sample_series import start

HEADER: dict[str, Any] = {
    "beam_center_x": 2.5, "beam_center_y": 1.5, "distance": 0.2, "x_pixel_size": 1e-4, "y_pixel_size": 3e-4,
}  # fmt: skip
UPRIGHT, HALF = [1, 0, 0, 0, 1, 0], [-1, 0, 0, 0, -1, 0]
CLOCKWISE, COUNTER_CLOCKWISE = [0, 1, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0]
AGAINST, ALONG, UNSET = [0.1, 0.1, -0.2], [0.1, 0.1, 0.2], [0.0, 0.0, 0.0]
BY_RECEIVER = {"receiver_transforms": ["rotate 90"]}


def vectors(file: h5py.File) -> dict[str, np.ndarray]:
    module = file[f"{DETECTOR}/detector_module"]
    return {
        name: module[name].attrs["vector"] * module[name][()]
        for name in module
        if "vector" in module[name].attrs
    }


@pytest.mark.parametrize(
    ("orientation", "fast", "slow"),
    [
        (UPRIGHT, (-1, 0), (0, -1)),
        (CLOCKWISE, (0, -1), (1, 0)),
        (HALF, (1, 0), (0, 1)),
        (COUNTER_CLOCKWISE, (0, 1), (-1, 0)),
        ([0.6, 0.8, 0, -0.8, 0.6, 0], (-0.6, -0.8), (0.8, -0.6)),
    ],
)
def test_columns_and_rows_of_the_file_point_where_the_header_says(
    orientation: list[float], fast: tuple[float, float], slow: tuple[float, float], path: Path
) -> None:
    series = Written(path, start(frames=1, metadata={**HEADER, "detector_orientation": orientation}))
    series.add(packed(0))
    series.close("enough")
    with h5py.File(path) as file:
        found, poni = vectors(file), json.loads(file["entry/pyFAI/poni/data"][()])
        assert file[f"{DETECTOR}/detector_orientation"][()].tolist() == orientation
    columns, rows = 1e-4 * np.array([*fast, 0]), 3e-4 * np.array([*slow, 0])
    assert found["fast_pixel_direction"] == pytest.approx(columns, abs=1e-15)
    assert found["slow_pixel_direction"] == pytest.approx(rows, abs=1e-15)
    assert found["module_offset"] == pytest.approx(-2.5 * columns - 1.5 * rows, abs=1e-15)
    assert poni["rot3"] == pytest.approx(math.atan2(orientation[1], orientation[0]))


@pytest.mark.parametrize(
    "turn", [0.3, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (0.0, math.pi / 2, -2.0, math.pi))]
)
def test_pyfai_finds_every_pixel_where_nexus_has_it(turn: float) -> None:
    pyfai = pytest.importorskip("pyFAI")
    shape, found = (4, 6), geometry.Geometry(0.2, (2.5, 1.5), (1e-4, 3e-4), None, turn)
    placed = {field.path[-1]: field for field in geometry_fields.fields(found, shape, "det")}

    def vector(name: str) -> np.ndarray:
        return np.asarray(placed[name].value) * placed[name].attributes["vector"]

    rows, columns = np.mgrid[: shape[0], : shape[1]][..., np.newaxis] + 0.5
    ours = vector("translation") + vector("module_offset")
    ours = ours + rows * vector("slow_pixel_direction") + columns * vector("fast_pixel_direction")
    z, y, x = pyfai.load(geometry.poni(found, shape)).calc_pos_zyx(corners=False)
    assert np.stack([-x, y, z], -1) == pytest.approx(ours, abs=1e-7)  # its x points to the right


@pytest.mark.parametrize(
    ("metadata", "turn"),
    [
        ({}, 0.0),
        # DECTRIS' axes of its files, known by a translation against the beam.
        ({"vendor": {"detector_orientation": HALF, "detector_translation": AGAINST}}, 0.0),
        (
            {"vendor": {"detector_orientation": COUNTER_CLOCKWISE, "detector_translation": AGAINST}},
            math.pi / 2,
        ),
        ({"vendor": {"detector_orientation": UPRIGHT, "detector_translation": ALONG}}, 0.0),
        ({"vendor": {"detector_orientation": UPRIGHT, "detector_translation": UNSET}}, 0.0),
        ({"vendor": {"detector_orientation": CLOCKWISE, "detector_translation": ALONG}}, math.pi / 2),
        ({"vendor": {"detector_orientation": UPRIGHT}}, 0.0),
        ({"vendor": {"detector_orientation": UPRIGHT, "detector_translation": AGAINST}}, 0.0),
        # The user's own counts.
        ({"user": {"detector_orientation": CLOCKWISE}, "detector_orientation": "?"}, math.pi / 2),
        ({"detector_orientation": UPRIGHT, "acquisition": BY_RECEIVER}, 0.0),
    ],
)
def test_a_turn_about_the_beam_is_understood(metadata: dict[str, Any], turn: float) -> None:
    found = geometry.find({**HEADER, **metadata})
    assert found is not None
    assert found.turn == pytest.approx(turn)


@pytest.mark.parametrize(
    "metadata",
    [
        {"detector_orientation": "upright"},
        {"detector_orientation": [1, 0, 0]},
        {"detector_orientation": [0, 0, 0, 0, 0, 0]},
        {"detector_orientation": [float("nan"), 0, 0, 0, 1, 0]},
        {"detector_orientation": [-1, 0, 0, 0, 1, 0]},  # mirrored
        {"detector_orientation": [0.8, 0, 0.6, 0, 1, 0]},  # tilted
        {"vendor": {"detector_orientation": HALF, "detector_translation": ALONG}},
        {"vendor": {"detector_orientation": CLOCKWISE, "detector_translation": UNSET}},
        {"vendor": {"detector_orientation": HALF}},
        {"detector_orientation": CLOCKWISE, "acquisition": BY_RECEIVER},
        {"user": {"detector_orientation": "?"}, "detector_orientation": UPRIGHT},
    ],
)
def test_an_orientation_that_is_not_understood_leaves_out_the_position(
    metadata: dict[str, Any], path: Path
) -> None:
    series = Written(path, start(frames=1, metadata={**HEADER, **metadata}))
    series.add(packed(0))
    series.close("enough")
    with h5py.File(path) as file:
        assert "depends_on" not in file[DETECTOR] and "detector_module" not in file[DETECTOR]
        assert "pyFAI" not in file["entry"] and "definition" not in file["entry"]
        assert file[f"{DETECTOR}/distance"][()] == 0.2, "what is known stays"


@pytest.mark.parametrize(("orientation", "turn"), [(HALF, 0.0), (CLOCKWISE, -math.pi / 2)])
def test_the_orientation_of_dectris_stream_v1_is_read(orientation: list[float], turn: float) -> None:
    header = {"htype": "dheader-1.0", "series": 1, "header_detail": "basic"}
    config = HEADER | {"detector_distance": 0.2, "detector_translation": AGAINST}
    parts = (header, config | {"detector_orientation": orientation})
    message = create("dectris-v1").decode([json.dumps(part).encode() for part in parts])
    assert isinstance(message, Start)
    found = geometry.find(message.metadata)
    assert found is not None
    assert found.turn == pytest.approx(turn)


# -- what the HTTP API says of it -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beam", "wavelength", "energy"),
    [
        ({"incident_wavelength": 2.0}, 2.0, 6199.209921660013),
        ({"wavelength": 2.0, "incident_wavelength": 0}, 2.0, 6199.209921660013),
        ({"photon_energy": 12398.419843320026}, 1.0, 12398.419843320026),
        ({"incident_energy": 8000.0, "wavelength": 1.5}, 1.5, 8000.0),
        ({"incident_energy": 0, "wavelength": -1.0}, None, None),
        ({"incident_energy": math.inf, "wavelength": "1.5"}, None, None),
        ({"incident_energy": 1e-308}, None, 1e-308),
    ],
    ids=str,
)
def test_wavelength_and_energy_follow_from_each_other_and_what_is_sent_is_kept(
    beam: dict[str, Any], wavelength: float | None, energy: float | None
) -> None:
    found = geometry.known(beam)
    assert (found.wavelength, found.energy) == (pytest.approx(wavelength), pytest.approx(energy))


@pytest.mark.parametrize(
    ("centre", "expected"),
    [
        ((2.5, 1.5), (2.5, 1.5)), ((0, 0), (None, None)), ((0.0, 7.0), (0.0, 7.0)),
        ((None, 7.0), (None, 7.0)),
        ((None, 0.0), (None, None)), ((-3.0, 0.0), (-3.0, 0.0)), (([1, 2], "x"), (None, None)),
        ((math.nan, True), (None, None)),
    ],
    ids=str,
)  # fmt: skip
def test_a_beam_centre_of_zeros_is_not_set(
    centre: tuple[Any, Any], expected: tuple[float | None, float | None]
) -> None:
    found = geometry.known(dict(zip(("beam_center_x", "beam_center_y"), centre, strict=True)))
    assert (found.beam_center_x, found.beam_center_y) == expected


TILTED, TILTED_IN_OTHER_AXES = [1, 0, 0, 0, 0.8, 0.6], [-1, 0, 0, 0, -0.8, -0.6]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, None),
        ({"detector_orientation": UPRIGHT}, UPRIGHT),
        ({"detector_orientation": TILTED}, TILTED),
        ({"detector_orientation": [1, 0, 0, 1, 0, 0]}, None),
        ({"detector_orientation": [2, 0, 0, 0, 1, 0]}, None),
        ({"detector_orientation": "upright"}, None),
        ({"detector_orientation": TILTED, "acquisition": BY_RECEIVER}, None),
        ({"detector_orientation": UPRIGHT, "acquisition": BY_RECEIVER}, None),
        ({"user": {"detector_orientation": TILTED}, "acquisition": BY_RECEIVER}, TILTED),
        ({"vendor": {"detector_orientation": TILTED, "detector_translation": ALONG}}, TILTED),
        (
            {"vendor": {"detector_orientation": TILTED_IN_OTHER_AXES, "detector_translation": AGAINST}},
            TILTED,
        ),
        ({"vendor": {"detector_orientation": TILTED, "detector_translation": UNSET}}, None),
    ],
    ids=str,
)  # fmt: skip
def test_the_orientation_is_said_with_its_tilt_and_nothing_is_guessed(
    metadata: dict[str, Any], expected: list[float] | None
) -> None:
    assert geometry.known(metadata).detector_orientation == expected
