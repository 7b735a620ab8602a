"""The curves of a pipeline's frames that become events: each one while they come slowly, else the newest.

A curve is a result of one dimension. Their frames end in any order; their events have ascending frames.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock.processing.client import Newest, Rows
from penstock.processing.models import FINAL

PER_SECOND = 20.0
"""Curves per second, over a longer time, at most."""
BURST = 40.0
"""Curves at once at most: workers may hand over the results of a second together."""
LATE = 1.5
"""Seconds for which a frame whose state is not final holds back the curves of later ones."""
MOST_POINTS = 65_536
"""Most points of one curve."""
MOST_VALUES = 200_000
"""Numbers in one answer, beyond which the newest curve alone is asked for."""


class Curve(NamedTuple):
    """The curve of one frame."""

    name: str
    """Name of the result."""
    series: str
    """Id of the series."""
    frame: int
    values: np.ndarray[Any, Any]
    """(points,), float64; NaN where there is none."""


class Client(Protocol):
    """What is asked of a pipeline; each call may raise `NoAnswer`."""

    def newest(self, name: str, *, series: str | None = None) -> Newest:
        """Return the newest value of a result."""

    def rows(self, name: str, frames: str, *, series: str | None = None) -> Rows:
        """Return the values of frames a:b, with their states."""


class CurveFeed:
    """The curves of one result.

    Args:
        client: of the pipeline.
        name: of the result.
        points: of a curve.
        clock: monotonic seconds.
    """

    def __init__(
        self, client: Client, name: str, points: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self.name = name
        self.points = points
        self._clock = clock
        self._series = ""
        self._next = 0  # frames below it have had their event, or have none
        self._held_since: float | None = None
        self._tokens, self._filled = BURST, clock()
        self.owes = False
        """True if more are there, or may come, without any change of the pipeline's counts."""

    def next(self) -> list[Curve]:
        """Return the curves that have come since, with ascending frames.

        Raises:
            NoAnswer: the pipeline is away, or has no such result now.
        """
        latest = self._client.newest(self.name)
        if latest.series != self._series:
            self._series, self._next, self._held_since = latest.series, 0, None
        self.owes = False
        if latest.frame is None or latest.frame < self._next:
            return []
        self._refill()
        count = latest.frame + 1 - self._next
        if count > 1 and count <= self._tokens and count * self.points <= MOST_VALUES:
            found = self._each(latest.frame + 1)
        elif self._tokens >= 1:
            self._next, self._held_since = latest.frame + 1, None
            found = [self._curve(latest.frame, latest.value)]
        else:
            self.owes = True
            return []
        self._tokens -= len(found)
        return found

    def _each(self, end: int) -> list[Curve]:
        answer = self._client.rows(self.name, f"{self._next}:{end}", series=self._series)
        found = []
        for frame, (state, has, value) in enumerate(
            zip(answer.states.tolist(), answer.has.tolist(), answer.values, strict=True), answer.first
        ):
            final = 1 <= state <= len(FINAL)
            if not final and self._holds():
                break
            self._next = frame + 1
            if final:
                self._held_since = None
            if has:
                found.append(self._curve(frame, value))
        self.owes = self._next < end
        return found

    def _holds(self) -> bool:
        """Return whether to wait for a frame that is not final."""
        now = self._clock()
        if self._held_since is None:
            self._held_since = now
        return now - self._held_since < LATE

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(BURST, self._tokens + (now - self._filled) * PER_SECOND)
        self._filled = now

    def _curve(self, frame: int, value: Any) -> Curve:
        return Curve(self.name, self._series, frame, np.array(value, dtype=np.float64))
