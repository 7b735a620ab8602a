"""A frame as the window holds it: whole, as received, and what is asked of its pixels."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.drawing import pixels
from penstock.gui.live.drawing.blocks import Blocks, Reduction, Span, all_of, reduce
from penstock.gui.live.drawing.levels import every_row, stride
from penstock.gui.live.drawing.marked import Extremes, Marked, extremes
from penstock.gui.live.drawing.pixels import as_bytes, as_numbers
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag, PixelRule


class Whole:
    """Image or colours of one frame; k images are one below the other.

    What takes time is found when it is first asked for, in the thread that asks, and kept.

    Args:
        frame: the frame; its array is (rows, cols), (k, rows, cols), or (rows, cols, 3) for colours.
        bad: pixels that the series' mask leaves out, in the shape of the image; `None`: none are known.
    """

    has_counts = True
    """True if its numbers are those of a detector, of which some may be no values; of other numbers, all
    finite ones are good."""

    def __init__(self, frame: LastFrame, bad: npt.NDArray[np.bool_] | None = None) -> None:
        self.frame = frame
        self.bad = bad
        self.has_colours = frame.interpretation == "rgba-image"
        rows, columns = frame.array.shape[:2] if self.has_colours else frame.array.shape[-2:]
        images = frame.array.shape[0] if frame.array.ndim == 3 and not self.has_colours else 1
        self.shape = images * rows, columns
        self.scale = float(frame.downsample)
        self.extent = columns * frame.downsample, rows * frame.downsample
        """Columns and rows of one image, in detector pixels."""
        self._kept: tuple[tuple[int, int, Reduction], Blocks] | None = None
        self._some: tuple[tuple[int, int, Reduction], Blocks] | None = None

    @property
    def row_scale(self) -> float:
        """What the rows' axis counts from one row to the next; `scale` is that of the columns' axis."""
        return self.scale

    @property
    def marked_rows(self) -> npt.NDArray[np.bool_] | None:
        """Rows that have a mark at the left edge, also where several share a pixel of the screen; (rows,)."""
        return None

    @cached_property
    def empty_rows(self) -> npt.NDArray[np.bool_]:
        """Rows without a single number, (rows,)."""
        return np.asarray(np.isnan(self.image).all(1))

    @property
    def is_reduced(self) -> bool:
        """True if its pixels were reduced before they came: then none of its counts is a pixel's."""
        return self.frame.downsample > 1

    @cached_property
    def image(self) -> npt.NDArray[Any]:
        """The counts, (rows, cols); of colours, their mean."""
        if self.has_colours:
            return np.asarray(self.frame.array.mean(-1))
        return as_numbers(self.frame.array).reshape(self.shape)

    @cached_property
    def colours(self) -> npt.NDArray[np.uint8]:
        """(rows, cols, 3), of colours."""
        return as_bytes(self.frame.array)

    @property
    def raw(self) -> npt.NDArray[Any] | None:
        """The counts as received where `image` was made of them; `None` where it is them."""
        return None

    @property
    def left_out(self) -> npt.NDArray[np.bool_] | None:
        """Pixels that are not measured whatever is stored there; the series' mask comes in addition."""
        return self.not_sent()

    @property
    def drawn(self) -> npt.NDArray[Any]:
        """The counts as they are drawn, (rows, cols)."""
        return self.image

    @property
    def drawn_rule(self) -> PixelRule:
        """Rule by which the pixels of `drawn` count."""
        return pixels.rule_of(self.frame)

    @property
    def drawn_is_partial(self) -> bool:
        """True if pixels of `drawn` may have the fill value of their type, since a part is missing."""
        return pixels.is_partial(self.frame)

    @cached_property
    def gaps(self) -> npt.NDArray[np.bool_] | None:
        """Pixels that have no value whatever is stored there: not sent, or left out by the series' mask."""
        not_sent = self.not_sent()
        if not_sent is None or self.bad is None:
            return self.bad if not_sent is None else not_sent
        return not_sent | self.bad

    def not_sent(self) -> npt.NDArray[np.bool_] | None:
        """Return the pixels that are of no module, or missing; `None` if none are known."""
        return pixels.not_sent(self.frame, self.shape)

    @cached_property
    def flags(self) -> npt.NDArray[np.uint8]:
        """The `Flag` of each pixel."""
        if self.has_colours:
            return np.zeros(self.shape, np.uint8)
        return self._flags(self.image, self.gaps)

    @cached_property
    def sample(self) -> npt.NDArray[Any]:
        """Some of the good pixels' counts, (n,), from everywhere in the frame."""
        every = stride(self.shape)
        part = self.image[::every, ::every]
        gaps = None if self.gaps is None else self.gaps[::every, ::every]
        return np.asarray(part[self._flags(part, gaps) == Flag.GOOD])

    def reduced(self, rows: Span, columns: Span, reduction: Reduction) -> Blocks:
        """Return what is in sight as one value for each pixel of the screen.

        That of the whole frame is kept: it is asked for once for the picture and once for the levels.

        Args:
            rows: rows in sight.
            columns: columns in sight.
            reduction: what a block becomes.
        """
        key = rows.size, columns.size, reduction
        whole = rows.is_all(self.shape[0]) and columns.is_all(self.shape[1])
        if whole and self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        found = self._reduced(rows, columns, reduction)
        if whole:
            self._kept = key, found
        return found

    def for_levels(self, rows: int, columns: int, reduction: Reduction) -> Blocks:
        """Return blocks from everywhere in the frame as it is on so many rows and columns of the screen at
        most: always the same of these, whatever is in sight.

        Of a large frame it is each so many-th row of them, if a block there is good, else all.

        Args:
            rows: rows of the screen that the whole frame has when all of it is on show.
            columns: likewise.
            reduction: what a block becomes.
        """
        along, across = all_of(self.shape[0], rows), all_of(self.shape[1], columns)
        every = every_row(self.shape, along.size)
        key = along.size, across.size, reduction
        if every > 1:
            if self._kept is not None and self._kept[0] == key:
                found = self._kept[1].some(every)
            elif self._some is not None and self._some[0] == key:
                found = self._some[1]
            else:
                found = self._reduced(along, across, reduction, every)
                self._some = key, found
            if found.good().size:
                return found
        return self.reduced(along, across, reduction)

    @cached_property
    def extremes(self) -> Extremes:
        """The least and the greatest of all its good counts, exact."""
        if self._kept is not None:
            return self._kept[1].extremes
        marked = Marked(self.drawn.dtype, self.drawn_rule, self.drawn_is_partial, self.has_counts)
        return extremes(self.drawn, marked, self.gaps)

    def _reduced(self, rows: Span, columns: Span, reduction: Reduction, every: int = 1) -> Blocks:
        return reduce(
            self.drawn, rows, columns, reduction=reduction, rule=self.drawn_rule,
            partial=self.drawn_is_partial, gaps=self.gaps, counts=self.has_counts, every=every,
        )  # fmt: skip

    def flag(self, row: int, column: int) -> Flag:
        """Return the flag of one pixel."""
        if self.has_colours:
            return Flag.GOOD
        gaps = None if self.gaps is None else self.gaps[row : row + 1, column : column + 1]
        one = self.image[row : row + 1, column : column + 1]
        return Flag(int(self._flags(one, gaps)[0, 0]))

    def _flags(self, part: npt.NDArray[Any], gaps: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.uint8]:
        if self.has_counts and not self.has_colours:
            return pixels.flags_of(self.frame, part, gaps)
        return pixels.flags_of_numbers(part, gaps)
