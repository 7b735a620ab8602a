"""Which pixels of a frame become which of the screen, and what becomes of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.gui.live.drawing import blocks, marked
from penstock.gui.live.drawing.blocks import Reduction, Span, greatest_colours, span
from penstock.receiver.validity.pixels import Flag, PixelRule

SHAPE = (37, 53)
GENERATOR = np.random.default_rng(5)


def whole(rows: int, columns: int) -> tuple[Span, Span]:
    """All of the frame, on so many pixels of the screen."""
    along, across = span((0, SHAPE[0]), (0, rows), SHAPE[0]), span((0, SHAPE[1]), (0, columns), SHAPE[1])
    assert along is not None and across is not None
    return along, across


def reduce(image: np.ndarray[Any, Any], rows: Span, columns: Span, **keys: Any) -> tuple[Any, Any]:
    """The values of the screen's pixels, and their flags."""
    found = blocks.reduce(image, rows, columns, **keys)
    return found.values, found.flags


def frame(dtype: str) -> np.ndarray[Any, Any]:
    """Counts up to 100, with pixels that have none and saturated ones."""
    kind = np.dtype(dtype).kind
    image = GENERATOR.integers(0 if kind == "u" else -50, 100, SHAPE).astype(dtype)
    some = GENERATOR.random(SHAPE)
    image[some < 0.3] = np.iinfo(dtype).max if kind == "u" else -1 if kind == "i" else np.nan
    if kind == "f":
        image[some < 0.1] = np.inf
    image[some > 0.99] = 110
    return image


@pytest.mark.parametrize("size", [1, 2, 7, 36, 37, 38, 50, 74, 200])
def test_each_pixel_of_the_frame_is_on_the_screen_and_each_of_the_screen_shows_some(size: int) -> None:
    along, _ = whole(size, 10)
    starts, ends = along.blocks()
    assert len(starts) == along.size == size
    assert (ends > starts).all()
    assert {place for start, end in zip(starts, ends, strict=True) for place in range(start, end)} == set(
        range(SHAPE[0])
    )


@pytest.mark.parametrize("seed", range(200))
def test_whatever_the_window_and_the_zoom_each_pixel_in_sight_is_drawn_in_its_place(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pixels, scale = int(generator.integers(1, 3000)), float(generator.choice([1, 1, 3]))
    low = float(generator.uniform(-0.5, 0.9)) * pixels * scale
    limits = low, low + float(generator.uniform(0.001, 1.5)) * pixels * scale
    edges = (first := float(generator.uniform(0, 100))), first + float(generator.uniform(1, 2000))
    found = span(limits, edges, pixels, scale)
    in_sight = max(limits[0], 0.0), min(limits[1], pixels * scale)
    if in_sight[1] <= in_sight[0]:
        assert found is None
        return
    assert found is not None
    assert edges[0] - 1 <= found.first and found.first + found.size <= edges[1] + 1.5
    starts, ends = found.blocks()
    assert found.start <= starts.min() and ends.max() <= found.stop <= pixels
    drawn = np.zeros(pixels, bool)
    for start, end in zip(starts, ends, strict=True):
        drawn[start:end] = True
    # Of a pixel that the edge cuts, less than half a pixel of the screen may be in sight.
    first, last = np.ceil(in_sight[0] / scale - 1e-6), np.floor(in_sight[1] / scale + 1e-6)
    assert drawn[int(first) : int(last)].all()
    middles = found.origin + (np.arange(found.size) + 0.5) * found.step
    assert (np.abs((starts + ends) / 2 - middles) <= max(1.0, found.step) * 1.5 + 1).all()


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "uint32", "uint64", "int16", "int32", "float32", "float64"]
)
@pytest.mark.parametrize(
    ("rule", "partial"),
    [
        (PixelRule(), False), (PixelRule(105.0), False), (PixelRule(None, -10.5), False),
        (PixelRule(105.0, 3.0), False), (PixelRule(), True), (PixelRule(1e200, -1e200), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("screen", [(5, 7), (20, 60)])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_block_is_its_greatest_count_or_its_mean_and_its_flag_is_that_of_its_pixels(
    dtype: str, rule: PixelRule, partial: bool, screen: tuple[int, int], gaps: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    image, rows, columns = frame(dtype), *whole(*screen)
    without = np.zeros(SHAPE, bool)
    without[10:14] = gaps
    known = rule.flags(image, without, partial=partial)
    greatest, found = reduce(image, rows, columns, rule=rule, partial=partial, gaps=without if gaps else None)
    mean, same = reduce(
        image, rows, columns, reduction=Reduction.MEAN, rule=rule, partial=partial,
        gaps=without if gaps else None,
    )  # fmt: skip
    assert greatest.shape == mean.shape == found.shape == screen
    np.testing.assert_array_equal(found, same)
    expected = np.full(screen, np.nan)
    for y, (top, bottom) in enumerate(zip(*rows.blocks(), strict=True)):
        for x, (left, right) in enumerate(zip(*columns.blocks(), strict=True)):
            place = slice(top, bottom), slice(left, right)
            counts = image[place][known[place] != Flag.INVALID]
            if not counts.size:
                assert found[y, x] == Flag.INVALID
                continue
            assert found[y, x] == (Flag.SATURATED if (known[place] == Flag.SATURATED).any() else Flag.GOOD)
            assert greatest[y, x] == np.float32(counts.max())
            expected[y, x] = counts.astype(float).mean()
    good = ~np.isnan(expected)
    np.testing.assert_allclose(mean[good], expected[good], rtol=1e-6)
    counts = image[known == Flag.GOOD]
    made = blocks.reduce(image, rows, columns, rule=rule, partial=partial, gaps=without if gaps else None)
    ends = (counts.min(), counts.max()) if counts.size else None
    assert made.extremes == (ends, (known == Flag.SATURATED).any()), "exact, and of good pixels only"
    monkeypatch.setattr(marked, "PART", 4 * SHAPE[1])  # four rows at a time
    of_rule = marked.Marked(image.dtype, rule, partial)
    assert marked.extremes(image, of_rule, without if gaps else None) == made.extremes


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32"])
@pytest.mark.parametrize("without", [False, True])
def test_a_negative_value_is_drawn_as_such_unless_it_is_below_the_underload_value(
    dtype: str, without: bool
) -> None:
    image = np.full(SHAPE, -7, dtype)
    image[0, 0], gaps = -3, np.zeros(SHAPE, bool)
    gaps[1, 1] = without
    values, found = reduce(image, *whole(1, 1), gaps=gaps)
    assert (values[0, 0], found[0, 0]) == (-3, Flag.GOOD)
    _, found = reduce(image, *whole(1, 1), rule=PixelRule(None, 0.0), gaps=gaps)
    assert found[0, 0] == Flag.INVALID
    mean, _ = reduce(image, *whole(1, 1), reduction=Reduction.MEAN, rule=PixelRule(None, -5.0), gaps=gaps)
    assert mean[0, 0] == -3, "the others have no value"


def test_counts_of_the_upper_half_of_a_type_are_counts() -> None:
    image = np.full(SHAPE, 3, np.uint32)
    image[5, 5], image[5, 6] = 3_000_000_000, 2**32 - 1
    values, found = reduce(image, *whole(4, 4))
    assert values.max() == np.float32(3e9)
    assert not found.any()


def test_a_mask_keeps_bad_pixels_from_having_all_converted_which_takes_twice_as_long() -> None:
    image, gaps = np.full((2, 3), 7, np.uint32), np.zeros((2, 3), bool)
    image[0, 1], gaps[0, 1] = 2**32 - 2, True
    known, least = marked.Marked(image.dtype, PixelRule(), False).known(image, gaps)
    assert known.dtype == np.int32
    assert (known.tolist(), least) == ([[7, -1, 7], [7, 7, 7]], 0)


def test_what_is_not_in_sight_takes_no_part() -> None:
    image = np.arange(SHAPE[0] * SHAPE[1], dtype=np.int32).reshape(SHAPE)
    rows, columns = span((10, 20), (0, 5), SHAPE[0]), span((30, 40), (7, 12), SHAPE[1])
    assert rows is not None and columns is not None
    values, _ = reduce(image, rows, columns)
    assert columns.first == 7
    np.testing.assert_array_equal(values, image[11:20:2, 31:40:2])


def test_the_greatest_of_colours_is_found_for_each() -> None:
    colours = np.zeros((*SHAPE, 3), np.uint8)
    colours[3, 3] = 200, 0, 10
    colours[4, 4] = 0, 100, 0
    found = greatest_colours(colours, *whole(2, 2))
    assert found[0, 0].tolist() == [200, 100, 10]
    assert not found[1:].any()
