"""What the curves are drawn over: frames, their times, or the motor of a scan. Pure functions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FRAME, TIME = "frame", "time"
Values = npt.NDArray[np.float64]

_ABSOLUTE = frozenset({"ascan", "ascanct"})
_RELATIVE = frozenset({"dscan", "dscanct"})
"""Macros of Sardana whose command is: motor, first, last, intervals, and more that is not needed here."""


@dataclass(frozen=True)
class Scan:
    """The motor of a scan and its planned positions, evenly spaced."""

    motor: str
    first: float
    last: float
    points: int
    frames_per_point: int = 1
    relative: bool = False
    """Positions are counted from where the motor was before the scan."""

    @property
    def label(self) -> str:
        """What is written at the axis: the positions are those that were asked for."""
        return f"{self.motor} (planned{', from where it was' if self.relative else ''})"

    def positions(self, frames: npt.NDArray[np.int64]) -> Values:
        """Return the position of each frame; NaN behind the last point."""
        point = np.asarray(frames) // self.frames_per_point
        step = (self.last - self.first) / max(1, self.points - 1)
        return np.where(point < self.points, self.first + point * step, np.nan)


def scan_of(metadata: str, planned: int | None) -> Scan | None:
    """Return what a scan of one motor has written into the detector's Metadata; `None` if none has.

    Args:
        metadata: the attribute's text; see `penstock.sardana.channel.metadata.of_scan`.
        planned: frames of the series; `None` if that is not known.
    """
    try:
        found = json.loads(metadata) if metadata.strip() else {}
    except ValueError:
        return None
    scan = found.get("scan") if isinstance(found, Mapping) else None
    if not isinstance(scan, Mapping):
        return None
    return scan_said(found.get("title"), scan.get("macro"), scan.get("motors"), scan.get("points"), planned)


def scan_said(title: Any, macro: Any, motors: Any, points: Any, planned: int | None) -> Scan | None:
    """Return the scan of one motor that a series' metadata describe; `None` if they describe none.

    Args:
        title: the command.
        macro: its name.
        motors: names of the motors.
        points: number of points.
        planned: frames of the series; `None` if that is not known.
    """
    numbers = _typed(title, macro, motors)
    if numbers is None or not isinstance(points, int) or points < 1 or not planned or planned % points:
        return None
    return Scan(str(motors[0]), *numbers, points, planned // points, macro in _RELATIVE)


def seconds(times: Values) -> tuple[Values, float | None]:
    """Return times as seconds after the first one that is known, and that one; NaN where none is."""
    known = times[np.isfinite(times)]
    if not known.size:
        return np.full(times.shape, np.nan), None
    return times - known[0], float(known[0])


def _typed(title: Any, macro: Any, motors: Any) -> tuple[float, float] | None:
    """Return the first and last position of the command of a scan of one motor."""
    if macro not in _ABSOLUTE | _RELATIVE or not isinstance(motors, list) or len(motors) != 1:
        return None
    try:
        words = shlex.split(str(title))
        if len(words) < 4 or words[:2] != [macro, motors[0]]:
            return None
        return float(words[2]), float(words[3])
    except ValueError:
        return None
