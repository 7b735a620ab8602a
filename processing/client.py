"""Client of a pipeline's HTTP API, for windows, devices and scripts.

Blocking, safe from several threads, and bounded: every call answers or raises within its time-out.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from penstock.processing.models import Changed, Latest, Parameters, Result, Status, Values
from penstock.receiver.service.http_client import HttpClient, NoAnswer, RefusedCall, Unavailable

__all__ = ["NoAnswer", "PipelineClient", "PipelineRefused", "PipelineUnavailable"]
READ_SECONDS = 6.0
"""Additional time for answers that are read from a disk."""
PREPARE_SECONDS = 120.0
"""Additional time for new parameters, which every worker prepares."""


class PipelineUnavailable(Unavailable):
    """No pipeline answered in time; the sentence names the address and what to check."""


class PipelineRefused(RefusedCall):
    """The pipeline refused the request; `kind` is stable, the sentence says what to change."""


class PipelineClient(HttpClient):
    """One pipeline, reached at `url` (such as "http://127.0.0.1:5100").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call that waits adds that time.
    """

    what, program = "pipeline", "penstock process"
    unavailable, refused = PipelineUnavailable, PipelineRefused

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """Return the pipeline's status; with `seen`, wait up to `wait` seconds for another version."""
        fields = {} if seen is None else {"seen": str(seen), "wait": str(wait)}
        return self._json(Status, "GET", "/status", fields=fields, wait=wait)

    def results(self) -> list[Result]:
        """Return what results the running or last series has by now.

        Raises:
            PipelineRefused: there is no series, or its results are not stored.
        """
        return self._json(list[Result], "GET", "/results", wait=READ_SECONDS)

    def values(self, name: str, frames: str | None = None) -> Values:
        """Return the values of frames as lists.

        Args:
            name: of a result per frame.
            frames: "a:b" from a on and before b, as in Python; the last 1000 if not given.

        Raises:
            PipelineRefused: there is no such result, or too much is asked for.
        """
        return self._json(Values, "GET", _path(name), fields=_frames(frames), wait=READ_SECONDS)

    def array(self, name: str, frames: str | None = None) -> np.ndarray[Any, Any]:
        """Return the same as an array (frames, *shape): NaN or 0 where there is no value; of events all, one
        after the other."""
        return self._array(_path(name), {**_frames(frames), "format": "npy"})

    def latest(self, name: str) -> Latest:
        """Return the newest value of a result, or an accumulated value.

        Raises:
            PipelineRefused: there is no such result.
        """
        return self._json(Latest, "GET", f"{_path(name)}/latest", wait=READ_SECONDS)

    def latest_array(self, name: str) -> np.ndarray[Any, Any]:
        """Return the newest value as an array.

        Raises:
            PipelineRefused: there is no such result, or no value yet.
        """
        return self._array(f"{_path(name)}/latest", {"format": "npy"})

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

    def reset(self) -> Status:
        """Leave the state Error."""
        return self._json(Status, "POST", "/reset", wait=READ_SECONDS)

    def _array(self, path: str, fields: Mapping[str, str]) -> np.ndarray[Any, Any]:
        answer = self._call("GET", path, fields=fields, wait=READ_SECONDS)
        try:
            found: np.ndarray[Any, Any] = np.load(io.BytesIO(answer.data), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise self._foreign(path, str(error)) from error
        return found


def _path(name: str) -> str:
    return f"/results/{quote(name, safe='')}"


def _frames(frames: str | None) -> dict[str, str]:
    return {} if frames is None else {"frames": frames}
