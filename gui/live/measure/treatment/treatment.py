"""What is done to a frame before it is drawn and measured: last frames, background, masks. Without Qt.

It is done to whole frames, as received, in the thread that draws; never to what was reduced for the screen.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.drawing.levels import stride
from penstock.gui.live.drawing.pixels import as_numbers, flags_of, not_sent
from penstock.gui.live.drawing.whole import Whole
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag, PixelRule
from penstock.stins.texts import plural

MOST_FRAMES = 100
MOST_BYTES = 1 << 30
"""Most bytes of the frames that are kept: fewer, if they are large."""
SATURATED = np.float32(3e38)
"""Stands for a saturated pixel in what is drawn."""

Image = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class Combine(Enum):
    """What is made of the last frames shown; the value is what the user reads."""

    NOTHING = "each frame alone"
    MEAN = "average of the last"
    SUM = "sum of the last"
    GREATEST = "greatest of the last"


class Stack:
    """The last frames shown, of one series and one shape; safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: list[tuple[LastFrame, Image, npt.NDArray[np.uint8]]] = []

    def combined(self, whole: Whole, how: Combine, most: int) -> tuple[Image, npt.NDArray[np.uint8], int]:
        """Return what the last frames make with this one, the flags of its pixels, and of how many it is.

        A pixel that is invalid, or saturated, in one of them is so in all.

        Args:
            whole: the newest frame, which is added unless it is there.
            how: what is made.
            most: of how many frames.
        """
        with self._lock:
            frame, image = whole.frame, as_numbers(whole.frame.array).reshape(whole.shape)
            if self._frames and (self._frames[-1][0].series, self._frames[-1][1].shape) != (
                frame.series, image.shape,
            ):  # fmt: skip
                self._frames.clear()
            if not any(frame is each for each, _, _ in self._frames):
                found = flags_of(frame, image, not_sent(frame, image.shape))
                self._frames.append((frame, image, found))
            room = max(1, min(most, MOST_BYTES // max(1, image.nbytes)))
            del self._frames[:-room]
            images = [each for _, each, _ in self._frames]
            marks = np.maximum.reduce([each == Flag.SATURATED for _, _, each in self._frames])
            bad = np.logical_or.reduce([each == Flag.INVALID for _, _, each in self._frames])
        made: Image = np.array(images[0], np.float64)
        for each in images[1:]:
            np.maximum(made, each, out=made) if how is Combine.GREATEST else np.add(made, each, out=made)
        if how is Combine.MEAN:
            made /= len(images)
        found = np.where(marks, np.uint8(Flag.SATURATED), np.uint8(Flag.GOOD))
        found[bad] = Flag.INVALID
        return made, found, len(images)

    def clear(self) -> None:
        """Forget the frames."""
        with self._lock:
            self._frames.clear()


@dataclass(frozen=True, eq=False)
class Treatment:
    """What is done to each frame."""

    combine: Combine = Combine.NOTHING
    frames: int = 5
    """How many are combined."""
    mask: Mask | None = None
    """(rows, cols) of one image: pixels that are left out."""
    hot: float | None = None
    """Counts above which a pixel is left out."""
    background: Image | None = None
    """(rows, cols) of one image, subtracted from each frame."""
    background_name: str = ""
    stack: Stack = field(default_factory=Stack)

    @property
    def is_nothing(self) -> bool:
        """True if frames stay as they are."""
        return (
            self.combine is Combine.NOTHING
            and self.mask is None and self.hot is None and self.background is None
        )  # fmt: skip

    def whole(self, frame: LastFrame, bad: Mask | None = None) -> Whole:
        """Return the frame with what is done to it; frames in blocks and colours stay as they are.

        Args:
            frame: the frame.
            bad: pixels that the series' mask leaves out, see `Whole`.
        """
        plain = Whole(frame, bad)
        if self.is_nothing or plain.is_reduced or plain.has_colours:
            return plain
        do = self.fitting(frame)
        return plain if do.is_nothing else Treated(frame, do, bad)

    def fitting(self, frame: LastFrame) -> Treatment:
        """Return it without a mask or background of another size than the frame's."""
        size = frame.array.shape[-2:]
        return replace(
            self,
            mask=self.mask if self.mask is not None and self.mask.shape == size else None,
            background=(
                self.background if self.background is not None and self.background.shape == size else None
            ),
        )

    def misfit(self, frame: LastFrame) -> str:
        """Return what is not applied to a frame, since it is of another size; "" if nothing is."""
        rows, columns = frame.array.shape[-2:]
        known = (("mask", self.mask), ("background", self.background))
        others = [(name, each.shape) for name, each in known if each is not None]
        words = [
            f"the {name} of {shape[0]} × {shape[1]} pixels"
            for name, shape in others
            if shape != (rows, columns)
        ]
        if not words:
            return ""
        are = "are" if len(words) > 1 else "is"
        text = f"{' and '.join(words)} {are} not applied: the frame has {rows} × {columns}"
        return f"▲ {text[:1].upper()}{text[1:]}"

    def sentence(self, count: int | None = None) -> str:
        """Return what is done, for the line above the picture; "" if nothing is.

        Args:
            count: of how many frames the picture is, if that is known.
        """
        parts = []
        if self.combine is not Combine.NOTHING:
            number = self.frames if count is None else count
            parts.append(f"{self.combine.value} {plural(number, 'frame')} shown")
        if self.background is not None:
            parts.append(f"minus background {self.background_name}".rstrip())
        if self.hot is not None:
            parts.append(f"pixels above {self.hot:,.6g} left out")
        if self.mask is not None:
            parts.append(f"{plural(int(np.count_nonzero(self.mask)), 'pixel')} masked here")
        text = ", ".join(parts)
        return text[:1].upper() + text[1:]


class Treated(Whole):
    """A frame to which something was done.

    Args:
        frame: an image, not reduced.
        treatment: what is done.
        bad: see `Whole`.
    """

    def __init__(self, frame: LastFrame, treatment: Treatment, bad: Mask | None = None) -> None:
        super().__init__(frame, bad)
        self._do = treatment
        self._lock = threading.RLock()

    @cached_property
    def _made(self) -> tuple[Image, npt.NDArray[np.uint8], int]:
        plain, do = as_numbers(self.frame.array).reshape(self.shape), self._do
        found: tuple[Image, npt.NDArray[np.uint8], int]
        if do.combine is Combine.NOTHING:
            found = plain, flags_of(self.frame, plain), 1
        else:
            found = do.stack.combined(self, do.combine, do.frames)
        image, marks, count = found
        if do.background is not None:
            times = count if do.combine is Combine.SUM else 1
            background = self._each(do.background).astype(np.float64)
            background[~np.isfinite(background)] = np.nan
            image = image.astype(np.float64) - times * background
        marks = np.array(marks)
        if do.background is not None:
            marks[np.isnan(image)] = Flag.INVALID  # where the background has no number, there is none
        for left_out in (self.not_sent(), self.bad, self.masked):
            if left_out is not None:
                marks[left_out] = Flag.INVALID
        return image, marks, count

    @cached_property
    def image(self) -> Image:
        """What was made of the counts, (rows, cols)."""
        with self._lock:
            return self._made[0]

    @cached_property
    def flags(self) -> npt.NDArray[np.uint8]:
        """The `Flag` of each pixel."""
        with self._lock:
            return self._made[1]

    @property
    def combined(self) -> int:
        """Number of frames that it is made of."""
        with self._lock:
            return self._made[2]

    @cached_property
    def raw(self) -> Image:
        """The counts as received."""
        return as_numbers(self.frame.array).reshape(self.shape)

    @cached_property
    def masked(self) -> Mask | None:
        """Pixels that the user has left out."""
        found = None if self._do.mask is None else self._each(self._do.mask)
        if self._do.hot is not None:
            hot = np.asarray(self.raw > self._do.hot)
            found = hot if found is None else found | hot
        return found

    @cached_property
    def gaps(self) -> Mask:
        """Pixels that have no value, in one of the frames, or were left out."""
        return np.asarray(self.flags == Flag.INVALID)

    @property
    def left_out(self) -> Mask:
        """Pixels that are not measured."""
        return self.gaps

    @cached_property
    def drawn(self) -> npt.NDArray[np.float32]:
        """What is drawn."""
        values = self.image.astype(np.float32)
        values[self.flags == Flag.SATURATED] = SATURATED
        return values

    @property
    def drawn_rule(self) -> PixelRule:
        """Rule by which the pixels of `drawn` count: which have no value is known."""
        return PixelRule(float(SATURATED))

    @property
    def drawn_is_partial(self) -> bool:
        """True if values of `drawn` stand for pixels that are missing."""
        return False

    @cached_property
    def sample(self) -> Image:
        """Some of the good pixels, (n,), from everywhere in the frame."""
        every = stride(self.shape)
        good = self.flags[::every, ::every] == Flag.GOOD
        return np.asarray(self.image[::every, ::every][good])

    def flag(self, row: int, column: int) -> Flag:
        """Return the flag of one pixel."""
        return Flag(int(self.flags[row, column]))

    def _each(self, one: Image) -> Image:
        """Return something of one image for all images of the frame, one below the other."""
        return np.tile(one, (self.shape[0] // one.shape[0], 1))
