"""A dark, flat field, gain or mask of a file of ours: of the frames that it has, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.processing.azimuthal import kept
from penstock.processing.worker.configuring import Refusal
from penstock.stins.messages import Frame
from tests.processing.azimuthal.compared import make_here
from tests.processing.processors.built_in import Made, begun
from tests.receiver.files.stores.written import Written
from tests.receiver.sample_series import start
from tests.streams import image

IMAGE = np.array([[110, 110, 110], [110, 110, 110]], np.uint16)


def series_file(
    path: Path, frames: dict[int, Any], planned: int, metadata: dict[str, Any] | None = None, **end: Any
) -> str:
    """A series of Penstock with some of its frames."""
    opening = start(frames=planned, metadata=metadata or {})
    written = Written(path, opening)
    for index, values in frames.items():
        pixels = np.array(values, np.uint16)
        written.add(Frame(image(index, pixels, series="a"), [pixels.tobytes()]))
    written.close(**{"triggered": planned} | end)
    return str(path)


def corrected(metadata: dict[str, Any] | None = None, **parameters: Any) -> Made:
    return begun([("correct", parameters), ("images", {"images": ["mean"]})], metadata=metadata)


def mean(made: Made) -> list[list[float]]:
    found: list[list[float]] = made.take([IMAGE]).totals()["mean_image"].tolist()
    return found


def notes(made: Made) -> list[str]:
    return [note for step in made.run._steps for note in step._notes]


def test_frames_that_are_missing_are_not_in_a_dark(tmp_path: Path) -> None:
    ten = [[10] * 3] * 2
    dark = series_file(tmp_path / "dark.h5", {index: ten for index in range(10) if index not in (3, 7)}, 10)

    made = corrected(dark=dark)

    assert notes(made) == [f"dark {dark}: mean of 8 of 10 frames (2 missing)"]
    assert mean(made) == [[100] * 3] * 2  # 110 - 10, with 65535 counted twice it was -12,995


@pytest.mark.parametrize("place", ["/entry/data/data", "entry/instrument/sim_1/data"])
def test_a_dark_that_is_named_by_its_dataset_is_of_stored_frames_too(tmp_path: Path, place: str) -> None:
    dark = series_file(tmp_path / "dark.h5", {1: [[10] * 3] * 2}, 3, triggered=2)

    made = corrected(dark=f"{dark}::{place}")

    assert notes(made) == [f"dark {dark}: mean of 1 of 2 frames (1 missing)"]
    assert mean(made) == [[100] * 3] * 2


def test_pixels_that_do_not_count_in_a_frame_are_not_in_its_mean(tmp_path: Path) -> None:
    frames = {0: [[10, 10, 65535], [500, 10, 10]], 1: [[20, 10, 65535], [30, 10, 10]]}
    metadata = {"saturation_value": 500, "pixel_mask": [[0, 1, 0], [0, 0, 0]]}
    dark = series_file(tmp_path / "dark.h5", frames, 2, metadata)

    found = np.array(mean(corrected(dark=dark)))

    # 110 less 15; masked; a gap in both; 30 alone, since 500 is saturated; 10; 10.
    np.testing.assert_array_equal(found, [[95, np.nan, np.nan], [80, 100, 100]])


def test_a_file_without_a_stored_frame_is_refused(tmp_path: Path) -> None:
    dark = series_file(tmp_path / "dark.h5", {}, 4, triggered=0)

    with pytest.raises(Refusal, match=r"dark: .*dark\.h5 cannot be read: "):
        corrected(dark=dark)


def test_an_electron_needs_a_dark_and_a_gain_that_are_known(tmp_path: Path) -> None:
    np.save(tmp_path / "gain.npy", [[1.0, 1.0, 1.0, 0.0, 1.0]])
    np.save(tmp_path / "dark.npy", [[1.0, np.nan, 1.0, 1.0, 1.0]])
    spots = np.array([[0, 90, 0, 90, 0], [0, 0, 0, 0, 0], [0, 90, 0, 90, 0]], np.uint16)
    for name in ("gain", "dark"):
        image_of_one_row = np.load(tmp_path / f"{name}.npy")
        np.save(tmp_path / f"{name}.npy", np.vstack([image_of_one_row, np.ones((2, 5))]))

    made = begun("electrons", {name: str(tmp_path / f"{name}.npy") for name in ("gain", "dark")}).take(
        [spots]
    )

    assert np.asarray(made.of("electrons")[0]).tolist() == [11, 13]  # of the first row none is known


GEOMETRY = {
    "distance": 1.0, "beam_center_x": 1.5, "beam_center_y": 1.0, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4,
    "photon_energy": 12000,
}  # fmt: skip


def curve(cache: None, **parameters: Any) -> float:
    image = np.array([[2, 4, 6], [8, 10, 12]], np.uint16)
    made = begun("azimuthal", {"points": 1, "solid_angle": False, **parameters}, GEOMETRY).take([image])
    assert not made.errors, made.errors
    return float(made.of("I")[0][0])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_make", make_here)


def test_a_mask_is_the_pixel_mask_of_a_file_that_has_one(tmp_path: Path, cache: None) -> None:
    frames = {index: [[7, 7, 7], [7, 7, 7]] for index in range(3)}
    mask = series_file(tmp_path / "mask.h5", frames, 3, {"pixel_mask": [[1, 0, 0], [0, 0, 1]]})

    assert curve(cache, mask=mask) == pytest.approx((4 + 6 + 8 + 10) / 4)


def test_a_mask_is_the_one_image_of_a_file_without_a_pixel_mask(tmp_path: Path, cache: None) -> None:
    mask = series_file(tmp_path / "mask.h5", {0: [[1, 1, 0], [0, 0, 0]]}, 1)

    assert curve(cache, mask=mask) == pytest.approx((6 + 8 + 10 + 12) / 4)


def test_a_mask_of_several_frames_is_refused(tmp_path: Path) -> None:
    mask = series_file(tmp_path / "mask.h5", {0: IMAGE, 2: IMAGE}, 3)

    with pytest.raises(Refusal, match="it has no pixel_mask, and 2 stored frames: which of them is meant"):
        begun("azimuthal", {"mask": mask}, GEOMETRY)


def test_where_the_flat_field_is_no_factor_no_pixel_counts(tmp_path: Path, cache: None) -> None:
    np.save(tmp_path / "flat.npy", [[0.0, -1.0, np.nan], [2.0, 2.0, 2.0]])

    assert curve(cache, flat=str(tmp_path / "flat.npy")) == pytest.approx((8 + 10 + 12) / 6)


@pytest.mark.parametrize("place", ["", "::/entry/data/data", "::entry/instrument/eig/data", "::/other"])
def test_frames_of_others_that_were_never_stored_are_not_in_a_dark(tmp_path: Path, place: str) -> None:
    dark = tmp_path / "others.h5"
    with h5py.File(dark, "w") as file:
        entry = file.create_group("entry")
        entry.attrs.update(NX_class="NXentry", default="data")
        detector = file.create_group("entry/instrument/eig")
        detector.attrs["NX_class"], detector.parent.attrs["NX_class"] = "NXdetector", "NXinstrument"
        frames = detector.create_dataset("data", (5, 2, 3), np.uint32, chunks=(1, 2, 3))
        frames[1] = frames[4] = 10
        frames[4, 0, 0] = 2**32 - 1
        file["other"] = frames
        data = entry.create_group("data")
        data.attrs.update(NX_class="NXdata", signal="data")
        data["data"] = h5py.SoftLink("/entry/instrument/eig/data")

    made = corrected(dark=f"{dark}{place}")

    assert notes(made) == [f"dark {dark}: mean of 2 of 5 frames (3 missing)"]
    assert mean(made) == [[100] * 3] * 2


def test_of_an_npy_file_gaps_are_no_counts(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.array([[10, 2**32 - 1, 10], [10, 10, 10]], np.uint32))

    found = mean(corrected(dark=str(tmp_path / "dark.npy")))

    np.testing.assert_array_equal(found, [[100, np.nan, 100], [100, 100, 100]])
