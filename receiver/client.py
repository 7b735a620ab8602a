"""Client of the receiver's HTTP API: what devices, viewer and scripts use.

Blocking, safe from several threads (urllib3 keeps a pool of connections), and bounded: every call
answers or raises within its time-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
import urllib3

from penstock.receiver.models import Refusal, SeriesCheck, SeriesCheckResult, Status

T = TypeVar("T")


class ReceiverUnavailable(Exception):
    """Nobody answered in time; the sentence says where and what to look at."""


class ReceiverRefused(Exception):
    """The receiver answered no; `kind` is stable, the sentence says what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class LastFrame(msgspec.Struct, frozen=True):
    """A frame for the eye."""

    array: np.ndarray
    """(rows, cols), after down-sampling."""
    frame: int
    """Index in the series."""
    series: str
    version: int
    """Pass it as `seen` to be given only what is newer."""
    downsample: int
    trigger: int | None = None
    saturation: float | None = None
    """Value from which a pixel counts as saturated, where the detector says so."""


class _FrameHeader(msgspec.Struct):
    shape: tuple[int, ...]
    dtype: str
    frame: int
    series: str
    version: int
    downsample: int
    trigger: int | None = None
    saturation: float | None = None


class ReceiverClient:
    """One receiver, reached at `url` (such as "http://127.0.0.1:5000").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call that waits on purpose adds its own waiting time.
    """

    def __init__(self, url: str, timeout: float = 0.5) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        # A connection that the receiver closed while it was idle costs one retry, not an error;
        # nothing else is retried, since the caller's time is bounded.
        self._http = urllib3.PoolManager(retries=False, maxsize=4)

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """The receiver's snapshot; with `seen`, waits up to `wait` seconds for one that differs."""
        fields = {} if seen is None else {"seen": str(seen), "wait": str(wait)}
        return self._json(Status, "GET", "/status", fields=fields, wait=wait)

    def check(self, series: SeriesCheck) -> SeriesCheckResult:
        """Ask whether a series could be taken now.

        Raises:
            ReceiverRefused: no, and why.
        """
        return self._json(SeriesCheckResult, "POST", "/series/check", body=series)

    def stop(self, reason: str = "stop requested") -> None:
        """End the running series now; the file is closed as incomplete with this reason."""
        self._call("POST", "/stop", body={"reason": reason})

    def reset(self) -> None:
        """Leave the state Error."""
        self._call("POST", "/reset")

    def last_frame(self, seen: int | None = None) -> LastFrame | None:
        """The newest frame, or `None` if there is none newer than `seen`."""
        answer = self._call(
            "GET", "/last_frame", fields={} if seen is None else {"seen": str(seen)}, also=(304, 404)
        )
        if answer.status != 200:
            return None
        if "X-Penstock-Frame" not in answer.headers:
            raise self._foreign("/last_frame", "no header X-Penstock-Frame")
        header = msgspec.json.decode(answer.headers["X-Penstock-Frame"], type=_FrameHeader)
        array = np.frombuffer(answer.data, dtype=np.dtype(header.dtype).newbyteorder("<"))
        return LastFrame(
            array=array.reshape(header.shape), frame=header.frame, series=header.series,
            version=header.version, downsample=header.downsample, trigger=header.trigger,
            saturation=header.saturation,
        )  # fmt: skip

    def downsample(self) -> int:
        """Every n-th row and column that `last_frame` returns."""
        return self._value("GET", {})

    def set_downsample(self, value: int) -> int:
        """Set the down-sampling for every viewer of this receiver."""
        return self._value("POST", {"value": str(value)})

    def _value(self, method: str, fields: Mapping[str, str]) -> int:
        return self._json(dict[str, int], method, "/downsample", fields=fields)["value"]

    def _json(
        self, kind: type[T], method: str, path: str, *, fields: Mapping[str, str] | None = None,
        body: Any = None, wait: float = 0.0,
    ) -> T:  # fmt: skip
        answer = self._call(method, path, fields=fields, body=body, wait=wait)
        try:
            return msgspec.json.decode(answer.data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._foreign(path, str(error)) from error

    def _foreign(self, path: str, why: str) -> ReceiverUnavailable:
        return ReceiverUnavailable(
            f"{self.url}{path} answers, but not as a Penstock receiver does ({why}); is the address right?"
        )

    def _call(
        self, method: str, path: str, *, fields: Mapping[str, str] | None = None, body: Any = None,
        wait: float = 0.0, also: tuple[int, ...] = (),
    ) -> urllib3.BaseHTTPResponse:  # fmt: skip
        url = self.url + path
        if fields:
            url += "?" + "&".join(f"{key}={value}" for key, value in fields.items())
        headers = {"Content-Type": "application/json"} if body is not None else {}
        payload = msgspec.json.encode(body) if body is not None else None
        timeout = urllib3.Timeout(total=self._timeout + wait)
        try:
            answer = self._http.request(method, url, body=payload, headers=headers, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            raise ReceiverUnavailable(
                f"receiver at {self.url} does not answer within {self._timeout:g} s "
                f"({type(error).__name__}); is `penstock receiver` running there?"
            ) from error
        if answer.status >= 400 and answer.status not in also:
            try:
                refusal = msgspec.json.decode(answer.data, type=Refusal)
            except (msgspec.DecodeError, UnicodeDecodeError):
                refusal = Refusal(
                    kind="http_error",
                    message=f"receiver at {self.url} answered {method} {path} with HTTP {answer.status}",
                )
            raise ReceiverRefused(refusal.kind, refusal.message)
        return answer
