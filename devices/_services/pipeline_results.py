"""A thread that reads the newest results of a pipeline: one curve, and some numbers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tango

from penstock.devices._services.curve_feed import MOST_POINTS, Curve, CurveFeed
from penstock.processing.client import NoAnswer, PipelineClient, PipelineRefused
from penstock.processing.models import FINAL, Result, Status

log = logging.getLogger(__name__)

PACE = 0.04
"""Least seconds between two looks at the curve."""
NUMBERS_PACE = 0.2
"""Least seconds between two looks at the numbers, each of which is a question of its own."""
IDLE = 0.5
"""Seconds between two looks without a change."""
NOT_YET = ("no_results", "no_such_result", "not_a_result_file")
"""Refusals that end by themselves once the first frames are done."""


class CurveMeans(NamedTuple):
    """What a curve means."""

    name: str = ""
    """Its label, or else the result's name."""
    unit: str = ""
    axis: np.ndarray[Any, Any] = np.zeros(0)
    """(points,), float64."""
    axis_name: str = ""
    axis_unit: str = ""


class PipelineResults:
    """Calls `on_curve` for each curve, `on_means` before the first one and whenever its meaning changes.

    Both run in this object's thread.

    Args:
        client: of the pipeline.
        curve: name of the result that is the curve; "": the first one that has one dimension.
        numbers: names of the results that are numbers.
        on_curve: takes a curve; what it raises is logged, and the curve is handed over again.
        on_means: takes what it means.
        on_change: called after a change of `numbers` or `problem`.
    """

    def __init__(
        self, client: PipelineClient, curve: str, numbers: Sequence[str], *,
        on_curve: Callable[[Curve], None], on_means: Callable[[CurveMeans], None],
        on_change: Callable[[], None],
    ) -> None:  # fmt: skip
        self._client = client
        self._wanted = curve
        self._on_curve, self._on_means, self._on_change = on_curve, on_means, on_change
        self.numbers: dict[str, float | None] = dict.fromkeys(numbers)
        """The newest value of each, `None` while there is none. Replaced as a whole."""
        self.names: list[str] = []
        """Names of all results of the running or last series."""
        self.problem = ""
        """Why the curve or a number cannot be shown, in a sentence; "" if nothing is wrong."""
        self._status: Status | None = None
        self._feed: CurveFeed | None = None
        self._left: list[Curve] = []
        self._means: CurveMeans | None = None
        self._meant = ""  # id of the series whose curve has this meaning
        self._state: tuple[Any, ...] = ()
        self._curve_due = self._numbers_due = False
        self._numbers_at = 0.0
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pipeline results", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it ends after the present round."""
        self._stopped.set()
        self._wake.set()

    def follow(self, status: Status | None) -> None:
        """Take the newest status; `None` while the pipeline is away. From any thread."""
        self._status = status
        self._wake.set()

    def _run(self) -> None:
        with tango.EnsureOmniThread():
            while not self._stopped.wait(PACE):
                self._wake.wait(IDLE)
                self._wake.clear()
                if self._stopped.is_set():
                    return
                try:
                    self._round()
                except NoAnswer as error:
                    self._refused(error)
                except tango.DevFailed as error:  # the monitor was held: the curves are handed over again
                    log.warning("an event was not pushed: %s", error.args[-1].desc)
                    self._wake.set()
                except Exception as error:
                    if self._stopped.is_set():
                        return
                    log.exception("unexpected error")
                    self._say(f"Its results cannot be shown: internal error ({error!r}); see the log.")
                    self._stopped.wait(IDLE)

    def _round(self) -> None:
        self._hand_over()
        status = self._status
        if status is None or status.series is None:
            return
        series = status.series
        if series.result_file is None:
            why = series.reason or "they are not stored: give the series a file, or set results_root"
            self._say("" if series.active else f"The last series has no results: {why}")
            return
        state = (series.id, series.result_file, *(getattr(series.counts, name) for name in FINAL))
        if state != self._state:
            self._state, self._curve_due, self._numbers_due = state, True, True
        if self._numbers_due and time.monotonic() >= self._numbers_at:
            self._numbers_at = time.monotonic() + NUMBERS_PACE
            self._say(self._describe(series.id) or self._read_numbers())
            self._numbers_due = False
        owes = False
        if self._feed is not None and (self._curve_due or self._feed.owes):
            self._left += self._feed.next()
            self._curve_due, owes = False, self._feed.owes
        self._hand_over()
        if self._numbers_due or owes:
            self._wake.set()  # for another round at the usual pace

    def _hand_over(self) -> None:
        while self._left:
            self._on_curve(self._left[0])
            del self._left[0]

    def _describe(self, series: str) -> str:
        """Find out what results there are, and what the curve means; return what is wrong, or ""."""
        results = self._client.results()
        names = [each.name for each in results]
        if names != self.names:
            self.names = names
            self._on_change()
        curve, problem = self._curve_of(results)
        if curve is None:
            return problem
        (points,) = curve.shape
        if self._feed is None or (self._feed.name, self._feed.points) != (curve.name, points):
            self._feed, self._meant = CurveFeed(self._client, curve.name, points), ""
        if self._meant != series:
            means = self._meaning(curve, results)
            if self._means is None or not _same(means, self._means):
                self._on_means(means)
            self._means, self._meant = means, series
        return ""

    def _curve_of(self, results: list[Result]) -> tuple[Result | None, str]:
        """Return the result that is the curve; or `None`, and why if it was to be one."""
        curves = [
            each for each in results if each.kind == "value" and len(each.shape) == 1 and each.shape[0] > 1
        ]
        if not self._wanted:
            return next((each for each in curves if each.shape[0] <= MOST_POINTS), None), ""
        found = next((each for each in results if each.name == self._wanted), None)
        if found is None:
            there = ", ".join(each.name for each in curves) or "none"
            return None, f"There is no result {self._wanted} (CurveResult) yet; curves: {there}."
        if found not in curves:
            return None, (
                f"CurveResult is {found.name}, which is no curve (one value of one dimension per frame): "
                f"it is of kind {found.kind} and shape {tuple(found.shape)}."
            )
        if found.shape[0] > MOST_POINTS:
            return None, f"{found.name} has {found.shape[0]:,} points, and {MOST_POINTS:,} can be shown."
        return found, ""

    def _meaning(self, curve: Result, results: list[Result]) -> CurveMeans:
        points = curve.shape[0]
        index = CurveMeans(curve.label or curve.name, curve.unit, np.arange(points, dtype=np.float64))
        axis = next((each for each in results if each.name in curve.axes), None)
        if axis is None:
            return index
        try:
            values = np.asarray(self._client.latest_array(axis.name), dtype=np.float64)
        except PipelineRefused:
            return index
        if values.shape != (points,):
            return index
        return index._replace(axis=values, axis_name=axis.label or axis.name, axis_unit=axis.unit)

    def _read_numbers(self) -> str:
        """Read the newest numbers; return what is wrong with one of them, or ""."""
        found: dict[str, float | None] = {}
        problem = ""
        for name in self.numbers:
            found[name], why = self._number(name)
            problem = problem or why
        if found != self.numbers:
            self.numbers = found
            self._on_change()
        return problem

    def _number(self, name: str) -> tuple[float | None, str]:
        try:
            value = self._client.latest(name).value
        except PipelineRefused as refused:
            if refused.kind == "no_such_result" and name not in self.names:
                there = ", ".join(self.names) or "none"
                return None, f"There is no result {name} (ScalarResults) yet; results: {there}."
            return None, "" if refused.kind in NOT_YET else f"{name}: {refused}"
        if isinstance(value, bool | int | float):
            return float(value), ""
        return None, "" if value is None else f"{name} (ScalarResults) is no number."

    def _refused(self, error: NoAnswer) -> None:
        if not isinstance(error, PipelineRefused) or error.kind in NOT_YET:
            return  # the status says whether the pipeline is away
        self._say(str(error))

    def _say(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._on_change()


def _same(one: CurveMeans, other: CurveMeans) -> bool:
    return np.array_equal(one.axis, other.axis) and one._replace(axis=other.axis) == other
