"""A detector with its receiver, or with a pipeline on its frames, that a test moves by hand: what channels of
regions and of results read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.processing.client import Rows, States
from penstock.processing.models import FINAL, Result, Series, Status
from penstock.receiver.models import RoiSeries, RoiValues
from penstock.sardana.armed_series import Look, SourceError

PATIENCE = 5.0


class StandInDetector:
    """A detector; the series "before" is over."""

    name = "my/det/1"

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.state, self.series, self.acquired = "ON", "before", 0
        self.version = 0

    def publish(self, **changes: object) -> None:
        with self.changed:
            for name, value in changes.items():
                setattr(self, name, value)
            self.version += 1
            self.changed.notify_all()

    def arm(self, series: str = "new") -> None:
        self.publish(state="RUNNING", series=series, acquired=0)

    def look(self) -> Look:
        return Look(self.state, "The camera is on fire.", self.series, self.acquired)


class StandInReceiver(StandInDetector):
    """With its receiver: frame n of region peak has the sum n."""

    def __init__(self) -> None:
        super().__init__()
        self.complete_below, self.end = 0, None
        self.missing: set[int] = set()
        self.is_old = False
        """Before receivers counted saturated pixels."""
        self.refusal: SourceError | None = None
        self.requests: list[int] = []

    def arm(self, series: str = "new") -> None:
        self.publish(state="RUNNING", series=series, acquired=0, complete_below=0, end=None)

    def take(self, frames: int) -> None:
        self.publish(acquired=self.acquired + frames, complete_below=self.complete_below + frames)

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        with self.changed:
            self.requests.append(first)
            self.changed.wait_for(
                lambda: self.complete_below > first or self.end is not None or self.refusal, wait
            )
            if self.refusal is not None:
                raise self.refusal
            upto = max(first, min(first + count, self.complete_below if self.end is None else self.end))
            found = [None if index in self.missing else float(index) for index in range(first, upto)]
            known = RoiSeries(sum=found, mean=found, max=found, saturated=[] if self.is_old else found)
            return RoiValues(
                series=series, first=first, upto=upto, ended=self.end is not None, values={"peak": known}
            )


class StandInPipeline(StandInDetector):
    """With a pipeline: frame n has the number n and the curve n, n + 1, n + 2."""

    def __init__(self) -> None:
        super().__init__()
        self.known, self.active, self.file = "before", False, True
        self.codes: list[int] = []
        self.without: set[int] = set()
        self.away = False
        self.error = ""
        self.points = 3
        self.asked = 0

    def begin(self) -> None:
        """The pipeline has got the series."""
        self.publish(known=self.series, active=True, codes=[])

    def take(self, *states: str) -> None:
        """Frames come out of the detector, and end so; "pending" is no end."""
        codes = [1 + FINAL.index(state) if state in FINAL else 255 for state in states]
        self.publish(acquired=self.acquired + len(states), codes=self.codes + codes)

    def status(self) -> Status:
        with self.changed:
            self._check()
            series = Series(id=self.known, active=self.active, result_file="/a.h5" if self.file else None)
            return Status(
                state="error" if self.error else "running", error=self.error, pipeline="rings",
                series=series, version=self.version,
            )  # fmt: skip

    def _check(self) -> None:
        if self.away:
            raise SourceError("away", "no pipeline answers at http://…")

    def results(self, series: str | None = None) -> list[Result]:
        self._check()
        return [
            Result(name="n", kind="value", dtype="int64", shape=[]),
            Result(name="I", kind="value", dtype="float32", shape=[self.points]),
        ]

    def states(self, series: str, first: int, end: int) -> States:
        self._check()
        self.asked += 1
        if series != self.known or not self.file:
            raise SourceError("no_results" if series == self.known else "no_such_series", "…")
        return States(self.known, first, np.array(self.codes[first:end], np.uint8))

    def rows(self, series: str, name: str, first: int, end: int) -> Rows | None:
        self._check()
        if name not in ("n", "I") or series != self.known or not self.file:
            return None
        self.asked += 1
        frames = range(first, min(end, len(self.codes)))
        has = [self.codes[frame] == 1 and frame not in self.without for frame in frames]
        values: Any = [frame if name == "n" else frame + np.arange(self.points) for frame in frames]
        codes = np.array(self.codes[first:end], np.uint8)
        return Rows(self.known, first, 1, codes, np.array(has, bool), np.array(values))


def wait(until: Callable[[], Any]) -> None:
    """Wait until it is so, for five seconds at most."""
    limit = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if until():
            return
        limit.wait(0.005)
    raise AssertionError("it has not come")
