"""What a channel of results reads: the series from the detector's device, the results from the pipeline."""

from __future__ import annotations

from typing import Protocol

from penstock.processing.client import (
    NoAnswer,
    PipelineClient,
    PipelineRefused,
    PipelineUnavailable,
    Rows,
    States,
)
from penstock.processing.models import Result, Status
from penstock.sardana.armed_series import Detector, SourceError, TangoDetector, property_of

ASK = 1.5
"""Seconds for one call of the pipeline: Sardana gives all channels of a group three to prepare."""
NOT_YET = frozenset({"no_such_series", "no_such_result", "no_results", "not_a_result_file"})
"""Refusals for want of a series, or of a first frame that is done."""


class Source(Detector, Protocol):
    """One detector and a pipeline on its frames; every call is bounded, and raises `SourceError`."""

    def status(self) -> Status:
        """Return the pipeline's status."""

    def results(self, series: str | None = None) -> list[Result]:
        """Return what results a series has, the newest one if none is named; none yet."""

    def states(self, series: str, first: int, end: int) -> States:
        """Return the states of frames of a series, as many as there are."""

    def rows(self, series: str, name: str, first: int, end: int) -> Rows | None:
        """Return the values of frames of a series; `None` if it has no result of this name yet."""


class TangoSource(TangoDetector):
    """See `Source`; nobody is contacted before the first call.

    Args:
        detector: Tango name of the detector.
        pipeline: Tango name of the pipeline's device, or the address of its HTTP API.
    """

    def __init__(self, detector: str, pipeline: str) -> None:
        super().__init__(detector)
        self._pipeline = pipeline
        self._client: PipelineClient | None = None

    def status(self) -> Status:
        """See `Source`."""
        try:
            return self._reached().status()
        except NoAnswer as error:
            raise self._error(error) from error

    def results(self, series: str | None = None) -> list[Result]:
        """See `Source`."""
        try:
            return self._reached().results(series=series)
        except PipelineRefused as error:
            if error.kind in NOT_YET:
                return []
            raise self._error(error) from error
        except NoAnswer as error:
            raise self._error(error) from error

    def states(self, series: str, first: int, end: int) -> States:
        """See `Source`."""
        try:
            return self._reached().states(f"{first}:{end}", series=series)
        except NoAnswer as error:
            raise self._error(error) from error

    def rows(self, series: str, name: str, first: int, end: int) -> Rows | None:
        """See `Source`."""
        try:
            return self._reached().rows(name, f"{first}:{end}", series=series)
        except PipelineRefused as error:
            if error.kind in NOT_YET:
                return None
            raise self._error(error) from error
        except NoAnswer as error:
            raise self._error(error) from error

    def _reached(self) -> PipelineClient:
        if self._client is None:
            self._client = PipelineClient(self._address(), ASK)
        return self._client

    def _address(self) -> str:
        if self._pipeline.startswith(("http://", "https://")):
            return self._pipeline
        if not (found := property_of(self._pipeline, "PipelineUrl")):
            raise SourceError(
                "no_pipeline",
                f"{self._pipeline} has no device property PipelineUrl; name a device of the class "
                "PenstockPipeline, or the address of the pipeline, such as http://daq-1:5100",
            )
        return found

    def _error(self, error: NoAnswer) -> SourceError:
        if isinstance(error, PipelineUnavailable):
            self._client = None  # its address may be another one by now
            return SourceError("away", str(error))
        return SourceError(getattr(error, "kind", "away"), str(error))
