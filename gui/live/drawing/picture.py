"""What is in sight of a frame, in colours: pure functions, for a thread beside the window's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from silx.math.colormap import cmap

from penstock.gui.live.drawing.blocks import Reduction, greatest_colours, reduce
from penstock.gui.live.drawing.span import Span
from penstock.gui.live.drawing.whole import Whole
from penstock.gui.live.levels import Histogram, Levels, Percentiles, Scale, autoscale, histogram
from penstock.receiver.validity.pixels import Flag

MARK = 10
"""Pixels of the screen that the mark of a row is wide."""
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


def draw(whole: Whole, port: Port | None, style: Style) -> Picture:
    """Return the picture of a frame."""
    levels = style.levels
    if style.percentiles is not None and not whole.has_colours:
        levels = autoscale(whole.sample, style.scale, style.percentiles) or levels
    found = None if whole.has_colours else histogram(whole.sample, levels, style.scale)
    if port is None:
        return Picture(whole, None, np.zeros((0, 0, 4), np.uint8), levels, found)
    if whole.has_colours:
        colours = np.full((port.rows.size, port.columns.size, 4), 255, np.uint8)
        colours[..., :3] = greatest_colours(whole.colours, port.rows, port.columns)
        return Picture(whole, port, colours, levels, None)
    values, flags = reduce(
        whole.drawn, port.rows, port.columns,
        reduction=style.reduction, rule=whole.drawn_rule, partial=whole.drawn_is_partial, gaps=whole.gaps,
        counts=whole.has_counts,
    )  # fmt: skip
    if whole.marked_rows is not None:
        flags[_mostly_empty(whole.empty_rows, port.rows)] = Flag.INVALID
    # Also of what has no logarithm, or no value.
    np.maximum(values, levels.low, out=values)
    colours = cmap(values, style.table, *levels, style.scale.value)
    for flag, colour in style.marks.items():
        colours[flags == flag] = colour
    if whole.marked_rows is not None and style.row_mark is not None:
        colours[_with_marks(whole.marked_rows, port.rows), :MARK] = style.row_mark
    return Picture(whole, port, colours, levels, found)


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
