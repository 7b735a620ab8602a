"""What the window knows at one moment, as one value that is handed from the feed to the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.results.sources.held import PENDING, Codes, One
from penstock.gui.live.sources.following import Known
from penstock.processing.models import Result, Status


class Page(Enum):
    """How a result is shown."""

    CURVE = "curve"
    """The newest curves, or that of one frame."""
    FRAMES = "frames"
    """Curves of all frames, one per row of an image."""
    OVER_FRAMES = "over frames"
    """One number per frame."""
    PICTURE = "picture"
    NUMBER = "number"


def pages(result: Result) -> tuple[Page, ...]:
    """Return how a result can be shown, the usual way first; nothing if it cannot."""
    per_frame, dimensions = result.kind == "value", len(result.shape)
    if result.kind == "axis":
        return ()
    if result.kind == "events":
        return (Page.OVER_FRAMES,)
    if dimensions == 0:
        return (Page.OVER_FRAMES,) if per_frame else (Page.NUMBER,)
    if dimensions == 1:
        return (Page.CURVE, Page.FRAMES) if per_frame else (Page.CURVE,)
    return (Page.PICTURE,) if dimensions == 2 else ()


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is to be seen."""

    name: str = ""
    """Name of a result; "": nothing."""
    page: Page = Page.CURVE
    frame: int | None = None
    """`None`: the newest."""
    last: int = 1
    """How many curves, with those before it."""
    errors: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """Values of one result."""

    series: str
    name: str
    page: Page


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves(Shown):
    """Curves of frames, or an accumulated one."""

    frame: int | None = None
    """The frame that is wanted; `None`: the curve is of no single frame."""
    n: int | None = None
    """Frames in an accumulated curve."""
    curves: tuple[One, ...] = ()
    """In ascending order of frames; the last is that of `frame`, if it has one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rectangle(Shown):
    """Curves of all frames: every `step`-th frame is a row; NaN where there is none."""

    values: npt.NDArray[Any]
    step: int
    loading: bool
    """True if more rows are known to be there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OverFrames(Shown):
    """A number of every `step`-th frame; NaN where there is none."""

    values: npt.NDArray[np.float64]
    step: int
    loading: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Picture(Shown):
    """An image of a frame, or an accumulated one; also a single number."""

    frame: int | None = None
    n: int | None = None
    value: npt.NDArray[Any] | None = None
    """`None` where the frame has none."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Snapshot(Known):
    """The newest status and values, and whether anybody answers."""

    status: Status | None = None
    series: str = ""
    """Id of the series that results and states are of."""
    results: tuple[Result, ...] = ()
    axes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Values of axes by name, as far as they were wanted."""
    codes: Codes = field(default_factory=lambda: np.zeros(0, np.uint8))
    """State of each frame, as far as frames have come of very many planned ones."""
    beyond: int = PENDING
    """State of all others."""
    shown: Shown | None = None
    """What was wanted last; `None` while there is none."""
    sentence: str = ""
    """Why the frame that is wanted has failed, where that is known."""
