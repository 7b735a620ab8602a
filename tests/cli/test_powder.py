"""A header with the geometry, a running receiver, its file: pyFAI finds the rings of CeO2 in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fabio
import h5py
import numpy as np
import pytest

from penstock.cli._powder import PONI, integrate
from penstock.receiver.reading.reader import ReaderError
from tests import rings
from tests.data import CEO2, recording
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

SHAPE = (340, 310)
BAD = (slice(100, 110), slice(0, 310))
"""Rows that the mask marks as bad; they are bright, and would make rings where none are."""
DETECTOR = "entry/instrument/sim_1"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A series of three frames, the middle one lost."""
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path_factory.mktemp("powder"), streamer.endpoint)
    path = receiver.root / "ceo2.h5"
    image = rings.image(SHAPE)
    image[BAD] = 60_000
    mask = np.zeros(SHAPE, int)
    mask[BAD] = 2
    try:
        series = streamer.start(str(path), {**rings.GEOMETRY, "pixel_mask": mask.tolist()}, frames=3)
        for number in (0, 2):
            streamer.frame(number, image)
        streamer.encoder.msg_number += 1
        streamer.end(reason="complete", triggered=3, sent=3)
        receiver.ended(series)
        yield path
    finally:
        receiver.close()
        streamer.close()


def curve(path: Path) -> tuple[np.ndarray, np.ndarray]:
    radial, intensity = np.loadtxt(path, usecols=(0, 1)).T
    return radial, intensity


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "lines", "within", "tolerance"),
    [
        ("2th_deg", rings.two_theta(), 0.15, 0.005),
        pytest.param("q_A^-1", rings.momentum_transfer(), 0.08, 0.003, marks=pytest.mark.slow),
    ],
)
def test_the_rings_stand_at_their_angles_given_nothing_but_the_file(
    file: Path, tmp_path: Path, unit: str, lines: np.ndarray, within: float, tolerance: float
) -> None:
    done = subprocess.run(
        ["penstock", "integrate", "--unit", unit, "--out", str(tmp_path), "--json", str(file)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["notes"][str(file)] == ["mean of 2 of 3 frames (1 missing)"]
    written = Path(told["written"][str(file)])
    assert written.read_text().startswith("# mean of 2 of 3 frames (1 missing)\n")
    radial, intensity = curve(written)
    assert rings.peaks(radial, intensity, lines, within) == pytest.approx(lines, abs=tolerance)
    assert intensity.max() < 3000  # the bad rows are masked, and the lost frame counts for nothing


@pytest.mark.slow
def test_a_curve_that_is_there_is_not_replaced_unless_asked_for(file: Path, tmp_path: Path) -> None:
    out = tmp_path / f"{file.stem}.xy"
    out.write_text("precious")
    command = ["penstock", "integrate", "--out", str(tmp_path), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    assert f"{out} exists already; --overwrite replaces it" in done.stderr
    assert out.read_text() == "precious"
    done = subprocess.run([*command, "--overwrite"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert len(curve(out)[0]) == 1000


@pytest.mark.slow
def test_who_has_only_pyfai_and_h5py_gets_the_same_from_the_file(file: Path) -> None:
    program = """
import json, sys, h5py, hdf5plugin, pyFAI
with h5py.File(sys.argv[1]) as file:
    ai = pyFAI.load(json.loads(file["entry/pyFAI/poni/data"][()]))
    frame, mask = file["entry/data/data"][0], file["entry/instrument/sim_1/pixel_mask"][()] != 0
result = ai.integrate1d(frame, 1000, unit="2th_deg", mask=mask)
print(*result.radial)
print(*result.intensity)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    radial, intensity = (np.array(line.split(), float) for line in done.stdout.splitlines()[-2:])
    lines = rings.two_theta()
    assert rings.peaks(radial, intensity, lines, 0.15) == pytest.approx(lines, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(
    "turns",
    [
        [{"type": "rotate", "quarter_turns": 1}],
        [{"type": "flip", "direction": "up-down"}, {"type": "rotate", "quarter_turns": 3}],
    ],
    ids=["rotate", "flip-rotate"],
)
def test_mask_and_geometry_turn_with_the_image(tmp_path: Path, turns: list[dict[str, Any]]) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, transforms=turns)
    path = receiver.root / "turned.h5"
    image, mask = rings.image(SHAPE), np.zeros(SHAPE, int)
    image[BAD], mask[BAD] = 60_000, 2
    try:
        series = streamer.start(str(path), {**rings.GEOMETRY, "pixel_mask": mask.tolist()}, frames=1)
        streamer.frame(0, image)
        streamer.end(reason="complete", triggered=1, sent=1)
        receiver.ended(series)
    finally:
        receiver.close()
        streamer.close()
    with h5py.File(path) as file:
        assert np.array_equal(file["entry/data/data"][0] == 60_000, file[f"{DETECTOR}/pixel_mask"][()] == 2)
    curve = integrate(path).curve
    lines = rings.two_theta()
    assert rings.peaks(curve.radial, curve.intensity, lines, 0.15) == pytest.approx(lines, abs=0.005)


@pytest.mark.slow  # the rings of simulated images are found in less time
def test_the_rings_of_a_real_detector_stand_at_their_angles(tmp_path: Path) -> None:
    """Geometry: that of the calibration which comes with the image in its project (Dioptas). The detector was
    tilted by 1.08 degrees, which no header can say and which broadens the lines."""
    image = fabio.open(str(recording(CEO2))).data
    header = {
        "distance": 0.208689, "beam_center_x": 487.259, "beam_center_y": 512.548,
        "x_pixel_size": 172e-6, "y_pixel_size": 172e-6, "incident_wavelength": 0.4066,
    }  # fmt: skip
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    path = receiver.root / "pilatus.h5"
    try:
        series = streamer.start(str(path), header, frames=1)
        streamer.frame(0, image)
        streamer.end(reason="complete", triggered=1, sent=1)
        receiver.ended(series)
    finally:
        receiver.close()
        streamer.close()
    curve = integrate(path).curve
    lines = rings.two_theta(0.4066, (3, 8, 11, 16, 24))
    assert rings.peaks(curve.radial, curve.intensity, lines, 0.3) == pytest.approx(lines, abs=0.06)


def followed(file: h5py.File, path: str) -> np.ndarray:
    """Where a chain of NXtransformations leads: the sum of its translations, in m, in McStas' axes."""
    place = np.zeros(3)
    while path != ".":
        axis = file[path]
        assert axis.attrs["transformation_type"] == "translation" and axis.attrs["units"] == "m"
        assert np.linalg.norm(axis.attrs["vector"]) == pytest.approx(1)
        place += axis[()] * axis.attrs["vector"]
        path = axis.attrs["depends_on"]
    return place


@pytest.mark.parametrize("pixel", [(0, 0), (171, 131), (339, 0), (20, 300)])
def test_nexus_transformations_put_a_pixel_where_pyfai_sees_it(file: Path, pixel: tuple[int, int]) -> None:
    pyfai = pytest.importorskip("pyFAI")
    with h5py.File(file) as opened:
        detector = opened["entry/instrument/sim_1"]
        assert detector["depends_on"].asstr()[()] == f"{detector.name}/transformations/translation"
        module = detector["detector_module"]
        assert module["data_size"][()].tolist() == list(SHAPE)
        place = followed(opened, module["module_offset"].name)
        for axis, number in (("slow_pixel_direction", pixel[0]), ("fast_pixel_direction", pixel[1])):
            assert module[axis].attrs["depends_on"] == module["module_offset"].name
            place += (number + 0.5) * module[axis][()] * module[axis].attrs["vector"]
        ai = pyfai.load(json.loads(opened["entry/pyFAI/poni/data"][()]))
    left, up, along = place
    rows, cols = (np.array([float(number)]) for number in pixel)
    assert ai.tth(rows, cols)[0] == pytest.approx(np.arctan2(np.hypot(left, up), along))
    # pyFAI's chi is 0 to the right, and 90 degrees up, for somebody who looks along the beam.
    if np.hypot(left, up) > 1e-3:
        assert ai.chi(rows, cols)[0] == pytest.approx(np.arctan2(up, -left))


@pytest.mark.parametrize("absent", ["distance", "beam_center_x", "x_pixel_size"])
def test_a_header_without_the_geometry_is_no_geometry(absent: str) -> None:
    from penstock.receiver import geometry

    assert geometry.find(rings.GEOMETRY) is not None
    assert geometry.find({key: value for key, value in rings.GEOMETRY.items() if key != absent}) is None
    assert geometry.find({**rings.GEOMETRY, absent: "far"}) is None


@pytest.mark.parametrize(
    ("beam", "wavelength"),
    [
        ({"incident_wavelength": 1.5}, 1.5), ({"wavelength": 1.5}, 1.5),
        ({"incident_energy": 12398.42}, 1.0), ({"photon_energy": 12398.42}, 1.0),
        ({"incident_energy": 0.0}, None), ({}, None),
    ],
)  # fmt: skip
def test_the_wavelength_follows_from_what_is_known(beam: dict[str, Any], wavelength: float | None) -> None:
    from penstock.receiver import geometry

    rest = {key: value for key, value in rings.GEOMETRY.items() if key != "incident_energy"}
    found = geometry.find({**rest, **beam})
    assert found is not None
    assert found.wavelength == (None if wavelength is None else pytest.approx(wavelength, rel=1e-6))


def test_a_file_without_geometry_is_refused_with_what_to_do(tmp_path: Path) -> None:
    from tests.receiver.h5_file import write_series

    write_series(tmp_path / "plain.h5")
    done = subprocess.run(
        ["penstock", "integrate", str(tmp_path / "plain.h5")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "has no geometry: its stream's header must give distance" in done.stderr
    assert "detector_orientation has to be a turn about the beam" in done.stderr


def of_others(path: Path, poni: str) -> Path:
    """A virtual dataset of six frames of 100 counts each; the file of the last three is gone."""
    made = h5py.VirtualLayout((6, 64, 64), "u4")
    for number, name in enumerate(("there.h5", "gone.h5")):
        made[3 * number : 3 * number + 3] = h5py.VirtualSource(name, "data", (3, 64, 64), "u4")
    with h5py.File(path.parent / "there.h5", "w") as there:
        there["data"] = np.full((3, 64, 64), 100, "u4")
    with h5py.File(path, "w") as file:
        file.create_group("entry").attrs["NX_class"] = "NXentry"
        for group, nx_class in (("instrument", "NXinstrument"), ("instrument/camera", "NXdetector")):
            file["entry"].create_group(group).attrs["NX_class"] = nx_class
        file.create_virtual_dataset("entry/instrument/camera/data", made)
        file[f"entry/{PONI}"] = poni
    return path


def test_frames_of_a_file_of_others_that_are_away_are_left_out_and_said(tmp_path: Path) -> None:
    poni = {
        "poni_version": 2.1, "detector": "Detector", "dist": 0.1, "poni1": 0.0024, "poni2": 0.0024, "rot1": 0,
        "rot2": 0, "rot3": 0, "wavelength": 1e-10,
        "detector_config": {"pixel1": 75e-6, "pixel2": 75e-6, "max_shape": [64, 64], "orientation": 3},
    }  # fmt: skip
    found = integrate(of_others(tmp_path / "vds.h5", json.dumps(poni)), points=20)
    assert found.notes == ("mean of 3 of 6 frames (3 missing)",)
    has = found.curve.intensity[found.curve.count > 0]
    assert has == pytest.approx(100, rel=0.01), "counts, corrected for the solid angle"


def test_a_geometry_that_is_no_json_is_a_sentence(tmp_path: Path) -> None:
    path = of_others(tmp_path / "vds.h5", "Distance: 0.1")
    with pytest.raises(ReaderError, match=r"vds\.h5: .*no geometry that pyFAI reads .*keys of a \.poni file"):
        integrate(path)
