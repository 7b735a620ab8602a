"""What DIALS, xia2 and XDS look for in a file: NXmx with its goniometer, DECTRIS' names for the detector."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files.contents.nxmx import Axis, goniometer
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.running_series import RunningSeries
from tests.receiver.files.written import DETECTOR, Written, packed
from tests.receiver.sample_series import frame, start
from tests.streams import pixels
from tests.third_party import read_nxmx

MASK = np.zeros((4, 6), np.uint32)
MASK[1, 2] = 1
METADATA: dict[str, Any] = {
    "beam_center_x": 2.5, "beam_center_y": 1.5, "distance": 0.2, "x_pixel_size": 7.5e-5,
    "y_pixel_size": 7.5e-5, "incident_energy": 12_398.41984, "sensor_material": "Si",
    "sensor_thickness": 4.5e-4, "saturation_value": 60_000, "frame_time": 0.01, "pixel_mask": MASK,
    "goniometer": {
        "omega": {"start": 90.0, "increment": 0.1}, "chi": {"start": 0.0, "increment": 0.0},
        "phi": {"start": 10.0, "increment": 0.0}, "two_theta": {"start": 5.0, "increment": 0.0},
    },
}  # fmt: skip
SAMPLE = "entry/sample"
TURNED = f"{SAMPLE}/transformations"


def written(path: Path, frames: int = 4, taken: int = 4, metadata: Any = METADATA, **writing: Any) -> Path:
    series = Written(path, start(frames=frames, metadata=metadata), **writing)
    series.add(*(packed(number) for number in range(taken)))
    series.close("enough")
    return path


OMEGA, PHI = Axis("omega", 90.0, 0.1, (-1, 0, 0)), Axis("phi", 10.0, 0.0, (-1, 0, 0))


@pytest.mark.parametrize(
    ("metadata", "axes"),
    [
        ({}, []),
        ({"goniometer": "omega"}, []),
        ({"goniometer": {"omega": {"start": "far"}}}, []),
        ({"goniometer": {"omega": {"start": float("nan")}}}, []),
        (METADATA, [OMEGA, PHI]),
        ({"goniometer": {"phi": {"start": 10}, "omega": {"start": 90, "increment": 0.1}}}, [OMEGA, PHI]),
        ({"user": {"goniometer": {"phi": {"start": 10}}}, "goniometer": METADATA["goniometer"]}, [PHI]),
        # Where nothing is turned, omega alone says so.
        ({"goniometer": {name: {"start": 0, "increment": 0} for name in ("omega", "phi")}},
         [Axis("omega", 0.0, 0.0, (-1, 0, 0))]),
        # Kappa's direction is not the same everywhere.
        ({"goniometer": {"kappa": {"start": 30}, "phi": {"start": 10}}}, [PHI]),
        ({"goniometer": {"kappa": {"start": 30, "axis": [0.6, 0, 0.8]}}},
         [Axis("kappa", 30.0, 0.0, (0.6, 0.0, 0.8))]),
        ({"goniometer": {"omega": {"start": 1, "axis": [0, 0, 0]}}}, [Axis("omega", 1.0, 0.0, (-1, 0, 0))]),
        ({"goniometer": {"omega": {"start": 1, "axis": [0, 1, 0]}}}, [Axis("omega", 1.0, 0.0, (0, 1, 0))]),
    ],
)  # fmt: skip
def test_the_axes_are_those_of_the_user_or_the_header(metadata: dict[str, Any], axes: list[Axis]) -> None:
    assert goniometer(metadata) == axes


@pytest.mark.parametrize(
    "writing", [{}, {"swmr": True}, {"frames_per_file": 3}], ids=["plain", "swmr", "segments"]
)
def test_the_sample_has_an_angle_for_each_frame_that_was_taken(writing: dict[str, Any], path: Path) -> None:
    with h5py.File(written(path, frames=2**48 if not writing else 9, **writing)) as file:
        assert file["entry/definition"].asstr()[()] == "NXmx"
        assert file[SAMPLE].attrs["NX_class"] == "NXsample"
        assert file[f"{SAMPLE}/depends_on"].asstr()[()] == f"/{TURNED}/phi"
        phi, omega = file[f"{TURNED}/phi"], file[f"{TURNED}/omega"]
        assert (phi.attrs["depends_on"], omega.attrs["depends_on"]) == (f"/{TURNED}/omega", ".")
        assert phi[:].tolist() == [10.0]
        np.testing.assert_allclose(omega[:], [90.0, 90.1, 90.2, 90.3])
        np.testing.assert_allclose(file[f"{TURNED}/omega_end"][:], [90.1, 90.2, 90.3, 90.4])
        assert (omega.attrs["transformation_type"], omega.attrs["units"]) == ("rotation", "deg")
        assert omega.attrs["vector"].tolist() == [-1, 0, 0]
        assert "two_theta" not in file[TURNED], "it turns the detector"


def test_the_file_of_a_killed_writer_has_them_once_it_is_marked(path: Path) -> None:
    series = Written(path, start(frames=9, metadata=METADATA))
    series.add(*(packed(number) for number in range(3)))
    series.writer.flush()
    killed = Path(shutil.copy(path, path.with_name("killed.h5")))
    series.close("ended meanwhile")
    mark_interrupted(killed, "killed")
    with h5py.File(killed) as file:
        np.testing.assert_allclose(file[f"{TURNED}/omega"][:], [90.0, 90.1, 90.2])
        assert file[f"{DETECTOR}/detectorSpecific/nimages"][()] == 3


def test_xds_finds_the_detector_by_the_name_that_it_knows(path: Path) -> None:
    with h5py.File(written(path, frames=9)) as file:
        found = file["entry/instrument/detector/detectorSpecific"]
        assert (found["nimages"][()] * found["ntrigger"][()], found["nimages"].dtype) == (4, "uint64")
        np.testing.assert_array_equal(found["pixel_mask"][:], MASK)
        assert file["entry/instrument/detector/x_pixel_size"][()] == 7.5e-5
        frames = file["entry/data/data_000001"]
        assert frames.chunks == (1, 4, 6)
        np.testing.assert_array_equal(frames[3], pixels(3))
    with SeriesFile(path) as file:
        assert file.detector == "sim_1"
        assert len(file) == 4


@pytest.mark.parametrize(
    ("keys", "is_linked"),
    [
        ({}, True),
        ({"swmr": True}, True),
        ({"files": 2}, False),
        ({"frames": 9}, True),  # four were taken, and no more triggered
        ({"lost": 1}, False),
        ({"frames_per_file": 3}, False),
        ({"metadata": {}}, False),
        ({"plain": True}, False),
    ],
    ids=str,
)
def test_durin_finds_packed_frames_of_a_file_without_gaps_by_the_name_for_which_it_needs_no_plugin(
    keys: dict[str, Any], is_linked: bool, path: Path
) -> None:
    writing = {name: keys[name] for name in ("swmr", "files", "frames_per_file") if name in keys}
    series = Written(
        path, start(frames=keys.get("frames", 4), metadata=keys.get("metadata", METADATA)), **writing
    )
    make = (lambda number: frame(number)) if "plain" in keys else packed
    series.add(*(make(number) for number in range(4) if number != keys.get("lost")))
    series.close("enough", triggered=4)
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert ("data_000001" in group) == is_linked
        # Nobody sees a frame twice: silx shows what NXdata has as its signal, our reader `data`.
        assert file["entry/data"].attrs["signal"] == "data"
        if is_linked:
            # What durin asks for: one chunk per frame, and five numbers of the filter, the third the size of
            # a pixel, the fifth LZ4; then a block size in the chunk that is not 0.
            block = group["data_000001"]
            assert (block, block.chunks) == (group["data"], (1, 4, 6))
            number, _, options, _ = block.id.get_create_plist().get_filter(0)
            assert (number, len(options), options[2], options[4]) == (32008, 5, 2, 2)
            for index in range(4):
                mask, chunk = block.id.read_direct_chunk((index, 0, 0))
                assert (mask, chunk[:8], chunk[8:12] > bytes(4)) == (0, (48).to_bytes(8, "big"), True)
    with SeriesFile(path) as found:
        assert len(found) == 4
        assert {each.kind for each in check_series(found).findings} <= {"incomplete"}
    with open_frames(path) as frames:
        assert frames.shape == (4, 4, 6)
        assert frames.choices == ()


def test_a_detector_that_is_called_so_needs_no_link(path: Path) -> None:
    series = RunningSeries(start(frames=1, metadata=METADATA))
    writer = SeriesWriter(path, "detector", series, "")
    writer.add(0, frame(0))
    writer.close(series.close("enough"), synced=False)
    with h5py.File(path) as file:
        assert list(file["entry/instrument"]) == ["beam", "detector"]


def test_classes_and_units_of_pixels_are_ascii_as_durin_reads_them(path: Path) -> None:
    series = RunningSeries(start(frames=1, metadata=METADATA))
    series.rois = RegionSeries(series.id, {"peak": Rectangle(0, 0, 2, 2)}, {})
    writer = SeriesWriter(path, "sim-1", series, "")
    writer.add(0, frame(0))
    writer.close(series.close("enough"), synced=False)
    encodings: dict[str, int] = {}

    def look(name: str, item: Any) -> None:
        for key in ("NX_class", "units"):
            if key in item.attrs and (key == "NX_class" or name.endswith("pixel_size")):
                encodings[f"{name}@{key}"] = item.attrs.get_id(key).get_type().get_cset()

    with h5py.File(path) as file:
        look("", file)
        file.visititems(look)
    assert "entry/instrument/sim_1/rois/peak@NX_class" in encodings
    assert set(encodings.values()) == {h5py.h5t.CSET_ASCII}, encodings


def test_without_a_wavelength_a_file_does_not_claim_to_be_nxmx(path: Path) -> None:
    metadata = {key: value for key, value in METADATA.items() if key != "incident_energy"}
    with h5py.File(written(path, metadata=metadata)) as file:
        assert "definition" not in file["entry"]
        assert "detector" not in file["entry/instrument"]


def test_what_the_sender_has_said_stays(path: Path) -> None:
    sent = {**METADATA, "underload_value": 3, "incident_wavelength": 1.5, "user": {"sample": "lysozyme"}}
    with h5py.File(written(path, metadata=sent)) as file:
        assert file[f"{DETECTOR}/underload_value"][()] == 3
        assert file["entry/instrument/beam/incident_wavelength"][()] == 1.5
        assert file[f"{SAMPLE}/name"].asstr()[()] == "lysozyme"
        assert file[f"{SAMPLE}/depends_on"].asstr()[()] == f"/{TURNED}/phi"


@pytest.mark.slow
def test_nxmx_reads_beam_detector_axes_and_mask(path: Path) -> None:
    assert read_nxmx(written(path)) == {
        "definition": "NXmx", "wavelength": 1.0, "distance": 200.0, "saturation": 60_000, "underload": 0,
        "bit_depth": 16, "masked": [[1, 2]], "size": [4, 6], "sensor": ["Si", 0.45],
        "origin": [0.1875, 0.1125, 200.0], "axes": ["phi", "omega"], "scan_axis": [False, True],
        "angles": [10.0, 90.0], "steps": [0.1, 0.1, 0.1],
    }  # fmt: skip
