"""Client of a pipeline's HTTP API, for windows, devices and scripts.

Blocking, safe from several threads, and bounded: every call answers or raises within its time-out.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import msgspec
import numpy as np

from penstock.processing.models import Changed, Latest, Parameters, Result, Status, Values
from penstock.service.http_client import HttpClient
from penstock.service.models import NoAnswer, RefusedCall, Unavailable

__all__ = [
    "Newest", "NoAnswer", "PipelineClient", "PipelineRefused", "PipelineUnavailable", "Rows", "States",
    "what_answers",
]  # fmt: skip
PENDING = 255
"""State of frames of which nothing is known yet."""
READ_SECONDS = 6.0
"""Additional time for answers that are read from a disk."""
STOP_SECONDS = 40.0
"""Additional time for the end of a series that is stopped."""
PREPARE_SECONDS = 120.0
"""Additional time for new parameters, which every worker prepares."""


class PipelineUnavailable(Unavailable):
    """No pipeline answered in time; the sentence names the address and what to check."""


class PipelineRefused(RefusedCall):
    """The pipeline refused the request; `kind` is stable, the sentence says what to change."""


@dataclass(frozen=True, eq=False)
class States:
    """What became of consecutive frames."""

    series: str
    """Id of the series."""
    first: int
    """Index of the first frame."""
    codes: np.ndarray[Any, Any]
    """One per frame, uint8, with the numbers of the result file: 1 done, 2 failed, 3 lost, 4 dropped,
    5 absent; others until then."""
    beyond: int = PENDING
    """The same of all frames of the series that have no row in the result file."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Values of frames, each `step` behind the one before."""

    series: str
    """Id of the series."""
    first: int
    """Index of the first frame."""
    step: int
    states: np.ndarray[Any, Any]
    """State of each frame, as `States.codes`."""
    has: np.ndarray[Any, Any]
    """True if each is done and has a value; bool."""
    values: np.ndarray[Any, Any]
    """(frames, *shape), NaN or 0 where there is no value; of events, all one after the other."""
    counts: np.ndarray[Any, Any] | None = None
    """Number of events of each frame; `None` if the result has no events."""


@dataclass(frozen=True, eq=False)
class Newest:
    """The newest value of a result."""

    series: str
    """Id of the series."""
    frame: int | None
    """The frame whose value it is; `None` for an accumulated value."""
    n: int | None
    """Number of frames in an accumulated value; `None` for any other."""
    value: np.ndarray[Any, Any]


class PipelineClient(HttpClient[Status]):
    """One pipeline, reached at `url` (such as "http://127.0.0.1:5100").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call that waits adds that time.
    """

    model, what, program = Status, "pipeline", "penstock process"
    unavailable, refused = PipelineUnavailable, PipelineRefused

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """Return the pipeline's status; with `seen`, wait up to `wait` seconds for another version."""
        status = super().status(seen, wait)
        if not status.pipeline:  # a receiver's, which has all that is required of a status
            raise self._foreign("/status", "its status names no pipeline")
        return status

    def results(self, *, series: str | None = None) -> list[Result]:
        """Return what results the running or last series has by now, or one of the last hundred by its id.

        Raises:
            PipelineRefused: there is no series, or its results are not stored.
        """
        return self._json(list[Result], "GET", "/results", fields={"series": series}, wait=READ_SECONDS)

    def values(self, name: str, frames: str | None = None, *, series: str | None = None) -> Values:
        """Return the values of frames as lists.

        Args:
            name: of a result per frame.
            frames: "a:b" from a on and before b, as in Python; the last 1000 if not given.
            series: id of a series, if it is not the running or last one.

        Raises:
            PipelineRefused: there is no such result, or too much is asked for.
        """
        fields = {"frames": frames, "series": series}
        return self._json(Values, "GET", _path(name), fields=fields, wait=READ_SECONDS)

    def array(
        self, name: str, frames: str | None = None, *, series: str | None = None
    ) -> np.ndarray[Any, Any]:
        """Return the same as an array (frames, *shape): NaN or 0 where there is no value; of events all, one
        after the other."""
        return self._array(_path(name), {"frames": frames, "series": series, "format": "npy"})

    def rows(self, name: str, frames: str, *, values: bool = True, series: str | None = None) -> Rows:
        """Return values of frames as arrays, with the states of these frames.

        Args:
            name: of a result per frame.
            frames: "a:b" as in Python, or "a:b:c" for every c-th.
            values: if false, without the values themselves.
            series: id of a series, if it is not the running or last one.

        Raises:
            PipelineRefused: there is no such result, or too much is asked for.
        """
        fields = {"frames": frames, "series": series, "format": "npz", "values": None if values else "false"}
        found = self._arrays(_path(name), fields)
        return Rows(
            str(found["series"]), int(found["first"]), int(found["step"]), found["states"], found["has"],
            found["values"], found.get("counts"),
        )  # fmt: skip

    def states(self, frames: str = ":", *, series: str | None = None) -> States:
        """Return the states of consecutive frames, "a:b" as in Python.

        Raises:
            PipelineRefused: there is no series, or its results are not stored.
        """
        found = self._arrays("/states", {"frames": frames, "series": series})
        beyond = int(found.get("beyond", PENDING))
        return States(str(found["series"]), int(found["first"]), found["states"], beyond)

    def latest(self, name: str, *, series: str | None = None) -> Latest:
        """Return the newest value of a result, or an accumulated value.

        Raises:
            PipelineRefused: there is no such result.
        """
        fields = {"series": series}
        return self._json(Latest, "GET", f"{_path(name)}/latest", fields=fields, wait=READ_SECONDS)

    def latest_array(self, name: str, *, series: str | None = None) -> np.ndarray[Any, Any]:
        """Return the newest value as an array.

        Raises:
            PipelineRefused: there is no such result, or no value yet.
        """
        return self._array(f"{_path(name)}/latest", {"series": series, "format": "npy"})

    def newest(self, name: str, *, series: str | None = None) -> Newest:
        """Return the newest value as an array, with what is known of it.

        Raises:
            PipelineRefused: there is no such result, or no value yet.
        """
        found = self._arrays(f"{_path(name)}/latest", {"series": series, "format": "npz"})
        frame, n = int(found["frame"]), int(found["n"])
        return Newest(
            str(found["series"]), frame if frame >= 0 else None, n if n >= 0 else None, found["value"]
        )

    def parameters(self) -> Parameters:
        """Return the parameters in use that differ from the classes' defaults."""
        return self._json(Parameters, "GET", "/parameters")

    def change(self, values: Mapping[str, Any]) -> Changed:
        """Change parameters; return once every worker has prepared them.

        Args:
            values: those that change, by name.

        Raises:
            PipelineRefused: a worker has refused them, and nothing has changed; the sentence says why.
        """
        return self._json(Changed, "POST", "/parameters", body=dict(values), wait=PREPARE_SECONDS)

    def stop(self, reason: str = "", series: str = "") -> Status:
        """End the running series: frames that workers have are processed, all others are dropped.

        Args:
            reason: in words, for the result file.
            series: id of the series; "" for all that are not over.

        Raises:
            PipelineRefused: that series is not running.
        """
        body = {name: text for name, text in (("reason", reason), ("series", series)) if text}
        return self._json(Status, "POST", "/stop", body=body, wait=STOP_SECONDS)

    def drain(self, on: bool = True) -> Status:
        """Let it take no new series; see `Status.ending`.

        Args:
            on: `False` to let it take series again.
        """
        return self._json(Status, "POST" if on else "DELETE", "/drain", wait=READ_SECONDS)

    def reset(self) -> Status:
        """Leave the state Error."""
        return self._json(Status, "POST", "/reset", wait=READ_SECONDS)

    def _arrays(self, path: str, fields: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        answer = self._call("GET", path, fields=fields, wait=READ_SECONDS)
        try:
            with np.load(io.BytesIO(answer.data), allow_pickle=False) as found:
                return dict(found)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise self._foreign(path, str(error)) from error

    def _array(self, path: str, fields: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        answer = self._call("GET", path, fields=fields, wait=READ_SECONDS)
        try:
            found: np.ndarray[Any, Any] = np.load(io.BytesIO(answer.data), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise self._foreign(path, str(error)) from error
        return found


class _Anybody(HttpClient[dict[str, msgspec.Raw]]):
    """Whoever answers at an address."""

    model, what, program = dict[str, msgspec.Raw], "receiver or pipeline", "penstock receiver"
    unavailable, refused = PipelineUnavailable, PipelineRefused


def what_answers(url: str, timeout: float = 1.0) -> Literal["receiver", "pipeline"]:
    """Return whether the HTTP API at this address is a receiver's or a pipeline's, by its status.

    Raises:
        PipelineUnavailable: nobody answers in time, or it is something else.
        PipelineRefused: it answers, but has no status.
    """
    who = _Anybody(url, timeout)
    keys = set(who.status())
    if {"pipeline", "workers"} <= keys:
        return "pipeline"
    if {"detector", "connections"} <= keys:
        return "receiver"
    raise PipelineUnavailable(
        f"{who.url} is neither a receiver's nor a pipeline's address: its status has neither detector nor "
        "workers; give the address that `penstock receiver` or `penstock process` printed"
    )


def _path(name: str) -> str:
    return f"/results/{quote(name, safe='')}"
