"""Regions, down-sampling and pictures of a frame."""

from __future__ import annotations

import io
from typing import Any, Literal

import matplotlib
import numpy as np
import pytest
from PIL import Image

from penstock.receiver.http.pictures import ALL, Validity, ViewError, curve, cut, picture, viridis
from penstock.receiver.models import Contrast, View
from penstock.receiver.validity.pixels import Flag, PixelRule

FRAME = np.arange(70, dtype=np.uint16).reshape(7, 10)


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def shades(data: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(opened(data).convert("L"))


def test_a_region_is_cut_out_in_pixels_of_the_whole_frame() -> None:
    np.testing.assert_array_equal(cut(FRAME, View(x=2, y=3, width=4, height=2)), FRAME[3:5, 2:6])


def test_what_reaches_over_the_edge_is_cut_off() -> None:
    np.testing.assert_array_equal(cut(FRAME, View(x=8, y=5, width=100, height=100)), FRAME[5:, 8:])


@pytest.mark.parametrize("view", [View(x=10), View(y=7), View(x=2**60)])
def test_a_region_outside_is_refused_with_the_size_of_the_frame(view: View) -> None:
    with pytest.raises(ViewError, match="10 columns and 7 rows"):
        cut(FRAME, view)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("step", [2, 3, 64])
def test_every_type_is_down_sampled_to_the_first_the_mean_or_the_greatest(dtype: str, step: int) -> None:
    frame = (FRAME % 100).astype(dtype)
    blocks = [[frame[y : y + step, x : x + step] for x in range(0, 10, step)] for y in range(0, 7, step)]
    nth, greatest = cut(frame, View(downsample=step)), cut(frame, View(downsample=step, method="max"))
    mean = cut(frame, View(downsample=step, method="mean"))
    np.testing.assert_array_equal(nth, frame[::step, ::step])
    np.testing.assert_array_equal(greatest, [[block.max() for block in row] for row in blocks])
    np.testing.assert_allclose(mean, [[block.mean() for block in row] for row in blocks], rtol=1e-6)
    assert (nth.dtype, greatest.dtype, mean.dtype) == (frame.dtype, frame.dtype, np.float32)


MOST16, LEAST16 = 2**16 - 1, -(2**15)
BAD = [[True, False], [False, False]]
VALID: list[tuple[str, list[list[Any]], Validity, Any]] = [
    # type, a block, which of its pixels count, and the greatest of those that have a value
    ("uint8", [[3, 255], [4, 5]], ALL, 255),  # counted to its end
    ("uint16", [[3, MOST16], [4, 5]], ALL, MOST16),
    ("uint16", [[3, MOST16], [4, 5]], Validity(PixelRule(60_000)), 5),  # a gap
    ("uint16", [[3, MOST16], [4, 60_000]], Validity(PixelRule(60_000)), 60_000),
    ("uint16", [[3, MOST16], [4, 5]], Validity(partial=True), 5),
    ("uint16", [[MOST16, 3], [4, 5]], Validity(no_value=np.array(BAD)), 5),
    ("uint16", [[3, 3], [4, 5]], Validity(no_value=np.ones((2, 2), bool)), MOST16),
    ("uint32", [[3, 2**32 - 1], [4, 5]], ALL, 5),
    ("uint32", [[3, 2**32 - 1], [4, 2**31]], ALL, 2**31),
    ("uint32", [[9, 3], [4, 5]], Validity(no_value=np.array(BAD)), 5),
    ("uint64", [[2**64 - 1, 2**64 - 1], [2**64 - 1, 2**64 - 1]], ALL, 2**64 - 1),
    ("int16", [[-3, -1], [-4, -5]], ALL, -1),
    ("int16", [[-3, -1], [-4, -5]], Validity(partial=True), -3),
    ("int16", [[-1, -3], [-4, -5]], Validity(no_value=np.array(BAD)), -3),
    ("int16", [[-1, -1], [-1, -1]], Validity(partial=True), LEAST16),
    ("int16", [[7, 7], [7, 7]], Validity(no_value=np.ones((2, 2), bool)), LEAST16),
    ("float32", [[-3.5, np.nan], [-np.inf, -0.5]], ALL, -0.5),
    ("float32", [[-3.5, np.inf], [-np.inf, -4.5]], ALL, -3.5),
    ("float64", [[-3.5, np.nan], [-4, -5]], Validity(no_value=np.array(BAD)), -4),
    ("float64", [[np.nan, np.inf], [np.nan, np.nan]], ALL, np.nan),
]


@pytest.mark.parametrize(("dtype", "block", "validity", "expected"), VALID)
def test_a_block_is_the_greatest_of_its_pixels_that_have_a_value(
    dtype: str, block: list[list[Any]], validity: Validity, expected: Any
) -> None:
    frame = np.array(block, dtype)
    view = View(downsample=2, method="max_valid")

    found = cut(frame, view, validity=validity)

    assert found.dtype == frame.dtype
    np.testing.assert_array_equal(found, [[expected]])
    is_none = validity.seen(view, frame.dtype).flags(found)[0] == Flag.INVALID
    none = validity.rule.flags(frame, validity.no_value, partial=validity.partial) == Flag.INVALID
    assert is_none == none.all(), "by the rule it is told from a value"


def test_blocks_at_the_edges_and_a_region_have_their_own_masked_pixels() -> None:
    frame = np.arange(15, dtype=np.int32).reshape(3, 5) - 20
    mask = np.zeros(frame.shape, bool)
    mask[2, 4] = mask[1, 2] = True
    found = cut(frame, View(x=1, downsample=2, method="max_valid"), validity=Validity(no_value=mask))
    assert found.tolist() == [[-14, -11], [-8, -7]]


def test_a_white_colour_is_a_colour() -> None:
    colours = np.zeros((4, 4, 3), np.uint8)
    colours[0, 0] = 255
    found = cut(colours, View(downsample=2, method="max_valid"), "rgba-image")
    assert found[0, 0].tolist() == [255, 255, 255]


def test_the_mean_of_large_counts_does_not_overflow() -> None:
    frame = np.full((64, 64), 2**32 - 2, np.uint32)
    assert cut(frame, View(downsample=64, method="mean"))[0, 0] == np.float32(2**32 - 2)


@pytest.mark.parametrize(
    ("block", "validity", "expected"),
    [
        (np.array([[3, 2**32 - 1], [6, 9]], "uint32"), ALL, 6.0),  # a gap
        (np.array([[2**32 - 1] * 2] * 2, "uint32"), ALL, np.nan),
        (np.array([[3, 65535], [6, 9]], "uint16"), ALL, 16388.25),  # saturated, which is a value
        (np.array([[3, 65535], [6, 9]], "uint16"), Validity(PixelRule(500.0)), 6.0),
        (np.array([[-1, -2], [6, 8]], "int32"), Validity(PixelRule(underload=0.0)), 7.0),
        (np.array([[-1, -3], [6, 8]], "int32"), Validity(partial=True), 11 / 3),
        (np.array([[np.nan, np.inf], [6, 8]], "float32"), ALL, 7.0),
        (np.array([[1, 2]], "uint16"), Validity(no_value=np.array([[True, False]])), 2.0),  # masked
    ],
)
def test_a_mean_is_of_the_pixels_that_have_a_value(
    block: np.ndarray[Any, Any], validity: Validity, expected: float
) -> None:
    found = cut(block, View(downsample=2, method="mean"), validity=validity)
    np.testing.assert_array_equal(found, np.array([[expected]], "float32"))


def test_blocks_with_gaps_set_no_level() -> None:
    frame = np.full((4, 4), 8, "uint32")
    frame[0, 0] = frame[2:, :2] = 2**32 - 1  # in one block, and all of another
    frame[:2, 2:] = 4
    view = View(downsample=2, method="mean")
    found = cut(frame, view)
    seen = ALL.seen(view, frame.dtype)
    whole = Contrast(low_percentile=0, high_percentile=100)
    assert picture(found, whole, "png", validity=seen)[1:] == (4.0, 8.0)


def test_a_mean_colour_is_of_all_pixels() -> None:
    frame = np.array([[[2**32 - 1, 4, 0]] * 2] * 2, "uint32")
    found = cut(frame, View(downsample=2, method="mean"), "rgba-image")
    np.testing.assert_array_equal(found, np.array([[[2**32, 4, 0]]], "float32"))


def test_modules_are_cut_alike() -> None:
    modules = np.stack([FRAME, FRAME + 100])
    found = cut(modules, View(x=1, downsample=3, method="max"))
    np.testing.assert_array_equal(found[1], cut(FRAME + 100, View(x=1, downsample=3, method="max")))


@pytest.mark.parametrize("format", ["png", "jpeg"])
def test_a_picture_has_the_pixels_between_its_limits(format: Literal["png", "jpeg"]) -> None:
    frame = np.repeat(np.arange(0, 256, 5, dtype=np.uint16), 16).reshape(-1, 16)
    data, low, high = picture(frame, Contrast(low=0, high=250), format)
    assert (opened(data).format, low, high) == (format.upper(), 0.0, 250.0)
    expected = np.clip(frame / 250 * 255, 0, 255)
    assert np.abs(shades(data).astype(float) - expected).max() <= (1 if format == "png" else 8)


def test_the_limits_are_percentiles_of_what_is_no_gap() -> None:
    frame = np.full((10, 10), 2**32 - 1, np.uint32)
    frame[:5] = np.arange(50).reshape(5, 10)
    _, low, high = picture(frame, Contrast(low_percentile=0, high_percentile=100), "png")
    assert (low, high) == (0.0, 49.0)


@pytest.mark.parametrize(
    ("dtype", "pixels", "validity", "low", "high"),
    [
        ("int16", [-50, -1, 3, 100], ALL, -50, 100),
        ("int16", [-50, -1, 3, 100], Validity(PixelRule(underload=0)), 3, 100),
        ("int16", [-50, -1, 3, 100], Validity(PixelRule(saturation=100)), -50, 3),
        ("int16", [-50, -1, 3, 100], Validity(no_value=np.array([[True, False, False, False]])), -1, 100),
        ("uint16", [2, 3, 4, MOST16], ALL, 2, 4),
        ("float32", [-2.5, 3, np.nan, np.inf], ALL, -2.5, 3),
    ],
)
def test_the_limits_are_those_of_good_pixels(
    dtype: str, pixels: list[float], validity: Validity, low: float, high: float
) -> None:
    contrast = Contrast(low_percentile=0, high_percentile=100)
    _, *found = picture(np.array([pixels], dtype), contrast, "png", "image", validity)
    assert found == [low, high]


def test_a_spectrum_reaches_from_its_least_value_to_a_saturated_one() -> None:
    spectrum = np.array([-4, 7, 90, -9], np.int32)
    _, low, high = curve(spectrum, Contrast(), Validity(PixelRule(90, -5)))
    assert (low, high) == (-4, 90)


def test_a_logarithmic_scale_shows_what_is_weak() -> None:
    frame = np.array([[0, 10, 1000, 100_000]], np.uint32)
    linear = shades(picture(frame, Contrast(low=0, high=100_000), "png")[0])[0]
    logarithmic = shades(picture(frame, Contrast(scale="log", low=0, high=100_000), "png")[0])[0]
    assert list(linear[:2]) == [0, 0]
    assert list(logarithmic) == [
        round(255 * float(np.log1p(value) / np.log1p(100_000))) for value in frame[0]
    ]


def test_the_colour_table_is_that_of_matplotlib() -> None:
    expected = matplotlib.colormaps["viridis"](np.arange(256), bytes=True)[:, :3]
    np.testing.assert_array_equal(np.frombuffer(viridis(), np.uint8).reshape(256, 3), expected)
    data, *_ = picture(
        np.arange(256, dtype=np.uint16)[None], Contrast(low=0, high=255, colormap="viridis"), "png"
    )
    np.testing.assert_array_equal(np.asarray(opened(data).convert("RGB"))[0], expected)
    assert opened(picture(FRAME, Contrast(colormap="viridis"), "jpeg")[0]).mode == "RGB"


@pytest.mark.parametrize(
    "frame",
    [
        np.full((3, 4), np.nan, np.float32),
        np.array([[np.inf, -np.inf, np.nan, 1e300]]),
        np.full((3, 4), 7, np.uint8),
        np.full((3, 4), 255, np.uint8),
        np.full((3, 4), -(2**63), np.int64),
        np.array([[0, 2**64 - 2]], np.uint64),
    ],
)
@pytest.mark.parametrize("scale", ["lin", "log"])
def test_a_frame_of_odd_values_makes_a_picture_too(
    frame: np.ndarray[Any, Any], scale: Literal["lin", "log"]
) -> None:
    data, low, high = picture(frame, Contrast(scale=scale), "png")
    assert opened(data).size == frame.shape[::-1]
    assert np.isfinite([low, high]).all()


def test_modules_stand_one_below_the_other() -> None:
    data, *_ = picture(np.stack([FRAME, FRAME]), Contrast(), "png")
    assert opened(data).size == (10, 14)


def test_a_picture_that_its_format_cannot_hold_is_refused() -> None:
    with pytest.raises(ViewError, match="cannot be saved as jpeg"):
        picture(np.zeros((1, 70_000), np.uint8), Contrast(), "jpeg")
