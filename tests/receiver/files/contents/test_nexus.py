"""Metadata to places in the file."""

from __future__ import annotations

import json
import math
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.files.contents import nexus
from penstock.receiver.files.contents.nexus import Field, fields

DETECTOR = ("instrument", "sim-1")


def fields_of(metadata: dict[Any, Any], detector: str = "sim-1") -> dict[tuple[str, ...], Field]:
    """Fields by path; two with one path would be an error of the file."""
    found = list(fields(metadata, detector))
    assert len({field.path for field in found}) == len(found)
    return {field.path: field for field in found}


@pytest.mark.parametrize(
    ("key", "value", "units"),
    [
        ("count_time", 0.5, "s"),
        ("frame_time", 0.5, "s"),
        ("x_pixel_size", 75e-6, "m"),
        ("distance", 0.2, "m"),
        ("threshold_energy", 4000.0, "eV"),
    ],
)
def test_known_detector_key_goes_to_the_detector_with_its_unit(key: str, value: float, units: str) -> None:
    field = fields_of({key: value})[*DETECTOR, key]
    assert field.value == value
    assert field.units == units
    assert field.classes == ("NXinstrument", "NXdetector")


def test_energy_and_wavelength_go_to_the_beam() -> None:
    found = fields_of({"photon_energy": 8000.0, "wavelength": 1.55})
    assert found["instrument", "beam", "incident_energy"].units == "eV"
    assert found["instrument", "beam", "incident_wavelength"].units == "angstrom"
    assert found["instrument", "beam", "incident_energy"].classes == ("NXinstrument", "NXbeam")


def test_nexus_name_wins_over_its_alias_whatever_the_order() -> None:
    found = fields_of({"photon_energy": 1.0, "incident_energy": 2.0})
    assert found["instrument", "beam", "incident_energy"].value == 2.0
    assert found[*DETECTOR, "header", "photon_energy"].value == 1.0


def test_detector_called_beam_keeps_its_group() -> None:
    found = fields_of({"incident_energy": 1.0, "count_time": 1.0}, detector="beam")
    assert ("instrument", "beam", "count_time") in found
    assert ("instrument", "incident_beam", "incident_energy") in found


@pytest.mark.parametrize(
    "metadata",
    [
        {"distance": 0},
        {"distance": 0.0},
        {"incident_energy": 0.0},
        {"beam_center_x": 0.0, "beam_center_y": 0.0},
        {"description": ""},
        {"count_time": None},
        {"free": None},
    ],
)
def test_what_nobody_has_set_gives_no_field(metadata: dict[str, Any]) -> None:
    assert fields_of(metadata) == {}


def test_beam_centre_on_one_axis_is_kept() -> None:
    assert len(fields_of({"beam_center_x": 0.0, "beam_center_y": 10.0})) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("distance", "far"), ("count_time", [1, "a"]), ("count_time", True), ("pixel_mask", 3),
        ("flatfield_applied", "yes"), ("flatfield_applied", 2), ("description", 1.5),
    ],
)  # fmt: skip
def test_known_key_with_an_unfit_value_is_kept_in_header(key: str, value: Any) -> None:
    assert set(fields_of({key: value})) == {(*DETECTOR, "header", key)}


@pytest.mark.parametrize("key", sorted(nexus.RESERVED))
def test_key_of_the_writer_is_kept_in_header(key: str) -> None:
    assert set(fields_of({key: 1})) == {(*DETECTOR, "header", key)}


def test_header_object_and_keys_of_the_writer_share_the_header_collection() -> None:
    found = fields_of({"header": {"data": 1}, "data": 2})
    assert {field.value.item() for field in found.values()} == {1, 2}
    assert all(path[:3] == (*DETECTOR, "header") for path in found)


def test_object_becomes_a_collection() -> None:
    field = fields_of({"sample": {"name": "CeO2"}})[*DETECTOR, "sample", "name"]
    assert field.value == "CeO2"
    assert field.classes == ("NXinstrument", "NXdetector", "NXcollection")


@pytest.mark.parametrize(
    "value", [[], [1, "a"], [[1], [2, 3]], [True, 1], [{"a": 1}], [None], [2**64], [-1, 2**63], {}]
)
def test_what_hdf5_has_no_type_for_becomes_json_text(value: Any) -> None:
    assert json.loads(fields_of({"free": value})[*DETECTOR, "free"].value) == value


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1, 2], np.int64), ([2**63, 1], np.uint64), ([1, 2.5], np.float64), ([[True], [False]], np.bool_),
        (2**63, np.uint64), (-(2**63), np.int64), (1.5, np.float64), (True, np.bool_),
    ],
)  # fmt: skip
def test_numbers_and_rectangular_lists_keep_their_kind(value: Any, dtype: Any) -> None:
    written = fields_of({"free": value})[*DETECTOR, "free"].value
    assert isinstance(written, (np.ndarray, np.generic))
    assert written.dtype == dtype
    assert np.array_equal(written, value)


def test_integer_beyond_64_bits_becomes_text() -> None:
    assert fields_of({"free": 2**80})[*DETECTOR, "free"].value == str(2**80)
    assert isinstance(fields_of({"free": 10**5000})[*DETECTOR, "free"].value, str)


def test_keys_that_are_no_names_are_changed_and_told_apart() -> None:
    found = fields_of(
        {"a/b": 1, "a.b": 2, "a_b": 3, "": 4, ".": 5, "..": 6, "1x": 7, "temp °C": 8, "x" * 99: 9}
    )
    assert sorted(int(field.value) for field in found.values()) == list(range(1, 10))
    for path, field in found.items():
        assert nexus.name_of(path[-1]) == path[-1]
        assert field.long_name is not None or path[-1] == "a_b"
    assert found[*DETECTOR, "a_b"].long_name == "a/b"


def test_free_key_changed_to_a_known_name_does_not_take_its_place() -> None:
    found = fields_of({"count/time": 1, "count_time": 2.0})
    assert found[*DETECTOR, "count_time"].value == 2.0


def test_deep_object_is_kept_as_text() -> None:
    deep: dict[str, Any] = {"end": 1}
    for _ in range(500):
        deep = {"a": deep}
    [field] = fields(deep, "sim-1")
    assert len(field.path) <= nexus.MAX_DEPTH + 3
    assert isinstance(field.value, str)


def test_endless_object_ends() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    assert fields_of({"free": endless})


def test_everything_can_be_written_and_read_back() -> None:
    metadata: dict[Any, Any] = {
        "null": None, "mixed": [1, "a"], "empty": [], "huge": 2**90, "text": "a\0b", "half": "\ud800",
        "texts": ["a", "ü"], "nan": math.nan, "bytes": b"abc", "flag": True, "nested": {"": {"/": 1}},
        "key\0": 1, "key\ud800": 2, 7: "number as key", "mask": np.ones((3, 4), np.uint8),
        "complex": 1j, "objects": np.array([object()]), "big_endian": np.arange(3, dtype=">u2"),
    }  # fmt: skip
    with h5py.File("metadata.h5", "w", driver="core", backing_store=False) as file:
        for field in fields(metadata, "sim-1"):
            dataset = file.create_dataset("/".join(field.path), data=field.value)
            if field.long_name is not None:
                dataset.attrs["long_name"] = field.long_name
            assert dataset[()] is not None
        group = file["instrument/sim-1"]
        assert group["texts"].asstr()[...].tolist() == ["a", "ü"]
        assert group["text"].asstr()[()] == "a\ufffdb"
        assert "null" not in group


ENTRY_WORDS = {
    "title": "Rings of CeO2", "proposal": 20250001, "scan_id": 17, "sample": "CeO2", "beamline": "ForMAX",
    "user": {"name": "Astrid", "ORCID": "https://orcid.org/0000-0002-1825-0097", "shoe_size": 38},
    "source": {"name": "MAX IV", "type": "Synchrotron X-ray Source", "probe": "x-ray", "current": 0.4},
    "detector_was": "warm",
}  # fmt: skip


def test_what_a_user_says_of_the_experiment_goes_to_its_nexus_places_and_the_rest_stays() -> None:
    found = fields_of({"user": ENTRY_WORDS})
    assert {path: field.value for path, field in found.items()} == {
        ("title",): "Rings of CeO2",
        ("experiment_identifier",): "20250001",
        ("entry_identifier",): "17",
        ("sample", "name"): "CeO2",
        ("instrument", "name"): "ForMAX",
        ("user", "name"): "Astrid",
        ("user", "ORCID"): "https://orcid.org/0000-0002-1825-0097",
        ("instrument", "source", "name"): "MAX IV",
        ("instrument", "source", "type"): "Synchrotron X-ray Source",
        ("instrument", "source", "probe"): "x-ray",
        (*DETECTOR, "user", "user", "shoe_size"): 38,
        (*DETECTOR, "user", "source", "current"): 0.4,
        (*DETECTOR, "user", "detector_was"): "warm",
    }
    assert found["sample", "name"].classes == ("NXsample",)
    assert found["user", "name"].classes == ("NXuser",)
    assert found["instrument", "source", "name"].classes == ("NXinstrument", "NXsource")
    assert found[*DETECTOR, "user", "user", "shoe_size"].classes[2:] == ("NXcollection", "NXcollection")


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ({"sample": {"temperature": "cold"}}, ("user", "sample", "temperature")),
        ({"source": {"type": "a torch"}}, ("user", "source", "type")),
        ({"title": ["a", 1]}, ("user", "title")),
        ({"sample": 1.5}, ("user", "sample")),
        ({"scan_id": True}, ("user", "scan_id")),
    ],
)
def test_a_users_word_that_does_not_fit_its_place_stays(words: dict[str, Any], kept: tuple[str, ...]) -> None:
    assert set(fields_of({"user": words})) == {(*DETECTOR, *kept)}


def test_of_two_words_for_one_place_the_nexus_name_wins() -> None:
    found = fields_of({"user": {"scan_number": 3, "scan_id": 4, "entry_identifier": "e5", "title": None}})
    assert found["entry_identifier",].value == "e5"
    assert found[*DETECTOR, "user", "scan_id"].value == 4
    assert found[*DETECTOR, "user", "scan_number"].value == 3
    assert len(found) == 3


def test_how_a_series_was_taken_has_units() -> None:
    taken = {"trigger_mode": "SOFTWARE", "latency_time": 0.25, "rotation": 90, "fliplr": True, "other": 1}
    found = fields_of({"acquisition": taken, "acquisition_mode": "triggered"})
    group = (*DETECTOR, "acquisition")
    assert {path[-1]: field.value for path, field in found.items() if path[:-1] == group} == taken
    assert found[*group, "latency_time"].units == "s"
    assert found[*group, "rotation"].units == "deg"
    assert found[*group, "rotation"].classes[-1] == "NXcollection"
    assert found[*DETECTOR, "acquisition_mode"].value == "triggered"


@pytest.mark.parametrize(
    "value", ["x", 1, [1, 2], {}, {"sample": {}}, {"user": {"name": {}}}, {"a": {"b": {}}}]
)
def test_objects_of_known_keys_may_be_anything(value: Any) -> None:
    for key in ("user", "acquisition"):
        assert all(path[:3] == (*DETECTOR, key) for path in fields_of({key: value}))
        assert fields_of({key: value})


def test_a_detector_called_source_keeps_its_group() -> None:
    found = fields_of({"user": {"source": "MAX IV"}, "count_time": 1.0}, detector="source")
    assert set(found) == {("instrument", "beam_source", "name"), ("instrument", "source", "count_time")}


@pytest.mark.parametrize(("more", "whole"), [(0, False), (1, True)])
def test_more_than_5000_keys_at_any_depth_are_one_text(more: int, whole: bool) -> None:
    """Numbers, texts and objects in lists have no keys of their own that count."""
    metadata = {
        "numbers": list(range(9000)), "objects": [{"a": n} for n in range(9000)],
        "outer": {"inner": {f"k{number}": number for number in range(2000)}},
        **{f"top{number}": {"x": number} for number in range(1498 + more)},
    }  # fmt: skip
    # 2 lists, outer, inner, 2000 in it; 1498 objects of one key: 2 + 2 + 2000 + 2996 = 5000.
    found = list(nexus.fields(metadata, "sim"))
    if not whole:
        assert len(found) == 2 + 2000 + 1498
        return
    (field,) = found
    assert field.path == ("instrument", "sim", "metadata")
    assert json.loads(str(field.value)) == metadata


def test_names_that_thousands_of_keys_share_are_numbered_in_turn() -> None:
    keys = [chr(0x4E00 + number) for number in range(4000)]
    found = [field.path[-1] for field in nexus.fields(dict.fromkeys(keys, 1), "sim")]
    assert found[:3] == ["_", "__2", "__3"] and found[-1] == "__4000" and len(set(found)) == 4000
