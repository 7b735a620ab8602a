"""What an EIGER 1M said in its start message stands in the file: each key by its NeXus name, value and unit.

The recordings are read here without Penstock: JSON, CBOR and arrays as they lie in the messages.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cbor2
import h5py
import numpy as np
import pyFAI
import pytest

from penstock.cli._powder import integrator
from penstock.cli._recordings.recording import read, write
from penstock.receiver.reading.reader import SeriesFile
from tests.data import EIGER_V1, EIGER_V2, recording
from tests.recordings.programs import replay
from tests.recordings.series import Series

DETECTOR = "entry/instrument/eiger_1"
BEAM = "entry/instrument/beam"

V1 = {
    "bit_depth_readout": (DETECTOR, "bit_depth_readout", None),
    "count_time": (DETECTOR, "count_time", "s"),
    "countrate_correction_applied": (DETECTOR, "countrate_correction_applied", None),
    "countrate_correction_count_cutoff": (DETECTOR, "saturation_value", None),
    "description": (DETECTOR, "description", None),
    "detector_number": (DETECTOR, "serial_number", None),
    "detector_readout_time": (DETECTOR, "detector_readout_time", "s"),
    "flatfield_correction_applied": (DETECTOR, "flatfield_applied", None),
    "frame_time": (DETECTOR, "frame_time", "s"),
    "photon_energy": (BEAM, "incident_energy", "eV"),
    "pixel_mask_applied": (DETECTOR, "pixel_mask_applied", None),
    "sensor_material": (DETECTOR, "sensor_material", None),
    "sensor_thickness": (DETECTOR, "sensor_thickness", "m"),
    "threshold_energy": (DETECTOR, "threshold_energy", "eV"),
    "virtual_pixel_correction_applied": (DETECTOR, "virtual_pixel_interpolation_applied", None),
    "wavelength": (BEAM, "incident_wavelength", "angstrom"),
    "x_pixel_size": (DETECTOR, "x_pixel_size", "m"),
    "y_pixel_size": (DETECTOR, "y_pixel_size", "m"),
}
V2 = {
    "count_time": (DETECTOR, "count_time", "s"),
    "countrate_correction_enabled": (DETECTOR, "countrate_correction_applied", None),
    "countrate_correction_lookup_table": (DETECTOR, "countrate_correction_lookup_table", None),
    "detector_description": (DETECTOR, "description", None),
    "detector_serial_number": (DETECTOR, "serial_number", None),
    "flatfield": (DETECTOR, "flatfield", None),
    "flatfield_enabled": (DETECTOR, "flatfield_applied", None),
    "frame_time": (DETECTOR, "frame_time", "s"),
    "incident_energy": (BEAM, "incident_energy", "eV"),
    "incident_wavelength": (BEAM, "incident_wavelength", "angstrom"),
    "pixel_mask": (DETECTOR, "pixel_mask", None),
    "pixel_mask_enabled": (DETECTOR, "pixel_mask_applied", None),
    "pixel_size_x": (DETECTOR, "x_pixel_size", "m"),
    "pixel_size_y": (DETECTOR, "y_pixel_size", "m"),
    "saturation_value": (DETECTOR, "saturation_value", None),
    "sensor_material": (DETECTOR, "sensor_material", None),
    "sensor_thickness": (DETECTOR, "sensor_thickness", "m"),
    "threshold_energy": (DETECTOR, "threshold_energy", "eV"),
    "virtual_pixel_interpolation_enabled": (DETECTOR, "virtual_pixel_interpolation_applied", None),
}
UNSET = {"beam_center_x", "beam_center_y", "detector_distance"}
"""All 0.0 in both recordings: nobody had set them, and a file that says 0 m would be wrong."""
ELSEWHERE = {"type", "series_id", "series_unique_id", "user_data"}
"""V2: the message itself, the series' id, and the user's own words, which have groups of their own."""


def first_message(capture: Path) -> list[bytes]:
    with gzip.open(capture) as stream:
        return list(cbor2.CBORDecoder(stream).decode())


def plain(value: Any) -> Any:
    """CBOR's arrays and maps of one channel as NumPy's arrays and values."""
    if isinstance(value, Mapping) and list(value) == ["threshold_1"]:
        return plain(value["threshold_1"])
    if isinstance(value, cbor2.CBORTag) and value.tag == 40:
        shape, array = value.value
        return plain(array).reshape(shape)
    if isinstance(value, cbor2.CBORTag):
        return np.frombuffer(value.value, {69: "<u2", 70: "<u4", 85: "<f4"}[value.tag])
    return value


def sent(series: Series) -> dict[str, Any]:
    """The detector's configuration as the recording has it."""
    first, *rest = first_message(series.capture)
    if series.kind == "dectris-v1":
        return dict(json.loads(rest[0]))
    message = cbor2.loads(first)
    return {key: plain(value) for key, value in message.items() if key not in ELSEWHERE}


def stored(file: h5py.File, path: str) -> Any:
    dataset = file[path]
    return dataset.asstr()[()] if h5py.check_string_dtype(dataset.dtype) else dataset[()]


def test_each_key_with_a_nexus_name_has_its_value_and_unit(series: Series) -> None:
    table = V1 if series.kind == "dectris-v1" else V2
    configuration = sent(series)
    assert set(table) <= set(configuration)
    with h5py.File(series.file) as file:
        for key, (group, name, units) in table.items():
            assert np.array_equal(stored(file, f"{group}/{name}"), configuration[key]), key
            assert file[f"{group}/{name}"].attrs.get("units") == units, key
        assert file[DETECTOR].attrs["NX_class"] == "NXdetector"
        assert file[BEAM].attrs["NX_class"] == "NXbeam"


def test_every_other_key_is_kept_in_the_vendors_collection(series: Series) -> None:
    table = V1 if series.kind == "dectris-v1" else V2
    configuration = sent(series)
    others = set(configuration) - set(table) - UNSET
    with h5py.File(series.file) as file:
        vendor = file[f"{DETECTOR}/vendor"]
        assert vendor.attrs["NX_class"] == "NXcollection"
        for key in others:
            if configuration[key] != "":
                value = configuration[key]
                value = value.isoformat() if hasattr(value, "isoformat") else value
                found = stored(file, f"{vendor.name}/{key}")
                assert np.array_equal(found, value), key
        assert set(vendor) <= others


def test_what_nobody_has_set_is_not_in_the_file(series: Series) -> None:
    configuration = sent(series)
    assert all(configuration.get(key, 0.0) == 0.0 for key in UNSET)
    with h5py.File(series.file) as file:
        for name in ("distance", "beam_center_x", "beam_center_y", "depends_on", "transformations"):
            assert name not in file[DETECTOR]
        assert "pyFAI" not in file["entry"]


@pytest.mark.parametrize("series", [(EIGER_V1, "dectris-v1")], indirect=True)
def test_the_tables_of_v1_are_those_of_its_message(series: Series) -> None:
    _, _, *parts, _ = first_message(series.capture)
    names = {
        "dflatfield-1.0": "flatfield", "dpixelmask-1.0": "pixel_mask",
        "dcountrate_table-1.0": "countrate_correction_lookup_table",
    }  # fmt: skip
    found = set()
    with h5py.File(series.file) as file:
        for head, blob in zip(parts[::2], parts[1::2], strict=True):
            header = json.loads(head)
            columns, rows = header["shape"]
            array = np.frombuffer(blob, np.dtype(header["type"])).reshape(rows, columns)
            name = names[header["htype"]]
            assert np.array_equal(file[DETECTOR][name][()], array)
            assert file[DETECTOR][name].dtype == array.dtype
            found.add(name)
    assert found == set(names.values())


@pytest.mark.parametrize("series", [(EIGER_V2, "dectris-v2")], indirect=True)
def test_the_users_own_words_are_in_the_file(series: Series) -> None:
    message = cbor2.loads(first_message(series.capture)[0])
    user = json.loads(message["user_data"])
    places = {
        "sample_name": "entry/sample/name", "instrument_name": "entry/instrument/name",
        "source_name": "entry/instrument/source/name", "user": "entry/user/name",
    }  # fmt: skip
    assert set(places) <= set(user)
    with h5py.File(series.file) as file:
        for key, value in user.items():
            if not isinstance(value, dict) and value not in ("", None, []):
                place = places.get(key, f"{DETECTOR}/user/{key}")
                assert np.array_equal(stored(file, place), value), key
        assert not set(places) & set(file[f"{DETECTOR}/user"])


def with_geometry(message: list[bytes]) -> list[bytes]:
    """The start message of a control unit at which somebody has set beam centre and distance."""
    if len(message) > 1:
        configuration = json.loads(message[1])
        configuration |= {"beam_center_x": 515.5, "beam_center_y": 530.25, "detector_distance": 0.2}
        return [message[0], json.dumps(configuration).encode(), *message[2:]]
    start = {**cbor2.loads(message[0])}
    start |= {"beam_center_x": 515.5, "beam_center_y": 530.25, "detector_translation": [0.01, 0.0, 0.2]}
    return [cbor2.dumps(start, datetime_as_timestamp=False)]


@pytest.mark.parametrize("name", [EIGER_V1, EIGER_V2])
@pytest.mark.slow
def test_geometry_set_at_the_control_unit_is_what_pyfai_integrates_with(name: str, tmp_path: Path) -> None:
    messages = iter(read(recording(name)))
    write(tmp_path / "set.cborseq", [with_geometry(next(messages)), next(messages)])
    file = tmp_path / "data" / "set.h5"
    replay(tmp_path / "set.cborseq", file.parent, "--filename", str(file))
    with h5py.File(file) as opened:
        detector = opened[DETECTOR]
        for key, value, units in (
            ("distance", 0.2, "m"), ("beam_center_x", 515.5, "pixel"), ("beam_center_y", 530.25, "pixel"),
        ):  # fmt: skip
            assert detector[key][()] == value
            assert detector[key].attrs["units"] == units
        ai = pyFAI.load(json.loads(opened["entry/pyFAI/poni/data"][()]))
        mask = detector["pixel_mask"][()]
    assert ai.wavelength == pytest.approx(1.5498024804150032e-10)
    assert ai.tth(np.array([529.75]), np.array([515.0]))[0] == pytest.approx(0, abs=1e-9)
    assert ai.tth(np.array([529.75]), np.array([1015.0]))[0] == pytest.approx(np.arctan(500 * 75e-6 / 0.2))
    with SeriesFile(file) as series:
        assert np.array_equal(integrator(series).detector.mask, mask != 0)
