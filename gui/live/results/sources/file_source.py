"""A result file as the source of results, also while a pipeline is still writing it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.gui.live.results.sources.held import PENDING
from penstock.gui.live.sources.source import Away, Refused
from penstock.processing.client import Newest, Rows, States
from penstock.processing.models import FINAL, Counts, Result, Series, Status
from penstock.processing.results.errors import ResultError
from penstock.processing.results.read import Results

IN_PROGRESS = "in progress"


class ResultFileSource:
    """Source that reads a result file, and never writes.

    Args:
        path: the file.
    """

    is_file = True

    def __init__(self, path: str | Path) -> None:
        # As an absolute path, since the working directory says nothing in a window's title.
        self._path = Path(os.path.abspath(path))
        self._results = Results(self._path)
        self._series = ""
        self._sentences: Mapping[int, str] = {}
        self._has_more_rows = False  # than frames have come

    @property
    def address(self) -> str:
        """Absolute path of the file."""
        return str(self._path)

    def status(self) -> Status:
        """Return what the file says of its series."""
        with _translated():
            pipeline, self._series = self._results.origin()
            account, (codes, beyond) = self._results.account(), self._results.known()
        self._sentences = account["errors"]
        known = {name: int((codes == number).sum()) for number, name in enumerate(FINAL, 1)}
        if beyond.state in range(1, len(FINAL) + 1):
            known[FINAL[beyond.state - 1]] += beyond.end - beyond.first
        running = account["state"] == IN_PROGRESS
        planned = account["counts"]["planned"]
        frames = sum(known.values()) if planned < 0 else planned
        self._has_more_rows = running and len(codes) != planned
        series = Series(
            id=self._series, active=running, planned=None if planned < 0 else planned, rows=len(codes),
            reason=account["reason"],
            counts=Counts(frames=frames, pending=frames - sum(known.values()), **known),
            result_file=str(self._path),
        )  # fmt: skip
        return Status(state="running" if running else "idle", pipeline=pipeline, series=series)

    def results(self) -> list[Result]:
        """Return what results there are by now."""
        with _translated():
            return [
                Result(
                    name=each.name,
                    kind=each.kind,
                    dtype=each.dtype.name,
                    shape=list(each.shape),
                    unit=each.unit,
                    label=each.label,
                    errors=each.errors,
                    axes=list(each.axes),
                )
                for each in self._results.names()
            ]

    def states(self, first: int, end: int | None = None) -> States:
        """Return the states of the frames from `first` on, and before `end`."""
        with _translated():
            codes, beyond = self._results.known(first, end)
        if self._has_more_rows:
            known = np.flatnonzero(codes != PENDING)
            codes = codes[: known[-1] + 1 if len(known) else 0]
        return States(self._series, first, codes, beyond.state)

    def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Rows:
        """Return values of frames."""
        with _translated():
            found = self._results.rows(name, first, end, step, values=values)
        return Rows(
            self._series, found.first, found.step, found.states, found.has, found.values, found.counts
        )

    def newest(self, name: str) -> Newest | None:
        """Return the newest value of any result."""
        with _translated():
            frame, n, value = self._value(name)
        return None if value is None else Newest(self._series, frame, n, value)

    def _value(self, name: str) -> tuple[int | None, int | None, np.ndarray[Any, Any] | None]:
        kind = next((each.kind for each in self._results.names() if each.name == name), None)
        if kind == "accumulated":
            value, n = self._results.accumulated(name)
            return None, n, value if n else None
        if kind == "whole":
            return None, None, self._results.whole(name)
        if kind == "axis":
            return None, None, self._results.axis(name)
        rows = self._results.latest(name)
        return (None, None, None) if rows is None else (rows.first, None, rows.values[0])

    def sentence(self, frame: int) -> str:
        """Return why a frame has failed; of more than a thousand, the first are known."""
        return self._sentences.get(frame, "")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ResultError as error:
        if error.kind == "not_a_result_file":
            raise Away(str(error)) from error
        raise Refused(str(error), error.kind) from error
