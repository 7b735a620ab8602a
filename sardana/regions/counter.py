"""Values of regions of interest as counters: by frame index, for step scans and for continuous ones.

A thread reads the values of the series that the detector's own channel has armed. Every call by Sardana
returns at once.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock.receiver.models import RoiValues
from penstock.sardana.armed_series import armed_series, look_at
from penstock.sardana.axes_reader import AxesReader
from penstock.sardana.regions.source import Look, Source, SourceError

VALUES: Final = ("sum", "mean", "max", "saturated")
"""Values of each region per frame."""
WAIT: Final = 0.5
"""Seconds for which one request may wait for values: bounds how long `close` takes."""
MOST: Final = 10_000
"""Frames in one answer."""
POLL: Final = 0.02
"""Seconds between two polls of a detector that is still arming."""
MISSING_AFTER: Final = 10.0
"""Seconds without a further value, once the detector has delivered all frames, after which missing values are
given up: in a step scan the series does not end before that."""


@dataclass(frozen=True)
class Axis:
    """What one counter shows."""

    region: str = ""
    value: str = "sum"


@dataclass
class _Series:
    """What is read of one series. Written by the reader's thread, except `due`, `stopped` and `given`."""

    per_start: int
    """Frames per start."""
    before: Look | None
    """The detector when the series was announced; it may have been armed already, or not yet."""
    axes: dict[int, Axis]
    last: str
    """Id of the last acquisition's series, which cannot be that of this one."""
    due: int = 0
    """Frames requested so far."""
    id: str = ""
    upto: int = 0
    """Frames whose values are present, or known to be missing."""
    ended: bool = False
    """Nothing more will come."""
    stopped: bool = False
    fault: str = ""
    regions: frozenset[str] | None = None
    """Regions of the series, as soon as they are known."""
    values: dict[int, array[float]] = field(default_factory=dict)
    """Values by axis, one per frame."""
    given: dict[int, int] = field(default_factory=dict)
    """Number of values that Sardana was given, by axis."""
    waits_since: float = 0.0
    """Monotonic time since which no value has come although the detector has delivered all frames; or 0."""

    @property
    def busy(self) -> bool:
        """True if there is something to read."""
        return not (self.stopped or self.fault or self.ended) and self.upto < self.due


class RegionCounter(AxesReader[Axis, _Series]):
    """The counters of one detector.

    Args:
        source: the detector and its receiver.
        clock: monotonic seconds.
    """

    def __init__(self, source: Source, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__("penstock-regions", Axis(), "the values of regions", WAIT + 1.0)
        self._source = source
        self._clock = clock

    # Axes ---------------------------------------------------------------------------------------

    def show(self, axis: int, *, region: str | None = None, value: str | None = None) -> None:
        """Choose what a counter shows, from the next acquisition on.

        Raises:
            ValueError: there is no such value.
        """
        present = self._axes[axis]
        if value is not None and value not in VALUES:
            raise ValueError(f"RegionValue {value!r}: write one of {', '.join(VALUES)}")
        self._axes[axis] = Axis(
            present.region if region is None else region.strip(), present.value if value is None else value
        )

    # An acquisition -----------------------------------------------------------------------------

    def prepare(self, per_start: int) -> None:
        """Expect a new series, which may have been armed just now; never raises.

        Args:
            per_start: frames per start.
        """
        last = "" if self._acquisition is None else self._acquisition.id or self._acquisition.last
        before, fault = None, ""
        try:
            before = self._source.look()
        except SourceError as error:
            fault = str(error)
        with self._changed:
            self._acquisition = _Series(per_start, before, dict(self._axes), last, fault=fault)

    def start(self) -> None:
        """Expect the next frames, which have been, or are about to be, triggered; never raises."""
        with self._changed:
            series = self._acquisition
            if series is None:
                return
            series.due += series.per_start
            self._changed.notify_all()

    def state(self, axis: int) -> tuple[str, str]:
        """Return the name of Sardana's state, and a sentence."""
        shows, series = self._axes[axis], self._acquisition
        if not shows.region:
            return "Fault", "no region: write the name of one to the attribute Region"
        if series is None or series.stopped:
            return "On", f"{shows.value} of {shows.region}: idle"
        if series.fault:
            return "Fault", series.fault
        if series.regions is not None and self._used(series, axis).region not in series.regions:
            return "Fault", _unknown(self._source.name, self._used(series, axis).region, series.regions)
        done = f"{shows.value} of {shows.region}: {min(series.upto, series.due)} of {series.due} values"
        return ("Moving" if series.busy else "On"), done

    def value(self, axis: int) -> float:
        """Return the value of the frame that was started last; NaN if it is missing, or not there yet."""
        series = self._acquisition
        if series is None:
            return math.nan
        values, index = series.values.get(axis), series.due - 1
        return values[index] if values is not None and 0 <= index < len(values) else math.nan

    def new_values(self, axis: int) -> list[float]:
        """Return those that were not given yet, in the order of the frames; NaN for each missing frame."""
        series = self._acquisition
        if series is None:
            return []
        over = (series.ended or series.fault) and not series.stopped
        upto = min(series.upto, series.due)
        first, values = series.given.get(axis, 0), series.values.get(axis, array("d"))
        found = list(values[first:upto])
        if over:
            found += [math.nan] * (series.due - first - len(found))
        series.given[axis] = first + len(found)
        return found

    # The thread ---------------------------------------------------------------------------------

    def _read(self, series: _Series) -> None:
        if not series.id:
            self._find(series)
            return
        try:
            answer = self._source.values(series.upto, min(MOST, series.due - series.upto), series.id, WAIT)
        except SourceError as error:
            if error.kind == "no_rois":
                raise SourceError(error.kind, _no_regions(self._source.name)) from error
            if error.kind != "no_such_series":
                raise
            self._wait_on(series, str(error))
            return
        if self._take(series, answer):
            series.waits_since = 0.0
        elif not series.ended:
            self._wait_on(series)

    def _find(self, series: _Series) -> None:
        """Find the series, which was armed since the last acquisition, or just before this one."""
        series.id = armed_series(self._source, series.before, series.last, "regions are counted in")
        if not series.id:
            with self._changed:
                self._changed.wait(POLL)

    def _take(self, series: _Series, answer: RoiValues) -> bool:
        """Store the values of an answer; return whether any was new."""
        series.regions = frozenset(answer.values)
        for axis, shows in series.axes.items():
            known = answer.values.get(shows.region)
            found = None if known is None else getattr(known, shows.value)
            if not found:  # there is no such region, or an older receiver, which counts no saturated pixels
                found = [None] * (answer.upto - answer.first)
            series.values.setdefault(axis, array("d")).extend(
                math.nan if value is None else value for value in found
            )
        new = bool(answer.upto > series.upto)
        series.upto = max(series.upto, answer.upto)  # last: all below it is present
        series.ended = answer.ended and not new
        return new

    def _wait_on(self, series: _Series, why: str = "") -> None:
        """Check on the detector when no value came: still the same series, and frames still to come?"""
        look = look_at(self._source, series.id)
        if look.state in ("RUNNING", "MOVING") and look.acquired < series.due:
            series.waits_since = 0.0
            return
        series.waits_since = series.waits_since or self._clock()
        if self._clock() - series.waits_since < MISSING_AFTER:
            return
        if why:
            raise SourceError("no_such_series", why)
        for values in series.values.values():
            values.extend([math.nan] * (series.due - len(values)))
        series.upto = series.due

    def _used(self, series: _Series, axis: int) -> Axis:
        """Return what the counter showed when the acquisition was prepared."""
        return series.axes.get(axis, self._axes[axis])


def _unknown(detector: str, region: str, there: frozenset[str]) -> str:
    return (
        f"the series of {detector} has no region {region!r}, it has {', '.join(sorted(there))}; write one of "
        f"these to Region, or add {region} to the receiver's regions: it counts from the next series on"
    )


def _no_regions(detector: str) -> str:
    return (
        f"the series of {detector} has no regions of interest; draw some in the viewer (Regions), or set "
        "them with PUT /rois of its receiver: they count from the next series on"
    )
