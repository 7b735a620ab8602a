"""What is in sight of a frame, in colours: pure functions, for `ImagePlot`'s thread "penstock-painter"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from silx.math.colormap import cmap

from penstock.gui.live.drawing.blocks import Blocks, Reduction, Span, greatest_colours
from penstock.gui.live.drawing.levels import (
    Ends,
    Histogram,
    Levels,
    Percentiles,
    Scale,
    autoscale,
    histogram,
    with_ends,
)
from penstock.gui.live.drawing.marked import Extremes
from penstock.gui.live.drawing.whole import Whole
from penstock.receiver.validity.pixels import Flag

MARK = 10
"""Pixels of the screen that the mark of a row is wide."""
_NOTHING = np.zeros((0, 0, 4), np.uint8)
Colour = tuple[int, int, int, int]
"""Red, green, blue, alpha."""


@dataclass(frozen=True)
class Port:
    """The part of the plot in which the frame is seen."""

    rows: Span
    columns: Span


@dataclass(frozen=True, eq=False)
class Style:
    """How counts become colours."""

    table: npt.NDArray[np.uint8]
    """(256, 4)."""
    scale: Scale
    levels: Levels
    """Used where `percentiles` are not given, or there is no pixel with a count."""
    percentiles: Percentiles | None
    reduction: Reduction
    marks: Mapping[Flag, Colour]
    """Colours of pixels without a value, which else have the lowest one, and of saturated ones."""
    row_mark: Colour | None = None
    """Colour at the left edge of marked rows."""


@dataclass(frozen=True, eq=False)
class Picture:
    """What the window puts on the screen."""

    whole: Whole
    port: Port | None
    """`None`: nothing of the frame is in sight."""
    colours: npt.NDArray[np.uint8]
    """(rows, cols, 4): one for each pixel of the screen, from the top."""
    levels: Levels
    histogram: Histogram | None
    seen: Blocks | None = None
    """What the colours were made of; `None` of colours as received."""
    extremes: Extremes | None = None
    """Extremes of the whole frame; `None` of colours as received."""


def draw(whole: Whole, port: Port | None, style: Style, home: tuple[int, int]) -> Picture:
    """Return the picture of a frame.

    Args:
        whole: the frame.
        port: what of it is in sight.
        style: how counts become colours.
        home: rows and columns of the screen that the whole frame has when all of it is in sight.
    """
    levels = style.levels
    if not whole.image.size:  # an array without values
        return Picture(whole, None, _NOTHING, levels, None)
    if whole.has_colours:
        return Picture(whole, port, _colours_of(whole, port), levels, None)
    seen = None if port is None else whole.reduced(port.rows, port.columns, style.reduction)
    extremes = whole.extremes
    if style.percentiles is not None:
        blocks = whole.for_levels(*home, style.reduction)
        levels = levels_of(blocks, whole, style.scale, style.percentiles, extremes.ends) or levels
    found = histogram(with_ends(whole.sample, extremes.ends), levels, style.scale)
    if port is None or seen is None:
        return Picture(whole, None, _NOTHING, levels, found, None, extremes)
    colours = _coloured(whole, port, seen, style, levels)
    return Picture(whole, port, colours, levels, found, seen, extremes)


def levels_of(
    blocks: Blocks, whole: Whole, scale: Scale, percentiles: Percentiles, ends: Ends | None
) -> Levels | None:
    """Return levels for blocks of a frame, at percentiles of the blocks; `None` if none has a count.

    0 and 100 % are the `ends` of all pixels that the levels are for.

    Where several pixels make a block, percentiles of the pixels would be too low: of Poisson noise with a
    mean of 2, more than half of the greatest of 40 are among the greatest half per cent.
    """
    counts = whole.image.dtype.kind in "ui" and (blocks.is_single or blocks.reduction is Reduction.GREATEST)
    return autoscale(blocks.good(), scale, percentiles, whole=counts, ends=ends)


def _colours_of(whole: Whole, port: Port | None) -> npt.NDArray[np.uint8]:
    if port is None:
        return _NOTHING
    colours = np.full((port.rows.size, port.columns.size, 4), 255, np.uint8)
    colours[..., :3] = greatest_colours(whole.colours, port.rows, port.columns)
    return colours


def _coloured(whole: Whole, port: Port, seen: Blocks, style: Style, levels: Levels) -> npt.NDArray[np.uint8]:
    flags = seen.flags
    if whole.marked_rows is not None:
        flags = flags.copy()
        flags[_mostly_empty(whole.empty_rows, port.rows)] = Flag.INVALID
    # Also of what has no logarithm, or no value.
    values = np.maximum(seen.values, np.float32(levels.low))
    colours = np.asarray(cmap(values, style.table, *levels, style.scale.value))
    for flag, colour in style.marks.items():
        colours[flags == flag] = colour
    if whole.marked_rows is not None and style.row_mark is not None:
        colours[_with_marks(whole.marked_rows, port.rows), :MARK] = style.row_mark
    return colours


def _mostly_empty(empty: npt.NDArray[np.bool_], rows: Span) -> npt.NDArray[np.bool_]:
    """Return which rows of the screen have mostly empty rows of the frame: they are a gap."""
    before = np.concatenate(([0], np.cumsum(empty)))
    tops, bottoms = rows.blocks()
    return np.asarray(2 * (before[bottoms] - before[tops]) > bottoms - tops)


def _with_marks(marked: npt.NDArray[np.bool_], rows: Span) -> npt.NDArray[np.bool_]:
    """Return which rows of the screen have a marked row of the frame, and those next to them: one pixel is
    soon overlooked."""
    before = np.concatenate(([0], np.cumsum(marked)))
    tops, bottoms = rows.blocks()
    found = np.asarray(before[bottoms] > before[tops])
    wide = found.copy()
    wide[1:] |= found[:-1]
    wide[:-1] |= found[1:]
    return wide
