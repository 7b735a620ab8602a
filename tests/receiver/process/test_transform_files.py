"""Darks and flat fields from files with frames: the mean of those that are stored."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import fabio
import h5py
import msgspec
import numpy as np
import pytest

from penstock.receiver.process import transform_files
from penstock.receiver.transforms.steps import Transform
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.format import TransformConfigError
from penstock.stins.messages import Frame
from tests.receiver.pixels import pixels as unpacked
from tests.streams import image

GAP = 2**32 - 1
NAN = np.nan


def frames(path: Path, stored: dict[int, list[list[int]]], count: int = 3) -> Path:
    """A file of another program: only some frames are ever written."""
    with h5py.File(path, "w") as file:
        group = file.create_group("entry/data")
        file["entry"].attrs.update(NX_class="NXentry", default="data")
        group.attrs.update(NX_class="NXdata", signal="data")
        data = group.create_dataset("data", (count, 1, 3), "uint32", chunks=(1, 1, 3))
        for index, pixels in stored.items():
            data[index] = pixels
        file.create_dataset("entry/other", data=np.array([[1, 2, 3]], "uint16"))
        file.create_dataset("entry/empty", (1, 3), "uint16", chunks=(1, 3))
    return path


@pytest.mark.parametrize("place", ["", "::/entry/data/data"])
def test_a_dark_is_the_mean_of_the_frames_that_were_stored(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = frames(tmp_path / "dark.h5", {1: [[2, 10, GAP]], 2: [[4, GAP, GAP]]})
    with caplog.at_level(logging.INFO):
        found = transform_files.read_and_log(f"{path}{place}", "dark_flat")
    np.testing.assert_array_equal(found, np.array([[3, 10, NAN]], "float32"))
    assert [each.message for each in caplog.records] == [
        f"dark_flat: {path}{place}: mean of 2 of 3 frames (1 missing)"
    ]


def test_a_corrected_pixel_has_no_value_where_the_dark_has_none(tmp_path: Path) -> None:
    path = frames(tmp_path / "dark.h5", {1: [[2, 10, GAP]], 2: [[4, GAP, GAP]]})
    steps = msgspec.convert([{"type": "dark_flat", "dark": str(path)}], list[Transform])
    sent = np.array([[7, 7, 7]], "uint32")
    made = Chain(steps, read=transform_files.read).apply(Frame(image(0, sent), [sent.tobytes()]))
    np.testing.assert_array_equal(unpacked(made), np.array([[4, -3, NAN]], "float32"))


def test_a_dark_is_read_anew_once_its_file_has_changed(tmp_path: Path) -> None:
    path = frames(tmp_path / "dark.h5", {0: [[1, 1, 1]]})
    assert transform_files.read(str(path), "dark_flat").tolist() == [[1, 1, 1]]
    frames(path, {0: [[3, 3, 3]], 1: [[5, 5, 5]]}, count=2)
    assert transform_files.read(str(path), "dark_flat").tolist() == [[4, 4, 4]]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("", "dark.h5 has no stored frame: 0 of 3 frames (3 missing)"),
        ("::/entry/data/data", "dark.h5 has no stored frame: 0 of 3 frames (3 missing)"),
        ("::/entry/empty", "dark.h5 has no stored frame: 0 of 1 frame (1 missing)"),
        ("::/entry/data", "/entry/data is a group"),
        ("::/entry/nothing", "nothing"),
    ],
)
def test_a_dark_that_was_never_written_is_refused(tmp_path: Path, place: str, why: str) -> None:
    path = frames(tmp_path / "dark.h5", {})
    with pytest.raises(TransformConfigError, match="dark.h5.* cannot be read") as refused:
        transform_files.read(f"{path}{place}", "dark_flat")
    assert why in str(refused.value)


@pytest.mark.parametrize(("name", "left"), [("entry/other", [[1, 2, 3]]), ("dark.edf", [[3, 7]])])
def test_an_image_in_a_file_and_frames_of_another_kind(tmp_path: Path, name: str, left: Any) -> None:
    path = f"{frames(tmp_path / 'dark.h5', {})}::/{name}"
    if name == "dark.edf":
        path = str(tmp_path / name)
        edf = fabio.edfimage.EdfImage(data=np.array([[2, 4]], "uint16"))
        edf.append_frame(data=np.array([[4, 10]], "uint16"))
        edf.write(path)
    assert transform_files.read(path, "dark_flat").tolist() == left
