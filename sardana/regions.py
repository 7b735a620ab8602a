"""Values of regions of interest as counters: by frame index, for step scans and for continuous ones.

A thread reads the values of the series that the detector's own channel has armed: the series from the
detector's device, the values from its receiver. Every call by Sardana returns at once.
"""

from __future__ import annotations

import math
import time
from array import array
from dataclasses import dataclass
from typing import Final, Protocol

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import RoiValues
from penstock.sardana.armed_series import (
    TIMEOUT,
    Detector,
    SourceError,
    TangoDetector,
    armed_series,
    look_at,
    property_of,
)
from penstock.sardana.axes_reader import AxesReader, Expected


class Source(Detector, Protocol):
    """One detector and its receiver; every call is bounded, and raises `SourceError`."""

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        """Return values of frames of a series, from index `first`; wait up to `wait` seconds for that one."""


class TangoSource(TangoDetector):
    """See `Source`; the device is not contacted before the first call, so it may be started later."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._receiver: ReceiverClient | None = None

    def values(self, first: int, count: int, series: str, wait: float) -> RoiValues:
        """See `Source`."""
        if self._receiver is None:
            self._receiver = ReceiverClient(self._address(), TIMEOUT)
        try:
            return self._receiver.roi_values(first, count, series, wait)
        except ReceiverUnavailable as error:
            self._receiver = None  # its address may be another one by now
            raise SourceError("away", str(error)) from error
        except ReceiverRefused as error:
            raise SourceError(error.kind, str(error)) from error

    def _address(self) -> str:
        if not (found := property_of(self.name, "ReceiverUrl")):
            raise SourceError(
                "no_receiver",
                f"{self.name} has no device property ReceiverUrl, so its regions of interest cannot be "
                "found; set it, and restart the detector's server",
            )
        return found


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


@dataclass(kw_only=True)
class _Series(Expected):
    """What is read of one series."""

    ended: bool = False
    """Nothing more will come."""
    regions: frozenset[str] | None = None
    """Regions of the series, as soon as they are known."""
    waits_since: float = 0.0
    """Monotonic time since which no value has come although the detector has delivered all frames; or 0."""

    @property
    def over(self) -> bool:
        """True if nothing more will come."""
        return self.ended or bool(self.fault)


class RegionCounter(AxesReader[Axis, _Series]):
    """The counters of one detector.

    Args:
        source: the detector and its receiver.
    """

    def __init__(self, source: Source) -> None:
        super().__init__("penstock-regions", Axis(), "the values of regions", WAIT + 1.0)
        self._source = source

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
            self._acquisition = _Series(
                per_start=per_start, before=before, axes=dict(self._axes), last=last, fault=fault
            )

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
        series.waits_since = series.waits_since or time.monotonic()
        if time.monotonic() - series.waits_since < MISSING_AFTER:
            return
        if why:
            raise SourceError("no_such_series", why)
        for values in series.values.values():
            values.extend([math.nan] * (series.due - len(values)))
        series.upto = series.due


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
