"""Client of the receiver's HTTP API: what devices, viewer and scripts use.

Blocking, safe from several threads (urllib3 keeps a pool of connections), and bounded: every call
answers or raises within its time-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

import msgspec
import numpy as np
import urllib3

from penstock.receiver.models import (
    Contrast,
    Folders,
    PastSeries,
    Rectangle,
    Refusal,
    Rois,
    RoiValues,
    SeriesCheck,
    SeriesCheckResult,
    Status,
    View,
)

T = TypeVar("T")
LIST_SECONDS = 3.0
"""Further time for what is read from a disk."""
FRAME_SECONDS = 6.0
"""Further time for a frame that has to be looked for, or a picture that has to be made."""


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
    x: int = 0
    """First column and row of the frame that are shown."""
    y: int = 0
    channels: tuple[str, ...] = ()
    """Names of the images that the frame has, as thresholds; empty where it is one image."""
    modules: tuple[tuple[int, int, int, int], ...] = ()
    """Row, column, rows and columns of each module that is in the image, before region and down-sampling.
    What lies outside is gap, or a module that is missing. Empty where nobody says."""


class _FrameHeader(msgspec.Struct):
    shape: tuple[int, ...]
    dtype: str
    frame: int
    series: str
    version: int
    downsample: int
    trigger: int | None = None
    saturation: float | None = None
    x: int = 0
    y: int = 0
    channels: tuple[str, ...] = ()
    modules: tuple[tuple[int, int, int, int], ...] = ()


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

    def history(self, limit: int = 20) -> list[PastSeries]:
        """The last series, newest first, some thousand at most; the one that runs is not among them."""
        return self._json(list[PastSeries], "GET", "/series", fields={"limit": str(limit)}, wait=LIST_SECONDS)

    def folders(self, under: str = "") -> Folders:
        """The folders in a folder of the data root.

        Args:
            under: the folder, relative to the data root; the data root itself by default.

        Raises:
            ReceiverRefused: it is outside the data root, is not there, or cannot be listed.
        """
        return self._json(Folders, "GET", "/folders", fields={"under": under}, wait=LIST_SECONDS)

    def stop(self, reason: str = "stop requested") -> None:
        """End the running series now; the file is closed as incomplete with this reason."""
        self._call("POST", "/stop", body={"reason": reason})

    def stop_at_end(self, series: str, reason: str) -> None:
        """Say that this series' sender is about to end it early, and that its end message cannot say so.

        What has not come by then was not triggered. Nothing happens where the series does not run.
        """
        self._call("POST", "/stop", body={"reason": reason, "at_end_of": series})

    def reset(self) -> None:
        """Leave the state Error."""
        self._call("POST", "/reset")

    def last_frame(self, seen: int | None = None, view: View | None = None) -> LastFrame | None:
        """The newest frame, or `None` if there is none newer than `seen`.

        Args:
            seen: version of the newest that the caller has.
            view: region and down-sampling; the whole frame with the receiver's own by default.
        """
        fields = {"format": "raw", **_fields(view), **_fields({"seen": seen})}
        answer = self._call("GET", "/last_frame", fields=fields, also=(304, 404))
        return None if answer.status != 200 else self._frame(answer, "/last_frame")

    def frame(self, index: int, view: View | None = None, wait: float = FRAME_SECONDS) -> LastFrame:
        """Frame n of the running, or the last, series; it has `wait` seconds beyond the time-out.

        Raises:
            ReceiverRefused: it is not there (yet), or nothing is kept; `kind` says which.
        """
        path, fields = f"/frame/{index}", {"format": "raw", **_fields(view)}
        return self._frame(self._call("GET", path, fields=fields, wait=wait), path)

    def picture(
        self, index: int | None = None, *, format: Literal["png", "jpeg"] = "png", view: View | None = None,
        contrast: Contrast | None = None, wait: float = FRAME_SECONDS,
    ) -> bytes:  # fmt: skip
        """Frame n, or the newest, as a picture file; it has `wait` seconds beyond the time-out.

        Raises:
            ReceiverRefused: there is no such frame, or no such picture can be made of it.
        """
        path = "/last_frame" if index is None else f"/frame/{index}"
        fields = {"format": format, **_fields(view), **_fields(contrast)}
        return self._call("GET", path, fields=fields, wait=wait).data

    def _frame(self, answer: urllib3.BaseHTTPResponse, path: str) -> LastFrame:
        if "X-Penstock-Frame" not in answer.headers:
            raise self._foreign(path, "no header X-Penstock-Frame")
        header = msgspec.json.decode(answer.headers["X-Penstock-Frame"], type=_FrameHeader)
        array = np.frombuffer(answer.data, dtype=np.dtype(header.dtype).newbyteorder("<"))
        return LastFrame(
            array=array.reshape(header.shape), frame=header.frame, series=header.series,
            version=header.version, downsample=header.downsample, trigger=header.trigger,
            saturation=header.saturation, x=header.x, y=header.y, channels=header.channels,
            modules=header.modules,
        )  # fmt: skip

    def rois(self) -> Rois:
        """The regions of interest that the next series will have."""
        return self._json(Rois, "GET", "/rois")

    def put_rois(self, rois: Mapping[str, Rectangle], keep: bool = False) -> Rois:
        """Set all regions of interest, from the next series on.

        Args:
            rois: by name; none to have no more.
            keep: have them again after a restart of the receiver.

        Raises:
            ReceiverRefused: one of them cannot be taken, or they cannot be kept.
        """
        body = {"rois": {name: asdict(each) for name, each in rois.items()}, "keep": keep}
        return self._json(Rois, "PUT", "/rois", body=body, wait=LIST_SECONDS)

    def roi_values(
        self, first: int = 0, count: int = 1000, series: str | None = None, wait: float = 0.0
    ) -> RoiValues:
        """Values of the regions of interest per frame, from index `first` on, as far as they are there.

        Args:
            first: index of the first frame; waits up to `wait` seconds until it is there, or the series ends.
            count: frames at most, up to 10 000.
            series: id of the series; the running, or the last, one by default.

        Raises:
            ReceiverRefused: there is no such series or frame, it has no regions, or its oldest values are
                not kept.
        """
        fields = _fields({"first": first, "count": count, "series": series, "wait": wait})
        return self._json(RoiValues, "GET", "/rois/values", fields=fields, wait=wait)

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
            url += f"?{urlencode(fields)}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        payload = msgspec.json.encode(body) if body is not None else None
        timeout = urllib3.Timeout(total=self._timeout + wait)
        try:
            answer = self._http.request(method, url, body=payload, headers=headers, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            raise ReceiverUnavailable(
                f"receiver at {self.url} does not answer {self._how(error)}; is `penstock receiver` running, "
                "and is this the address that it printed?"
            ) from error
        if answer.status >= 400 and answer.status not in also:
            try:
                refusal = msgspec.json.decode(answer.data, type=Refusal)
            except (msgspec.DecodeError, UnicodeDecodeError):
                refusal = Refusal(
                    kind="http_error",
                    message=f"receiver at {self.url} answered {method} {path} with HTTP {answer.status}; "
                    "is this the address that `penstock receiver` printed?",
                )
            raise ReceiverRefused(refusal.kind, refusal.message)
        return answer

    def _how(self, error: urllib3.exceptions.HTTPError) -> str:
        """What is known of why there is no answer."""
        if isinstance(error, urllib3.exceptions.NameResolutionError):
            return "(no host of this name is known)"
        if isinstance(error, urllib3.exceptions.NewConnectionError):
            return "(nobody listens there)"
        return f"within {self._timeout:g} s"


def _fields(of: View | Contrast | Mapping[str, Any] | None) -> dict[str, str]:
    """What was given, as query fields."""
    if of is None:
        return {}
    values = of if isinstance(of, Mapping) else asdict(of)
    return {key: str(value) for key, value in values.items() if value is not None}
