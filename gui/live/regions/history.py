"""Values of the newest frames of one series, for a curve: no widget, no thread."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from penstock.receiver.models import RoiSeries, RoiValues

FRAMES = 10_000
"""Frames that a curve shows, at most: the newest."""
VALUES = ("sum", "mean", "max", "saturated")


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
