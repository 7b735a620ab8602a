"""The results of a pipeline as records: each value of each frame once, as soon as its frame is done.

| result | record |
|---|---|
| a number per frame | NTScalar |
| a curve per frame | NTScalarArray; its axes are records of their own |
| an image per frame | NTNDArray |
| accumulated, or of the whole series | the same by its shape, once a second at most |

What was processed before the bridge was started is not posted. A frame that is done later than its
successors is posted when it is done: `userTag`, or `uniqueId`, is its index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

import numpy as np

from penstock.bridges.epics import models
from penstock.bridges.epics.ndarray import Attribute, of_pixels, plain
from penstock.bridges.epics.pva import About, Image, Records, Scalar
from penstock.processing.client import NoAnswer, PipelineClient
from penstock.processing.models import Result, Series, Status

log = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two looks at least."""
ACCUMULATED = 1.0
"""Seconds between two updates of an accumulated value."""
MOST_ROWS = 500
"""Frames of one question."""
DONE, PENDING = 1, 255
"""States of a frame, with the numbers of the result file; PENDING and other high ones may still change."""
FINAL = (1, 2, 3, 4, 5)

TimeOf = Callable[[str, int], float | None]


class _Record(Protocol):
    def post(self, value: np.ndarray[Any, Any], when: float | None, index: int) -> None:
        """Show a value."""


class _Number:
    def __init__(self, scalar: Scalar) -> None:
        self._scalar = scalar

    def post(self, value: np.ndarray[Any, Any], when: float | None, index: int) -> None:
        self._scalar.post(plain(value)[()].item(), when, index)


class _Row:
    def __init__(self, scalar: Scalar) -> None:
        self._scalar = scalar

    def post(self, value: np.ndarray[Any, Any], when: float | None, index: int) -> None:
        self._scalar.post(plain(value), when, index)


class _Picture:
    def __init__(self, image: Image, name: str) -> None:
        self._image, self._known = image, (Attribute("result", name, "Name of the result"),)

    def post(self, value: np.ndarray[Any, Any], when: float | None, index: int) -> None:
        mode = Attribute("ColorMode", 0, "Color mode")
        self._image.post(of_pixels(value, index, time.time() if when is None else when, (mode, *self._known)))


class _Served:
    """One result that is served, or is not: then `problem` says why."""

    def __init__(self, result: Result, records: Records) -> None:
        self.result = result
        self.posted = 0
        self.frame: int | None = None
        self.problem = ""
        self.name = ""
        self.n: int | None = None  # frames in an accumulated value
        self.due = 0.0
        self._record: _Record | None = None
        self._scalar: Scalar | None = None
        try:
            kind = plain(np.empty(0, result.dtype)).dtype.name
        except (ValueError, TypeError) as error:
            self.problem = str(error)
            return
        if result.kind == "events":
            self.problem = "lists of events of different lengths are not served: the result file has them"
            return
        place = f"Results:{result.name}"
        if len(result.shape) < 2:
            scalar = Scalar(About(kind, result.unit, _text(result)), row=bool(result.shape))
            self._scalar = scalar
            self._record = (_Row if result.shape else _Number)(scalar)
            self.name = records.add(place, scalar)
        else:
            image = Image()
            self._record = _Picture(image, result.name)
            self.name = records.add(place, image)

    @property
    def status(self) -> models.Result:
        """For the bridge's status."""
        return models.Result(
            name=self.result.name, record=self.name, posted=self.posted, frame=self.frame,
            problem=self.problem,
        )  # fmt: skip

    def renew(self, result: Result) -> bool:
        """Take what is said of the result now; return false if that needs another record."""
        if (result.kind, result.dtype) != (self.result.kind, self.result.dtype):
            return False
        if min(len(result.shape), 2) != min(len(self.result.shape), 2):
            return False
        if self._scalar is not None and (result.unit, _text(result)) != (
            self.result.unit,
            _text(self.result),
        ):
            self._scalar.update({"display.units": result.unit, "display.description": _text(result)})
        self.result = result
        return True

    def begin(self) -> None:
        """A series begins."""
        self.n, self.due, self.frame = None, 0.0, None

    def post(self, value: np.ndarray[Any, Any], when: float | None, index: int | None) -> None:
        """Post a value."""
        assert self._record is not None
        self._record.post(value, when, index or 0)
        self.posted += 1
        self.frame = index


class _Progress:
    """What has been posted of one series."""

    def __init__(self, *, joined: bool) -> None:
        self.joined = joined  # whether it ran before the bridge was there
        self.low = 0  # all frames before it are posted, or have nothing to post
        self.posted = np.zeros(0, bool)  # from `low` on

    def news(self, first: int, codes: np.ndarray[Any, Any]) -> list[int]:
        """Return the frames that are done and were not posted."""
        if len(self.posted) < len(codes):
            self.posted = np.concatenate([self.posted, np.zeros(len(codes) - len(self.posted), bool)])
        return [first + int(each) for each in np.flatnonzero((codes == DONE) & ~self.posted[: len(codes)])]

    def forget(self, codes: np.ndarray[Any, Any]) -> None:
        """Move on to the first frame that may still have something to post."""
        settled = np.isin(codes, FINAL) & (self.posted[: len(codes)] | (codes != DONE))
        ended = len(settled) if settled.all() else int(np.argmin(settled))
        self.posted, self.low = self.posted[ended:], self.low + ended


class ResultRecords:
    """The results of one pipeline.

    Args:
        client: of the pipeline.
        records: of the bridge.
        names: of the results that are served; empty: all.
        time_of: when a frame was taken, as far as it is known.
    """

    def __init__(
        self, client: PipelineClient, records: Records, names: Collection[str], time_of: TimeOf
    ) -> None:
        self._client, self._records, self._names, self._time_of = client, records, names, time_of
        self._served: dict[str, _Served] = {}
        self._open: dict[str, _Progress] = {}
        self._over: dict[str, None] = {}  # ids of series that are done with, in order
        self._is_first = True
        self._absent: tuple[tuple[str, str], ...] = ()  # names in the file that no result has, and why
        self._news = threading.Event()
        self._status: Status | None = None

    @property
    def status(self) -> list[models.Result]:
        """For the bridge's status."""
        served = [each.status for each in list(self._served.values())]
        return served + [models.Result(name=name, record="", problem=why) for name, why in self._absent]

    def show(self, status: Status) -> None:
        """Take the pipeline's newest status; another thread posts what is new."""
        self._status = status
        self._news.set()

    def run(self, ends: threading.Event) -> None:
        """Post what is new until `ends` is set."""
        while not ends.is_set():
            if not self._news.wait(0.5):
                continue
            self._news.clear()
            if self._status is not None:
                try:
                    self.step(self._status)
                except NoAnswer as error:  # its watch says so; what is missing comes with the next answer
                    log.info("%s", error)
                    self._news.set()
            ends.wait(PAUSE)

    def step(self, status: Status) -> None:
        """Post what is new by this status.

        Raises:
            NoAnswer: the pipeline does not answer.
        """
        known = [each for each in (*reversed(status.others), status.series) if each is not None]
        for series in known:
            if series.id in self._over:
                continue
            if self._is_first and not series.active:
                self._over[series.id] = None
                if series is status.series and series.result_file is not None:
                    self._of_series(series)  # clients find the records before the next series has begun
                continue
            if series.id not in self._open:
                self._open[series.id] = _Progress(joined=self._is_first)
                for served in self._served.values():
                    served.begin()
            if series.result_file is not None:
                self._post(series, self._open[series.id])
            if not series.active:
                del self._open[series.id]
                self._over[series.id] = None
        self._is_first = False
        while len(self._over) > 1000:
            del self._over[next(iter(self._over))]

    def _post(self, series: Series, progress: _Progress) -> None:
        found = self._client.states(f"{progress.low}:", series=series.id)
        fresh = progress.news(found.first, found.codes)
        if progress.joined:
            progress.posted[[each - progress.low for each in fresh]] = True
            fresh, progress.joined = [], False
        results = self._of_series(series) if fresh or not series.active else list(self._served.values())
        for served in results:
            if served.name and served.result.kind == "axis" and served.n is None:
                served.post(self._client.latest_array(served.result.name, series=series.id), None, None)
                served.n = 0
        for first, end in _runs(fresh):
            self._post_rows(series.id, first, end, [each for each in results if each.result.kind == "value"])
            progress.posted[first - progress.low : end - progress.low] = True
        progress.forget(found.codes)
        for served in results:
            if served.name and served.result.kind in ("accumulated", "whole"):
                self._post_newest(series, served)

    def _of_series(self, series: Series) -> list[_Served]:
        """Return the results of a series, each with its record."""
        found = self._client.results(series=series.id)
        names = [result.name for result in found]
        why = f"the pipeline has no such result; it has {', '.join(names) or 'none'}: correct results"
        self._absent = tuple((name, why) for name in self._names if names and name not in names)
        for result in found:
            if self._names and result.name not in self._names:
                continue
            before = self._served.get(result.name)
            if before is None or not before.renew(result):
                made = self._served[result.name] = _Served(result, self._records)
                made.posted = 0 if before is None else before.posted
        return list(self._served.values())

    def _post_rows(self, series: str, first: int, end: int, results: list[_Served]) -> None:
        """Post the values of consecutive frames, frame by frame."""
        rows = [
            (each, self._client.rows(each.result.name, f"{first}:{end}", series=series))
            for each in results
            if each.name
        ]
        for place, index in enumerate(range(first, end)):
            when = self._time_of(series, index)
            for served, found in rows:
                if found.has[place]:
                    served.post(found.values[place], when, index)

    def _post_newest(self, series: Series, served: _Served) -> None:
        now = time.monotonic()
        if series.active and (served.result.kind == "whole" or now < served.due):
            return
        served.due = now + ACCUMULATED
        try:
            found = self._client.newest(served.result.name, series=series.id)
        except NoAnswer as error:
            served.problem = str(error)
            return
        served.problem = ""
        if found.n is None or found.n != served.n:
            served.n = found.n
            served.post(found.value, None, None)


def _text(result: Result) -> str:
    """Return what a record says of its values."""
    over = f" over {', '.join(result.axes)}" if result.axes else ""
    return f"{result.label or result.name}{over}"


def _runs(frames: list[int]) -> Iterator[tuple[int, int]]:
    """Yield consecutive frames as first and end, no more than `MOST_ROWS` at once."""
    start = 0
    for place in range(1, len(frames) + 1):
        if place == len(frames) or frames[place] != frames[place - 1] + 1 or place - start == MOST_ROWS:
            yield frames[start], frames[place - 1] + 1
            start = place
