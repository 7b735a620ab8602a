"""What is read of one series for the channels, and what a channel shows of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from penstock.processing.client import Rows
from penstock.sardana.armed_series import SourceError
from penstock.sardana.axes_reader import Expected

DONE: Final = 1
"""Code of frames whose results are stored."""


@dataclass(frozen=True)
class Shown:
    """What one channel shows."""

    result: str = ""
    shape: tuple[int, ...] | None = ()
    """Shape of one value; `None` for a curve of any length."""

    def blank(self) -> Any:
        """Return the value of a frame that has none."""
        return math.nan if self.shape == () else np.full(self.shape or (1,), math.nan)


@dataclass(kw_only=True)
class Acquisition(Expected):
    """What is read of one series. `started` is not written by the reader's thread either."""

    seconds: float
    """Seconds of one exposure."""
    started: float = 0.0
    """Monotonic time of the last start."""
    look_again: float = 0.0
    """Monotonic time of the next look at the detector."""
    read: dict[str, Rows] = field(default_factory=dict)
    """Rows that have come with the states, by result."""
    has_ended: bool = False
    """True if the pipeline has ended with the series."""
    look_at: float = 0.0
    """Monotonic time of the next look at the pipeline's status."""
    note: str = ""
    """What the pipeline waits for."""
    behind: bool = False
    """True if a frame was given up, and none has been in time since."""
    over_since: float | None = None
    """Monotonic time since which all frames are out of the detector."""

    @property
    def names(self) -> list[str]:
        """The results that are shown."""
        return sorted({shown.result for shown in self.axes.values() if shown.result})


def values_of(shown: Shown, codes: np.ndarray[Any, Any], rows: Rows | None) -> list[Any]:
    """Return a value per frame.

    Args:
        shown: by the channel.
        codes: states of the frames.
        rows: of these frames, or of the first ones if the series has no more.

    Raises:
        SourceError: they are events, or have another shape than the channel's.
    """
    if rows is None:
        return [shown.blank() for _ in codes]
    if rows.counts is not None:
        raise SourceError(
            "shape", f"{shown.result} are events, any number per frame: a channel shows one value"
        )
    shape = rows.values.shape[1:]
    if shape != shown.shape and (shown.shape is not None or len(shape) != 1):
        raise SourceError("shape", _another_shape(shown, shape))
    if rows.values.dtype.kind not in "biuf":
        raise SourceError(
            "shape", f"{shown.result} is of type {rows.values.dtype}: a channel shows real numbers"
        )
    values = rows.values.astype(np.float64)
    found = [
        (float(value) if shown.shape == () else value) if has else shown.blank()
        for has, value in zip(rows.has.tolist(), values, strict=True)
    ]
    return found + [shown.blank() for _ in codes[len(found) :]]


def _another_shape(shown: Shown, shape: tuple[int, ...]) -> str:
    if shown.shape == ():
        return (
            f"{shown.result} is no number, it has the shape {shape}: a counter shows a number per frame; a "
            "curve has a channel of PenstockPipelineCurve"
        )
    if len(shape) != 1 or shown.shape is None:
        return f"{shown.result} is no curve, it has the shape {shape}: name a result of one dimension"
    return (
        f"{shown.result} has {shape[0]} points, and the scan was begun for {shown.shape[0]}: write 0 to "
        "Points of the channel, and repeat the scan"
    )
