"""What a pipeline has said last, with its rate and its last error; no Tango."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from penstock.processing.client import NoAnswer
from penstock.processing.models import FINAL, Series, Status

RATE_SECONDS = 2.0
"""Seconds over which the rate is taken: accumulated values are handed over once per second."""


class Snapshot(NamedTuple):
    """The newest status, and what follows from it and those before."""

    status: Status
    rate: float
    """Frames per second that become done."""
    last_error: str
    """The pipeline's, or the newest one of a worker; "" if there was none."""


class PipelineRecord:
    """Takes every status of a pipeline.

    Args:
        url: of the pipeline.
        clock: monotonic seconds.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.snapshot: Snapshot | None = None
        self.unavailable = f"The pipeline at {url} has not answered yet."
        """Why there is no status now; "" if there is."""
        self._done: deque[tuple[float, str, int]] = deque()
        self._errors: dict[str, str] = {}
        self._last_error = ""

    def take(self, status: Status | NoAnswer) -> None:
        """Take a status, or the error in place of it."""
        if isinstance(status, NoAnswer):
            self.unavailable = str(status)
            return
        self._find_error(status)
        self.snapshot = Snapshot(status, self._rate(status.series), self._last_error)
        self.unavailable = ""

    def sentence(self) -> str:
        """Return the state of the pipeline in sentences."""
        if self.unavailable or self.snapshot is None:
            return self.unavailable
        status = self.snapshot.status
        if status.state == "error":
            return f"{status.error} Correct this and call Reset."
        waits = f" {status.waits_for[:1].upper()}{status.waits_for[1:]}" if status.waits_for else ""
        waits += "." if waits and waits[-1] not in ".?!" else ""
        series = status.series
        if series is None:
            return f"Idle; no series yet.{waits}"
        if series.active:
            where = f" into {series.result_file}" if series.result_file else ""
            reason = f" {series.reason}" if series.reason and not waits else ""
            return f"Processing a series{where}.{waits}{reason}"
        return f"Idle; {_ended(series)}{waits}"

    def _find_error(self, status: Status) -> None:
        errors = {each.name: each.last_error for each in status.workers if each.last_error}
        for name, error in errors.items():
            if self._errors.get(name) != error:
                self._last_error = f"{name}: {error}"
        self._errors = errors
        if status.error:
            self._last_error = status.error

    def _rate(self, series: Series | None) -> float:
        now = self._clock()
        name, done = ("", 0) if series is None else (series.id, series.counts.done)
        if self._done and (self._done[-1][1] != name or self._done[-1][2] > done):
            self._done.clear()
        self._done.append((now, name, done))
        while len(self._done) > 2 and self._done[1][0] <= now - RATE_SECONDS:
            self._done.popleft()
        since, _, before = self._done[0]
        return (done - before) / (now - since) if now > since else 0.0


def _ended(series: Series) -> str:
    counts = series.counts
    reason = f": {series.reason}" if series.reason else "."
    if counts.done == counts.frames:
        return f"every frame of the last series is done{reason}"
    others = ", ".join(
        f"{getattr(counts, name)} {name}" for name in FINAL if name != "done" and getattr(counts, name)
    )
    return f"NOT every frame of the last series is done ({counts.done} of {counts.frames}; {others}){reason}"
