"""`processor: correct`: subtracts a dark, divides by a flat field, and marks masked pixels as NaN."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from penstock.processing.processor import Frame, Processor, Result
from penstock.processing.processors import _files
from penstock.processing.processors._image import masked_of
from penstock.processing.series import Series


class Correct(Processor):
    """A step before others: `(pixels - dark) / flat`, float32. It has no results of its own.

    Saturated pixels, and those without a value, become NaN: a difference from a saturated count is none.
    """

    dark: str = ""
    """File with the dark, in counts; "" for none."""
    flat: str = ""
    """File with the flat field, by which pixels are divided; "" for none. Pixels in which it is 0 or less, or
    no number, become NaN. It is not applied to a series whose detector has applied one."""
    mask: bool = True
    """True if masked pixels become NaN."""

    def configure(self) -> None:
        """Read the files."""
        self._dark = _files.image("dark", self.dark) if self.dark else None
        self._flat = _files.image("flat", self.flat) if self.flat else None
        self._notes = _files.notes(self._dark, self._flat)
        self._shape: tuple[int, ...] = ()

    def start(self, series: Series) -> None:
        """Begin a series; its first frame says how large the images are."""
        self._series = series
        self._spare = _Spare()

    def process(self, frame: Frame) -> Result:
        """Put corrected pixels in the place of those of the frame: float32, of the same shape."""
        pixels = frame.pixels
        if pixels.shape[-2:] != self._shape:
            self._prepare(pixels.shape[-2:])
        found = self._spare.take(pixels.shape)
        bad = self._series.rule_for(frame).not_good(pixels, partial=frame.partial)
        np.copyto(found, pixels, casting="unsafe")
        if self._subtracted is not None:
            found -= self._subtracted
        if self._factor is not None:
            found *= self._factor
        found.reshape(-1)[bad] = np.nan
        found.flags.writeable = False  # as those that came
        frame.pixels = found
        return None

    def _prepare(self, shape: tuple[int, ...]) -> None:
        dark = None if self._dark is None else _files.of_shape("dark", self.dark, self._dark, shape)
        factor = None
        if self._flat is not None and not self._series.metadata.get("flatfield_applied"):
            flat = _files.of_shape("flat", self.flat, self._flat, shape)
            factor = np.full(shape, np.nan, np.float32)
            np.divide(np.float32(1), flat, out=factor, where=flat > 0)
        if (
            self.mask
            and len(shape) == 2
            and (masked := masked_of(self._series, shape, "correct")) is not None
        ):
            factor = np.ones(shape, np.float32) if factor is None else factor
            factor[masked] = np.nan
        self._subtracted, self._factor, self._shape = dark, factor, shape


class _Spare:
    """Memory that is used again once nobody has it any more: what is touched already is fast."""

    MOST = 64

    def __init__(self) -> None:
        self._lent: list[tuple[memoryview, weakref.ref[np.ndarray[Any, Any]]]] = []

    def take(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Return an array of float32 with any content, of which nobody has a view."""
        nbytes = 4 * math.prod(shape)
        memory = None
        for place, (lent, user) in enumerate(self._lent):
            # All views of an array that was made from a buffer hold that array, those of views too.
            if user() is None:
                del self._lent[place]
                memory = lent if lent.nbytes == nbytes else None
                break
        if memory is None:
            memory = np.empty(nbytes, np.uint8).data
        flat: np.ndarray[Any, Any] = np.frombuffer(memory, np.float32)
        if len(self._lent) < self.MOST:
            self._lent.append((memory, weakref.ref(flat)))
        return flat.reshape(shape)
