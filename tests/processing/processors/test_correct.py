"""Corrected pixels are what later steps see; what cannot be applied is a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import fabio.edfimage
import fabio.tifimage
import h5py
import numpy as np
import pytest

from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.processors.correct import Correct
from penstock.processing.series import from_start
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.parameters import ParameterError
from penstock.stins.messages import Header
from tests.processing.processors.built_in import Made, begun, saved
from tests.processing.worker.worker_process import frame

SHAPE = (7, 9)
RNG = np.random.default_rng(8)
IMAGE = RNG.integers(0, 1000, SHAPE).astype(np.uint16)
DARK = RNG.normal(5, 1, SHAPE).astype(np.float32)
FLAT = RNG.uniform(0.5, 2, SHAPE).astype(np.float32)


def sums(made: Made) -> np.ndarray[Any, Any]:
    return made.totals()["sum_image"]


def corrected(metadata: dict[str, Any] | None = None, **parameters: Any) -> Made:
    """Frames behind `correct`, summed by the step behind it."""
    return begun([("correct", parameters), ("images", {"images": ["sum"]})], metadata=metadata)


def test_the_next_step_sees_dark_subtracted_flat_divided_and_masked_pixels_as_nan(tmp_path: Path) -> None:
    flat = FLAT.copy()
    flat[0, 0], flat[1, 1] = 0, np.nan
    mask = np.zeros(SHAPE, int)
    mask[2, 3] = 4
    made = corrected(
        {"pixel_mask": mask.tolist()}, dark=str(saved(tmp_path / "d.npy", DARK)),
        flat=str(saved(tmp_path / "f.npy", flat)),
    ).take([IMAGE])  # fmt: skip
    truth = (IMAGE.astype(np.float64) - DARK) / FLAT
    truth[0, 0] = truth[1, 1] = truth[2, 3] = np.nan
    np.testing.assert_allclose(sums(made), truth, rtol=1e-6)


def test_pixels_are_float32_for_the_next_step() -> None:
    made = begun([("correct", {}), ("images", {"images": ["max"]})]).take([IMAGE])
    found = made.totals()["max_image"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, IMAGE)


@pytest.mark.parametrize("applied", [True, False])
def test_a_flat_field_is_not_applied_twice(tmp_path: Path, applied: bool) -> None:
    flat = str(saved(tmp_path / "f.npy", FLAT))
    made = corrected({"flatfield_applied": applied}, flat=flat).take([IMAGE])
    np.testing.assert_allclose(sums(made), IMAGE if applied else IMAGE / FLAT.astype(float), rtol=1e-6)


@pytest.mark.parametrize("masked", [True, False])
def test_masked_pixels_may_stay(masked: bool) -> None:
    metadata = {"pixel_mask": np.ones(SHAPE, int).tolist()}
    correct = Correct()
    correct.mask = masked
    correct.configure()
    correct.start(from_start(Header(filename=""), [json.dumps(metadata).encode()]))
    header, *blobs = frame(IMAGE, 0)
    given = Frame(0, (header, blobs), Pool())
    correct.process(given)
    np.testing.assert_array_equal(given.pixels, np.full(SHAPE, np.nan) if masked else IMAGE)


def test_saturated_pixels_and_those_without_a_value_are_nan() -> None:
    image = np.array([[-2, -1, 0], [5, 99, 100]], np.int32)
    metadata = {"underload_value": 0, "saturation_value": 100}
    found = sums(corrected(metadata).take([image]))
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 0], [5, 99, np.nan]])


def test_missing_pixels_are_nan_and_frames_do_not_share_memory() -> None:
    missing = IMAGE.copy()
    missing[3] = 65535
    parts = frame(missing, 0, partial="module 1 did not arrive")
    made = begun([("correct", {}), ("regions", {})]).take([parts])
    assert made.of("total") == []  # a partial frame has none
    other = begun([("correct", {}), ("images", {"images": ["max", "min"]})]).take(
        [IMAGE, IMAGE + 1, IMAGE + 2]
    )
    found = other.totals()
    np.testing.assert_array_equal(found["max_image"], IMAGE + 2.0)
    np.testing.assert_array_equal(found["min_image"], IMAGE)


def test_each_channel_is_corrected() -> None:
    both = np.stack([IMAGE, IMAGE + 7])
    given = frame(both, 0, [each.tobytes() for each in both])
    np.testing.assert_array_equal(sums(corrected().take([given])), both)


def written(path: Path) -> str:
    """Write DARK as what its name says."""
    match path.suffix:
        case ".npy":
            np.save(path, DARK)
        case ".h5":
            with h5py.File(path, "w") as file:
                file["entry/a/dark"] = np.stack([DARK - 1, DARK + 1])
            return f"{path}::/entry/a/dark"
        case ".nxs":
            with h5py.File(path, "w") as file:
                group = file.create_group("entry")
                group.attrs.update(NX_class="NXentry", default="data")
                data = group.create_group("data")
                data.attrs.update(NX_class="NXdata", signal="data")
                data["data"] = np.stack([DARK - 1, DARK + 1])
        case ".tif":
            fabio.tifimage.TifImage(data=DARK).write(path)
        case ".edf":
            fabio.edfimage.EdfImage(data=DARK).write(path)
    return str(path)


@pytest.mark.parametrize("suffix", [".npy", ".h5", ".nxs", ".tif", ".edf"])
def test_a_dark_is_read_from_each_kind_of_file(tmp_path: Path, suffix: str) -> None:
    made = corrected(dark=written(tmp_path / f"dark{suffix}")).take([IMAGE])
    np.testing.assert_allclose(sums(made), IMAGE - DARK.astype(np.float64), atol=1e-3)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = saved(tmp_path / "d.npy", np.ones(SHAPE, np.float32))
    assert sums(corrected(dark=str(path)).take([IMAGE]))[0, 0] == IMAGE[0, 0] - 1
    saved(path, np.full(SHAPE, 2.0))
    assert sums(corrected(dark=str(path)).take([IMAGE]))[0, 0] == IMAGE[0, 0] - 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.npy", "none.npy: No such file or directory; the file has to be where the workers run"),
        ("text.npy", "text.npy cannot be read"),
        ("empty.npy", "empty.npy cannot be read: No data left in file"),
        ("text.tif", "text.tif is neither HDF5 nor an image that is read here (CBF, TIFF, EDF)"),
        ("line.npy", "line.npy has [4] of float64; give an image of numbers, [rows, cols]"),
        ("some.h5::/nothing", "some.h5 cannot be read"),
        ("some.h5::/entry", "/entry is a group; give a dataset in it"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_refuses_the_parameters(tmp_path: Path, name: str, sentence: str) -> None:
    for text in ("text.npy", "text.tif"):
        (tmp_path / text).write_text("no image")
    (tmp_path / "empty.npy").touch()
    saved(tmp_path / "line.npy", np.zeros(4))
    with h5py.File(tmp_path / "some.h5", "w") as file:
        file["entry/x"] = 1
    with pytest.raises(Refusal, match=re.escape(sentence)) as refused:
        corrected(dark=str(tmp_path / name))
    assert ".py, line" not in str(refused.value) and "Error: " not in str(refused.value)


def test_a_relative_path_and_another_shape_are_said(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="dark is dark.npy: workers run in folders of their own"):
        corrected(dark="dark.npy")
    with pytest.raises(ParameterError, match="is dark meant?"):
        corrected(darks="dark.npy")
    flat = str(saved(tmp_path / "f.npy", FLAT[1:]))
    made = corrected(flat=flat).take([IMAGE])
    assert made.errors[0].startswith(
        f"flat {flat} has [6, 9] pixels, the frames [7, 9]; take it with the same region"
    )
    assert ".py, line" not in made.errors[0]
