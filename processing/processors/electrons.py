"""`processor: electrons`: the electrons in frames of an electron microscope, as stempy counts them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.processing.accumulate import Events, Sum
from penstock.processing.describe import Plot
from penstock.processing.processor import CannotProcess, Frame, Processor, Result
from penstock.processing.processors import _files
from penstock.processing.processors._image import image_of, masked_of, native, native_type
from penstock.processing.processors._maxima import strict_maxima, threshold_floats, threshold_integers
from penstock.processing.series import Series

NAME = "electrons"


class Electrons(Processor):
    """Pixels that are greater than each of their eight neighbours, after dark and thresholds.

    Equal to `stempy.image.electron_count_frame` of stempy 3.6, at the edges too, where only the neighbours
    count that are there. As there, a dark is cut to whole counts unless there is a gain, and a pixel below
    its dark is none.
    """

    dark: str = ""
    """File with the dark, in counts; "" for none."""
    gain: str = ""
    """File with the gain, by which pixels are divided, in float32; "" for none."""
    background: float = 4.0
    """What is not above this is no electron, in counts after dark and gain."""
    xray: float = 2000.0
    """What is not below this is no electron, but an X-ray."""
    image: bool = False
    """True if there is an image of the electrons of all frames, too."""

    def configure(self) -> None:
        """Read the files."""
        if not self.background < self.xray:
            raise CannotProcess(
                f"background is {self.background:g} and xray {self.xray:g}; xray has to be the greater one"
            )
        self._dark = _files.image("dark", self.dark) if self.dark else None
        self._gain = _files.image("gain", self.gain) if self.gain else None
        self._notes = _files.notes(self._dark, self._gain)
        self._ready: tuple[tuple[int, ...], np.dtype[Any]] | None = None

    def start(self, series: Series) -> None:
        """Begin a series: compile for the type that its header says."""
        self._series = series
        shape, kind = series.header.shape, series.header.type
        self._shape = None if shape is None or len(shape) < 2 else tuple(shape[-2:])
        if kind is not None and np.dtype(kind).kind in "biuf":
            tiny = np.zeros((1, 1), native_type(kind))
            tiny.flags.writeable = False  # as pixels are
            self._count(tiny, _Prepared(self, tiny, None, None, None))

    def describe(self) -> list[Plot]:
        """Return labels."""
        image = [Plot("electron_image", label="electrons")] if self.image else []
        return [Plot("electron_count", label="electrons"), *image]

    def process(self, frame: Frame) -> Result:
        """Return `electrons`, events of uint32: row × columns + column, ascending; and `electron_count`."""
        image = image_of(frame, self._series, NAME)
        if image is None:
            return None
        image = native(image)
        if self._ready != (image.shape, image.dtype):
            self._prepare(image)
        found = self._count(image, self._prepared, self._series.rule_for(frame).not_good(image))
        result: dict[str, Any] = {NAME: Events(found), "electron_count": np.uint32(len(found))}
        if self.image:
            counted = np.zeros(image.size, np.uint8)
            counted[found] = 1
            result["electron_image"] = Sum(counted.reshape(image.shape))
        return result

    def finish(self, totals: Any) -> Result:
        """Return the rows and columns of a frame, `frame_shape`, which events do not tell."""
        return None if self._shape is None else {"frame_shape": np.array(self._shape, np.int64)}

    def _prepare(self, image: np.ndarray[Any, Any]) -> None:
        shape = image.shape
        dark = None if self._dark is None else _files.of_shape("dark", self.dark, self._dark, shape)
        gain = None if self._gain is None else _files.of_shape("gain", self.gain, self._gain, shape)
        masked = masked_of(self._series, shape, NAME)
        # Nor do pixels count whose dark or gain has no value.
        for lacking in (None if dark is None else ~np.isfinite(dark), None if gain is None else ~(gain > 0)):
            if lacking is not None and lacking.any():
                masked = lacking if masked is None else masked | lacking
        dark, gain = (None if each is None else np.nan_to_num(each, nan=0.0) for each in (dark, gain))
        self._prepared = _Prepared(self, image, dark, gain, masked)
        self._ready, self._shape = (shape, image.dtype), shape

    def _count(
        self, image: np.ndarray[Any, Any], prepared: _Prepared, bad: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        masked = prepared.masked if bad is None or not len(bad) else np.append(prepared.masked, bad)
        if prepared.factor is None:
            threshold_integers(image, prepared.dark, masked, prepared.low, prepared.high, prepared.bordered)
        else:
            threshold_floats(
                image, prepared.dark, prepared.factor, masked,
                float(self.background), float(self.xray), prepared.bordered,
            )  # fmt: skip
        count = strict_maxima(prepared.bordered, self.background < 0, prepared.found)
        return prepared.found[:count].copy()


class _Prepared:
    """What is the same for all frames of one shape and type.

    Args:
        processor: with its thresholds.
        image: a frame.
        dark, gain: float32, of its shape; `None` if there is none.
        masked: pixels that do not count; `None` if all do.
    """

    def __init__(
        self, processor: Electrons, image: np.ndarray[Any, Any], dark: np.ndarray[Any, Any] | None,
        gain: np.ndarray[Any, Any] | None, masked: np.ndarray[Any, Any] | None,
    ) -> None:  # fmt: skip
        rows, columns = image.shape
        is_whole = gain is None and processor.gain == "" and image.dtype.kind in "biu"
        kind: Any = np.float32
        if is_whole:
            kind = np.int32 if image.dtype.itemsize <= 2 else np.int64
        self.factor: np.ndarray[Any, Any] | None = None
        """`None`: integers are compared."""
        self.dark: np.ndarray[Any, Any] = np.zeros(image.shape, np.float32) if dark is None else dark.copy()
        if is_whole:
            self.dark = self.dark.astype(np.int32)  # cut, as stempy does
        else:
            self.factor = np.ones(image.shape, np.float32)
            if gain is not None:
                self.factor = np.divide(1.0, gain, out=np.ones(image.shape), where=gain > 0).astype(
                    np.float32
                )
        self.masked = np.zeros(0, np.int64) if masked is None else np.flatnonzero(masked)
        # Integers are above a threshold if they are above the greatest integer that is not.
        # Neither may be infinite, which is no integer.
        most = int(np.iinfo(kind).max) if is_whole else 0
        self.low = kind(math.floor(min(max(processor.background, -1), most))) if is_whole else 0
        self.high = kind(math.ceil(min(max(processor.xray, -1), most))) if is_whole else 0
        self.bordered: np.ndarray[Any, Any] = np.full(
            (rows + 2, columns + 2), -1 if is_whole else -np.inf, kind
        )
        self.found = np.empty(((rows + 1) // 2) * ((columns + 1) // 2), np.uint32)
