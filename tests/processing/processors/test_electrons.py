"""Electrons are those that stempy finds; the truth here is made plainly, as stempy 3.6 was seen to count."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.loading import LoadingError
from tests.processing.processors.built_in import begun, saved
from tests.third_party import program_of

SHAPE = (48, 64)


def frames(number: int, shape: tuple[int, int] = SHAPE, seed: int = 31) -> np.ndarray[Any, Any]:
    """Noise, electrons, equal neighbours, X-rays; and electrons at all edges and in the corners."""
    rng = np.random.default_rng(seed)
    found = rng.poisson(6, (number, *shape))
    found += np.where(rng.random(found.shape) < 0.02, rng.integers(20, 90, found.shape), 0)
    found += np.where(rng.random(found.shape) < 0.001, 3000, 0)
    for edge in (np.s_[:, 0], np.s_[:, -1], np.s_[:, :, 0], np.s_[:, :, -1]):
        found[edge] += np.where(
            rng.random(found[edge].shape) < 0.2, rng.integers(30, 90, found[edge].shape), 0
        )
    found[:, 0, 0], found[:, -1, -1], found[:, 0, -1], found[:, -1, 0] = 480, 470, 460, 450
    return found.astype(np.uint16)


def plainly(
    frame: np.ndarray[Any, Any], dark: np.ndarray[Any, Any] | None, gain: np.ndarray[Any, Any] | None,
    background: float, xray: float,
) -> list[int]:  # fmt: skip
    """Count without anything of ours: integers wrap at 16 bits unless there is a gain, as in stempy."""
    if gain is None:
        value = frame.astype(np.int64)
        if dark is not None:
            value = (value - np.trunc(dark).astype(np.int64)) % 2**16
    else:
        value = frame.astype(np.float32) - (0 if dark is None else dark)
        value = value * np.power(gain.astype(np.float32), -1)
    value = np.where((value <= background) | (value >= xray), 0, value)
    around = np.pad(value.astype(np.float64), 1, constant_values=-np.inf)
    rows, columns = value.shape
    is_electron = np.ones(value.shape, bool)
    for down in range(3):
        for right in range(3):
            if (down, right) != (1, 1):
                is_electron &= value > around[down : down + rows, right : right + columns]
    return list(map(int, np.flatnonzero(is_electron)))


def dark_and_gain() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    dark = rng.normal(3, 2, SHAPE).astype(np.float32)
    gain = (2.0 ** rng.integers(-1, 2, SHAPE)).astype(np.float32)  # its inverse is exact, as stempy wants it
    return dark, gain


@pytest.mark.parametrize("with_dark", [False, True])
@pytest.mark.parametrize("with_gain", [False, True])
def test_positions_are_those_of_a_plain_count(tmp_path: Path, with_dark: bool, with_gain: bool) -> None:
    images = frames(20)
    dark, gain = dark_and_gain()
    parameters: dict[str, Any] = {"background": 18.5, "xray": 1000}
    parameters |= {"dark": str(saved(tmp_path / "dark.npy", dark))} if with_dark else {}
    parameters |= {"gain": str(saved(tmp_path / "gain.npy", gain))} if with_gain else {}
    made = begun("electrons", parameters, type="uint16").take(images)
    for index, image in enumerate(images):
        truth = plainly(image, dark if with_dark else None, gain if with_gain else None, 18.5, 1000)
        assert made.values["electrons"][index].tolist() == truth, index
        assert made.values["electron_count"][index] == len(truth) > 50
        corners = {0, SHAPE[1] - 1, SHAPE[0] * SHAPE[1] - 1}
        assert with_gain or corners <= set(truth)
    assert made.of("electrons")[0].dtype == np.uint32


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int16", "float32"])
def test_each_type_of_pixels_is_counted_alike(dtype: str) -> None:
    (image,) = np.minimum(frames(1), 254)  # 255 is saturated in 8 bits
    made = begun("electrons", {"background": 10.5}).take([image.astype(dtype)])
    assert made.of("electrons")[0].tolist() == plainly(image, None, None, 10.5, 2000)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "float32"])
def test_thresholds_may_be_beyond_all_pixels(dtype: str) -> None:
    image = np.zeros((9, 9), dtype)
    image[4, 4] = 60_000
    for limits, count in (((4, np.inf), 1), ((4, 1e30), 1), ((-np.inf, -1e30), 0), ((1e20, 1e30), 0)):
        background, xray = limits
        made = begun("electrons", {"background": background, "xray": xray}).take([image])
        assert not made.errors and made.of("electron_count") == [count]


def test_masked_pixels_are_none_and_a_pixel_below_its_dark_is_none(tmp_path: Path) -> None:
    image = np.zeros((4, 5), np.uint16)
    image[1, 1], image[1, 2], image[3, 4] = 40, 50, 60
    mask = np.zeros(image.shape, int)
    mask[1, 2] = 1
    made = begun("electrons", metadata={"pixel_mask": mask.tolist()}).take([image])
    assert made.of("electrons")[0].tolist() == [6, 19]
    dark = saved(tmp_path / "dark.npy", np.full(image.shape, 45.0))
    made = begun("electrons", {"dark": str(dark), "xray": 1e9}).take([image])
    assert made.of("electrons")[0].tolist() == [7, 19]


def test_thresholds_change_while_frames_are_processed_and_an_image_is_summed() -> None:
    image = np.zeros((3, 3), np.uint16)
    image[0, 0], image[2, 2] = 20, 60
    made = begun("electrons", {"image": True}).take([image, image])
    made.change(image=True, background=30)
    made.take([image], 2)
    assert made.of("electron_count") == [2, 2, 1]
    assert made.totals()["electron_image"].tolist() == [[2, 0, 0], [0, 0, 0], [0, 0, 3]]


def test_what_cannot_be_counted_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="background is 5 and xray 3; xray has to be the greater one"):
        begun("electrons", {"background": 5, "xray": 3})
    dark = str(saved(tmp_path / "dark.npy", np.zeros((3, 3))))
    made = begun("electrons", {"dark": dark}).take([np.zeros((4, 5), np.uint16)])
    assert f"dark {dark} has [3, 3] pixels, the frames [4, 5]; take it with the same" in made.errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("with_gain", [False, True])
def test_positions_of_200_frames_are_those_of_stempy(tmp_path: Path, with_gain: bool) -> None:
    images = frames(200)
    dark, gain = dark_and_gain()
    np.savez(tmp_path / "given.npz", images=images, dark=dark, gain=gain)
    script = (
        "import json, sys, numpy, stempy.image\n"
        "given = numpy.load(sys.argv[1])\n"
        "count = stempy.image.electron_count_frame\n"
        "gain = given['gain'] if sys.argv[2] == 'True' else None\n"
        "print(json.dumps([\n"
        "    count(each, darkreference=given['dark'], gain=gain, background_threshold=18.5,\n"
        "          xray_threshold=1000.0).data[0, 0].tolist() for each in given['images']\n"
        "]))\n"
    )
    command = [program_of("processing", "python"), "-c", script, tmp_path / "given.npz", str(with_gain)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    parameters = {"background": 18.5, "xray": 1000, "dark": str(saved(tmp_path / "dark.npy", dark))}
    parameters |= {"gain": str(saved(tmp_path / "gain.npy", gain))} if with_gain else {}
    made = begun("electrons", parameters).take(images)
    theirs = json.loads(told.stdout)
    assert [each.tolist() for each in made.of("electrons")] == theirs
    assert sum(map(len, theirs)) > 10_000
    truth = [plainly(each, dark, gain if with_gain else None, 18.5, 1000) for each in images]
    assert truth == theirs, "the truth of the other tests"


def test_without_numba_the_worker_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "numba" or name.endswith("._maxima")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(LoadingError, match="electrons needs numba, which is not here: install Penstock with"):
        begun("electrons")
