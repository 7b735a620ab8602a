"""What HDF5's own calls create is what h5py's high-level interface creates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.files.stores import objects

VALUES = {
    "text": "größe",
    "empty": "",
    "number": 1.5,
    "integer": np.int64(-3),
    "flag": np.bool_(True),
    "table": np.arange(6, dtype="uint16").reshape(2, 3),
    "turned": np.arange(6, dtype="float32").reshape(2, 3).T,
    "texts": ["a", "größe"],
}


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        yield file


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_dataset_and_an_attribute_are_like_those_of_h5py(file: Any, value: Any) -> None:
    file["high"] = value
    objects.create_value(file, "low", value)
    file["high"].attrs["value"] = value
    objects.set_attribute(file["low"], "value", value)

    high, low = file["high"], file["low"]

    assert low.id.get_type().equal(high.id.get_type())
    assert (low.shape, low.maxshape, low.chunks) == (high.shape, high.maxshape, high.chunks)
    np.testing.assert_array_equal(low[()], high[()])
    types = [item.attrs.get_id("value").get_type() for item in (low, high)]
    assert types[0].equal(types[1])
    np.testing.assert_array_equal(low.attrs["value"], high.attrs["value"])


def test_a_group_has_its_class_in_ascii(file: Any) -> None:
    group = objects.create_group(file, "entry", "NXentry")

    assert group == file["entry"]
    assert group.attrs["NX_class"] == "NXentry"
    assert group.attrs.get_id("NX_class").get_type().get_cset() == h5py.h5t.CSET_ASCII
    objects.set_attribute(group, "default", "data")
    assert group.attrs.get_id("default").get_type().get_cset() == h5py.h5t.CSET_UTF8


def test_an_attribute_is_replaced(file: Any) -> None:
    objects.set_attribute(file, "default", "entry")
    objects.set_attribute(file, "default", ["other", "one"])

    assert list(file.attrs["default"]) == ["other", "one"]


def test_a_number_and_a_text_of_fixed_length_are_changed(file: Any) -> None:
    objects.create_value(file, "count", np.int64(0))
    file.create_dataset("state", (), h5py.string_dtype("utf-8", 8))

    objects.write_number(file, "count", 2**48)
    objects.write_text(file, "state", "größer als zuvor")

    assert file["count"][()] == 2**48
    assert file["state"].asstr()[()] == "größer"
