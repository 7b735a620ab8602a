"""A pipeline as the source of results."""

from __future__ import annotations

from functools import partial

from penstock.gui.live.sources.source import translated
from penstock.processing.client import (
    Newest,
    PipelineClient,
    PipelineRefused,
    PipelineUnavailable,
    Rows,
    States,
)
from penstock.processing.models import Result, Status

TIMEOUT = 3.0
"""Seconds for one answer; those that are read from a disk have more."""
NONE_YET = "no_results"
"""Kind of a refusal: there is no series, or no value, yet."""
_translated = partial(translated, PipelineUnavailable, PipelineRefused)


class PipelineSource:
    """Source that asks a pipeline over HTTP, and changes nothing there.

    Args:
        client: client of the pipeline.
    """

    is_file = False

    def __init__(self, client: PipelineClient) -> None:
        self._client = client

    @classmethod
    def at(cls, url: str) -> PipelineSource:
        """Return the source of the pipeline at this address."""
        return cls(PipelineClient(url, timeout=TIMEOUT))

    @property
    def address(self) -> str:
        """Base address of the HTTP API."""
        return self._client.url

    def status(self) -> Status:
        """Return the pipeline's status."""
        with _translated():
            return self._client.status()

    def results(self) -> list[Result]:
        """Return what results there are by now."""
        with _translated():
            try:
                return self._client.results()
            except PipelineRefused as error:
                if error.kind != NONE_YET:
                    raise
                return []

    def states(self, first: int, end: int | None = None) -> States:
        """Return the states of the frames from `first` on, and before `end`."""
        with _translated():
            return self._client.states(f"{first}:{'' if end is None else end}")

    def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Rows:
        """Return values of frames."""
        with _translated():
            return self._client.rows(name, f"{first}:{end}:{step}", values=values)

    def newest(self, name: str) -> Newest | None:
        """Return the newest value of any result."""
        with _translated():
            try:
                return self._client.newest(name)
            except PipelineRefused as error:
                if error.kind != NONE_YET:
                    raise
                return None

    def sentence(self, frame: int) -> str:
        """Return "": a pipeline has the sentences of its workers only."""
        return ""
