"""Values of the newest frames of one series, for a curve or a table: no widget, no thread.

Those of the frames that this window has shown are not of every frame, and marked as such.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.gui.live.regions.axis import Scan
from penstock.receiver.models import RoiSeries, RoiValues

FRAMES = 10_000
"""Frames that a curve shows, and that are remembered of those shown, at most: the newest."""
VALUES = ("sum", "mean", "max", "saturated")


NAME = "frames shown"
"""Name of the columns in a table."""
WHOLE = "whole frame"
"""What the values are of, in the plot; a region's name has no space in it."""


class Shown:
    """What was counted of the frames shown, of one series at a time."""

    def __init__(self) -> None:
        self.series = ""
        self._known: dict[int, tuple[float, ...]] = {}

    def add(self, series: str, frame: int, time: float | None, counted: Sequence[float | None]) -> None:
        """Add a frame.

        Args:
            series: id of its series; another one forgets the frames of the last.
            frame: its index.
            time: when it was, in seconds since 1970.
            counted: sum, mean and maximum of its pixels that count, and the number of saturated ones.
        """
        if series != self.series:
            self.series = series
            self._known.clear()
        values = tuple(np.nan if value is None else float(value) for value in (time, *counted))
        self._known[frame] = values
        while len(self._known) > FRAMES:
            del self._known[next(iter(self._known))]

    def curve(self, value: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return indices, ascending, and values."""
        frames = sorted(self._known)
        place = 1 + VALUES.index(value)
        return np.array(frames, np.int64), np.array([self._known[each][place] for each in frames], np.float64)

    def times(self) -> npt.NDArray[np.float64]:
        """Return the times of the same frames; NaN where one is not known."""
        return np.array([self._known[each][0] for each in sorted(self._known)], np.float64)


class History:
    """What is known of one series; `next` says what to ask for."""

    def __init__(self, series: str, latest: int | None) -> None:
        """Begin with the newest frames; `latest` is the index of the newest one, if there is any."""
        self.series = series
        self.next = 0 if latest is None else max(0, latest + 1 - FRAMES)
        self.ended = False
        """Note that the series has ended."""
        self._first = self.next
        self._known: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
        self._times = np.empty(0)

    def take(self, answer: RoiValues) -> bool:
        """Add an answer; true where something in it is new."""
        if answer.series != self.series or answer.first != self.next:
            return False
        new = answer.upto > self.next
        self.ended = answer.ended and not new
        self.next = answer.upto
        first = max(self._first, self.next - FRAMES)
        for key, values in _columns(answer.values, answer.upto - answer.first).items():
            before = self._known.get(key, np.full(answer.first - self._first, np.nan))
            self._known[key] = np.concatenate((before, values))[first - self._first :]
        times = np.array(answer.time or [None] * (answer.upto - answer.first), np.float64)
        self._times = np.concatenate((self._times, times))[first - self._first :]
        self._first = first
        return new

    def regions(self) -> list[str]:
        """Return the names of the regions that have values."""
        return list(dict.fromkeys(region for region, _ in self._known))

    def times(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return frame indices and times, in seconds since 1970; NaN where one is not known."""
        return np.arange(self._first, self._first + len(self._times)), self._times

    def curve(self, region: str, value: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Frame indices and values, NaN where a frame is missing; empty for a region that is not there."""
        values = self._known.get((region, value), np.empty(0))
        return np.arange(self._first, self._first + len(values)), values


def _columns(values: Mapping[str, RoiSeries], count: int) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    # None becomes NaN; of older receivers, no saturated pixels are known.
    return {
        (name, value): np.array(getattr(series, value) or [None] * count, np.float64)
        for name, series in values.items()
        for value in VALUES
    }


def as_csv(history: History | None, shown: Shown, scan: Scan | None) -> str:
    """Return one line per frame: index, time in seconds since 1970, the motor, all values of all regions, and
    those of the frames shown; what is not known is empty.

    Args:
        history: values of the receiver's regions; `None` if there are none.
        shown: what this window has counted.
        scan: the motor; `None` without one.
    """
    columns: dict[str, dict[int, float]] = {}
    times: dict[int, float] = {}
    if shown.curve("sum")[0].size:
        times |= _by_frame(shown.curve("sum")[0], shown.times())
    if history is not None:
        times |= _by_frame(*history.times())
        for region in history.regions():
            for value in VALUES:
                columns[f"{region}:{value}"] = _by_frame(*history.curve(region, value))
    for value in VALUES:
        found = _by_frame(*shown.curve(value))
        if found:
            columns[f"{NAME}:{value}"] = found
    frames = sorted(set().union(*columns.values()))
    motor = {} if scan is None else _by_frame(frames, scan.positions(np.array(frames, np.int64)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["frame", "time", *([scan.label] if scan is not None else []), *columns])
    for frame in frames:
        row: list[object] = [frame, _cell(times.get(frame))]
        if scan is not None:
            row.append(_cell(motor.get(frame)))
        writer.writerow([*row, *(_cell(values.get(frame)) for values in columns.values())])
    return text.getvalue()


def _by_frame(frames: object, values: object) -> dict[int, float]:
    return {int(frame): float(value) for frame, value in zip(frames, values, strict=True)}  # type: ignore[call-overload]


def _cell(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value).removesuffix(".0")
