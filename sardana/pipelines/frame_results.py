"""Results of a pipeline as values of channels: by frame index, for step scans and for continuous ones.

A thread reads the results of the series that the detector's own channel has armed. Every call by Sardana
returns at once, except `prepare`.
"""

from __future__ import annotations

import time
from typing import Any, Final

from penstock.sardana.armed_series import SourceError
from penstock.sardana.axes_reader import AxesReader
from penstock.sardana.pipelines import reading
from penstock.sardana.pipelines.acquisition import Acquisition, Shown
from penstock.sardana.pipelines.source import Source
from penstock.sardana.pipelines.tally import Tally

CLOSE_SECONDS: Final = 2.0
"""Seconds that a question may last that runs while the thread is to end."""


class FrameResults(AxesReader[Shown, Acquisition]):
    """The channels of one pipeline.

    Args:
        source: the detector and the pipeline.
        result_seconds: for which the results of a scan's last frames are awaited.
    """

    def __init__(self, source: Source, result_seconds: float) -> None:
        super().__init__("penstock-results", Shown(), "the results", CLOSE_SECONDS)
        self._source = source
        self._reading = reading.Reading(source, result_seconds, self._changed)
        self._points: dict[str, int] = {}
        self._in_scan = False

    # Axes ---------------------------------------------------------------------------------------

    def show(self, axis: int, result: str) -> None:
        """Choose the result that a channel shows, from the next acquisition on."""
        self._axes[axis] = Shown(result.strip(), self._axes[axis].shape)

    def set_points(self, axis: int, points: int) -> None:
        """Say how many points a curve has; 0: any number."""
        self._axes[axis] = Shown(self._axes[axis].result, (points,) if points else None)

    def points_of(self, axis: int) -> int:
        """Return how many points the channel's result has in the newest series that has it; 0: unknown.

        A series that has just been armed has no results yet.
        """
        name = self._axes[axis].result
        try:
            found = next((each for each in self._source.results() if each.name == name), None)
        except SourceError:
            found = None
        if found is not None and len(found.shape) == 1:
            self._points[name] = found.shape[0]
        return self._points.get(name, 0)

    # A scan -------------------------------------------------------------------------------------

    @property
    def in_scan(self) -> bool:
        """True if what is missing is counted over several acquisitions; setting it begins to count anew."""
        return self._in_scan

    @in_scan.setter
    def in_scan(self, value: bool) -> None:
        if value:
            self._reading.tally = Tally("pipeline")
        self._in_scan = value

    @property
    def warning(self) -> str:
        """Frames that have no value, and why, in lines; "" if all have theirs."""
        return self._reading.tally.text(self._reading.result_seconds)

    # An acquisition -----------------------------------------------------------------------------

    def prepare(self, per_start: int, seconds: float) -> None:
        """Expect a new series, which may have been armed just now; never raises.

        Args:
            per_start: frames per start.
            seconds: of one exposure.
        """
        last = "" if self._acquisition is None else self._acquisition.id or self._acquisition.last
        before, fault, name = None, "", "pipeline"
        try:
            before = self._source.look()
            status = self._source.status()
            name = status.pipeline or name
            if status.state == "error":
                fault = f"pipeline {name} is in error: {status.error}"
        except SourceError as error:
            fault = str(error)
        with self._changed:
            if self._in_scan:
                self._reading.tally.next_series()
            else:
                self._reading.tally = Tally(name)
            self._reading.tally.name(name)
            self._acquisition = Acquisition(
                per_start=per_start, seconds=seconds, before=before, axes=dict(self._axes), last=last,
                fault=fault,
            )  # fmt: skip

    def state(self, axis: int) -> tuple[str, str]:
        """Return the name of Sardana's state, and a sentence."""
        shown, acquisition = self._axes[axis], self._acquisition
        if not shown.result:
            return "Fault", "no result: write the name of one to the attribute Result"
        if acquisition is None or acquisition.stopped:
            return "On", f"{shown.result}: idle"
        if acquisition.fault:
            return "Fault", acquisition.fault
        done = f"{shown.result}: {min(acquisition.upto, acquisition.due)} of {acquisition.due} values"
        if acquisition.busy:
            return "Moving", f"{done}; {acquisition.note}" if acquisition.note else done
        return "On", self.warning or done

    # The thread ---------------------------------------------------------------------------------

    def _read(self, acquisition: Acquisition) -> None:
        if not self._reading.step(acquisition):
            with self._changed:
                self._changed.wait(self._reading.pause(acquisition))

    def _started(self, acquisition: Acquisition) -> None:
        acquisition.started, acquisition.over_since = time.monotonic(), None
        acquisition.look_again = acquisition.started + acquisition.seconds + reading.LOOK_SECONDS
        self._reading.tally.expect(acquisition.due)

    def _nan(self, shown: Shown) -> Any:
        return shown.blank()
