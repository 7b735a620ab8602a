"""Client of the receiver's HTTP API, for devices, viewer and scripts.

Blocking, safe from several threads, and bounded: every call answers or raises within its time-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

import msgspec
import numpy as np
import urllib3

from penstock.receiver.models import (
    Contrast,
    Folders,
    Geometry,
    LostFrames,
    Method,
    PastSeries,
    Rectangle,
    Rois,
    RoiValues,
    Scan,
    SeriesCheck,
    SeriesCheckResult,
    Status,
    View,
)
from penstock.service.http_client import HttpClient
from penstock.service.models import NoAnswer, RefusedCall, Unavailable
from penstock.stins.user_part import UserPart

__all__ = ["LastFrame", "NoAnswer", "ReceiverClient", "ReceiverRefused", "ReceiverUnavailable"]
LIST_SECONDS = 3.0
"""Additional time for answers that are read from a disk."""
FRAME_SECONDS = 6.0
"""Additional time for a frame that has to be fetched, or a picture that has to be rendered."""


class ReceiverUnavailable(Unavailable):
    """No receiver answered in time; the sentence names the address and what to check."""


class ReceiverRefused(RefusedCall):
    """The receiver refused the request; `kind` is stable, the sentence says what to change."""


class LastFrame(msgspec.Struct, frozen=True):
    """A frame for the live view."""

    array: np.ndarray
    """Pixels after down-sampling: (rows, cols), or (k, rows, cols); (n,) a spectrum, (rows, cols, 3)
    colours."""
    frame: int
    """Index in the series."""
    series: str
    version: int
    """Pass it as `seen` to receive only a newer frame."""
    downsample: int
    trigger: int | None = None
    saturation: float | None = None
    """Value from which a pixel counts as saturated, if the detector gives one."""
    x: int = 0
    """First column (x) and row (y) of the frame in `array`."""
    y: int = 0
    channels: tuple[str, ...] = ()
    """Names of the frame's channels, such as thresholds; empty if it is one image."""
    modules: tuple[tuple[int, int, int, int], ...] = ()
    """Row, column, rows and columns of each module in the image, before region and down-sampling. Pixels
    outside belong to a gap or to a missing module. Empty if the positions are unknown."""
    interpretation: str = "image"
    """What `array` is: "image" (or k images), "spectrum" or "rgba-image" (colours)."""
    time: float | None = None
    """End of its exposure, as its sender says, else when the receiver got it: seconds since 1970 (UTC)."""
    method: Method = "nth"
    """How its pixels were reduced, where `downsample` is above 1."""
    status: str | None = None
    """Its status in the account, such as "stored" or "partial"; `None` if it is not known."""
    underload: float | None = None
    """Value below which a pixel has no value, if the detector gives one."""
    missing: np.ndarray | None = None
    """Pixels of a partial frame that are missing, in the shape of `array`, where a file says it; else those
    have the fill value of their type."""


class ReceiverClient(HttpClient[Status]):
    """One receiver, reached at `url` (such as "http://127.0.0.1:5000").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call with a `wait` adds that time.
    """

    model, what, program = Status, "receiver", "penstock receiver"
    unavailable, refused = ReceiverUnavailable, ReceiverRefused

    def check(self, series: SeriesCheck) -> SeriesCheckResult:
        """Ask whether a series could be taken now.

        Raises:
            ReceiverRefused: it could not; the sentence says why.
        """
        return self._json(SeriesCheckResult, "POST", "/series/check", body=series)

    def expect(self, part: UserPart, seconds: float = 0.0) -> SeriesCheckResult:
        """Let the receiver expect a series of a stream without start messages, in place of any other.

        Args:
            part: file and plan, under the id of the arming, which the frames bear.
            seconds: for how long it waits for the first frame; 0 for ever.

        Raises:
            ReceiverRefused: it could not take the series, or has no such stream; the sentence says why.
        """
        body = {**msgspec.to_builtins(part), "seconds": seconds}
        del body["arm"]
        return self._json(SeriesCheckResult, "PUT", f"/expected/{part.arm}", body=body, wait=LIST_SECONDS)

    def forget(self, arm: str) -> Status:
        """Withdraw this series, unless it has begun; return the receiver's status, which shows that."""
        return self._json(Status, "DELETE", f"/expected/{arm}")

    def history(self, limit: int = 20) -> list[PastSeries]:
        """Return the last series, newest first, at most some thousand, without the running one."""
        return self._json(list[PastSeries], "GET", "/series", fields={"limit": limit}, wait=LIST_SECONDS)

    def series(self, series: str) -> PastSeries | None:
        """Return the running series, or one that has ended, by its id.

        Args:
            series: the id.

        Returns:
            What the receiver says of it (`series.active`: it runs, and this is as far as it is); `None` if it
            does not know it: it has not begun, or it is forgotten, which takes a thousand others.
        """
        try:
            return self._json(PastSeries, "GET", "/series/one", fields={"series": series}, wait=LIST_SECONDS)
        except ReceiverRefused as error:
            if error.kind != "no_such_series":
                raise
            return None

    def folders(self, under: str = "") -> Folders:
        """Return the subfolders of a folder of the data root.

        Args:
            under: the folder, relative to the data root; the data root itself by default.

        Raises:
            ReceiverRefused: the folder is outside the data root, does not exist, or cannot be listed.
        """
        return self._json(Folders, "GET", "/folders", fields={"under": under}, wait=LIST_SECONDS)

    def stop(self, reason: str = "stop requested", *, failed: bool = False) -> None:
        """End the running series now; its file is closed, with this reason.

        Args:
            reason: reason in a sentence.
            failed: the series has failed or was aborted. If not, a series whose number of frames was not
                announced is complete, provided that no frame is missing.
        """
        self._call("POST", "/stop", body={"reason": reason, **({"failed": True} if failed else {})})

    def stop_at_end(self, series: str, reason: str, *, failed: bool = False) -> None:
        """Announce that this series' sender will end it early, which its end message cannot tell.

        Frames that have not arrived at the end message count as not triggered. Without effect if the series
        is not running. `failed`: see `stop`.
        """
        self._call("POST", "/stop", body={"reason": reason, "at_end_of": series, "failed": failed})

    def drain(self, on: bool = True) -> None:
        """Let it take no new series; see `Status.ending`.

        Args:
            on: `False` to let it take series again.
        """
        self._call("POST" if on else "DELETE", "/drain")

    def reset(self) -> None:
        """Leave the state Error."""
        self._call("POST", "/reset")

    def last_frame(
        self, seen: int | None = None, view: View | None = None, rectangle: Rectangle | None = None
    ) -> LastFrame | None:
        """Return the newest frame, or `None` if there is none newer than `seen`.

        Args:
            seen: version of the newest frame that the caller has.
            view: region and down-sampling; by default the whole frame with the receiver's own down-sampling.
            rectangle: the pixels to fetch, whole; `view` then has no region and no down-sampling of its own.

        Raises:
            ReceiverRefused: the frame does not have this region, rectangle or channel.
        """
        fields = {"format": "raw", **_view(view, rectangle), "seen": seen}
        answer = self._call("GET", "/last_frame", fields=fields, also=(304, 404))
        return None if answer.status != 200 else self._frame(answer, "/last_frame")

    def frame(
        self, index: int, view: View | None = None, wait: float = FRAME_SECONDS,
        rectangle: Rectangle | None = None,
    ) -> LastFrame:  # fmt: skip
        """Return a frame of the running or last series by its index, within the time-out plus `wait` seconds.

        Args:
            index: index of the frame.
            view: region and down-sampling; by default the whole frame with the receiver's own down-sampling.
            wait: seconds to wait for it, in addition to the time-out.
            rectangle: the pixels to fetch, whole; `view` then has no region and no down-sampling of its own.
                The part beyond the frame's edge is cut off.

        Raises:
            ReceiverRefused: the frame has not arrived (yet), or frames are not kept; `kind` says which. For
                "busy", `retry_after` says when to ask again.
        """
        path = f"/frame/{index}"
        fields = {"format": "raw", **_view(view, rectangle)}
        return self._frame(self._call("GET", path, fields=fields, wait=wait), path)

    def picture(
        self, index: int | None = None, *, format: Literal["png", "jpeg"] = "png", view: View | None = None,
        contrast: Contrast | None = None, wait: float = FRAME_SECONDS,
    ) -> bytes:  # fmt: skip
        """Return a frame by its index, or the newest one, as a picture file, within the time-out plus `wait`.

        Raises:
            ReceiverRefused: there is no such frame, or it cannot be shown as such a picture.
        """
        path = "/last_frame" if index is None else f"/frame/{index}"
        fields = {"format": format, **_view(view), **({} if contrast is None else asdict(contrast))}
        return self._call("GET", path, fields=fields, wait=wait).data

    def _frame(self, answer: urllib3.BaseHTTPResponse, path: str) -> LastFrame:
        header, pixels = self._pixels(answer, path, "X-Penstock-Frame")
        try:
            return msgspec.convert({**header, "array": pixels}, LastFrame)
        except msgspec.MsgspecError as error:
            raise self._foreign(path, f"header X-Penstock-Frame: {error}") from error

    def _pixels(
        self, answer: urllib3.BaseHTTPResponse, path: str, name: str
    ) -> tuple[dict[str, Any], np.ndarray]:
        if name not in answer.headers:
            raise self._foreign(path, f"no header {name}")
        try:
            header = msgspec.json.decode(answer.headers[name], type=dict[str, Any])
            pixels = np.frombuffer(answer.data, dtype=np.dtype(header["dtype"]).newbyteorder("<"))
            return header, pixels.reshape(header["shape"])
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            raise self._foreign(path, f"header {name}: {error}") from error

    def geometry(self, series: str | None = None) -> Geometry:
        """Return what the start message says of detector and beam, for the image as it is stored and shown.

        Args:
            series: id of the series; by default the running one, or else the last one.

        Raises:
            ReceiverRefused: there is no such series, or its frames are no images (`no_geometry`).
        """
        return self._json(Geometry, "GET", "/geometry", fields={"series": series}, wait=FRAME_SECONDS)

    def mask(self, channel: str | None = None, series: str | None = None) -> np.ndarray:
        """Return the pixel mask, uint32 (rows, cols), for the image as it is shown, modules assembled.

        0 is a pixel that counts; other values are bits as in NeXus' pixel_mask, such as bit 0 for a gap.

        Args:
            channel: name of one channel, such as a threshold; the first one by default.
            series: id of the series; by default the running one, or else the last one.

        Raises:
            ReceiverRefused: there is no such series or channel, or no mask that fits its frames (`no_mask`).
        """
        fields = {"format": "raw", "channel": channel, "series": series}
        answer = self._call("GET", "/mask", fields=fields, wait=FRAME_SECONDS)
        return self._pixels(answer, "/mask", "X-Penstock-Mask")[1]

    def scan(self, series: str | None = None) -> Scan:
        """Return what the user's metadata say of the scan that a series belongs to.

        Args:
            series: id of the series; by default the running one, or else the last one.

        Raises:
            ReceiverRefused: there is no such series.
        """
        return self._json(Scan, "GET", "/scan", fields={"series": series}, wait=FRAME_SECONDS)

    def lost_frames(self, first: int = 0, limit: int = 1000, series: str | None = None) -> LostFrames:
        """Return ranges of frames that are not, or not as a whole, in the file; of a running series, so far.

        Args:
            first: index of the first frame; for the ranges that follow, the `next` of an answer.
            limit: most ranges, up to 10 000.
            series: id of the series; by default the running one, or else the last one.

        Raises:
            ReceiverRefused: there is no such series, or it ends before `first`.
        """
        fields = {"first": first, "limit": limit, "series": series}
        return self._json(LostFrames, "GET", "/series/lost", fields=fields, wait=FRAME_SECONDS)

    def config(self) -> dict[str, Any]:
        """Return the configuration in use: the receiver's entry, with all defaults."""
        (entry,) = self._json(dict[str, dict[str, Any]], "GET", "/config").values()
        return entry

    def rois(self) -> Rois:
        """Return the regions of interest that the next series will have."""
        return self._json(Rois, "GET", "/rois")

    def put_rois(self, rois: Mapping[str, Rectangle], keep: bool = False) -> Rois:
        """Set all regions of interest, from the next series on.

        Args:
            rois: rectangles by name; an empty mapping removes all regions.
            keep: keep them across a restart of the receiver.

        Raises:
            ReceiverRefused: one of them is not valid, or they cannot be kept.
        """
        body = {"rois": {name: asdict(each) for name, each in rois.items()}, "keep": keep}
        return self._json(Rois, "PUT", "/rois", body=body, wait=LIST_SECONDS)

    def roi_values(
        self, first: int = 0, count: int = 1000, series: str | None = None, wait: float = 0.0
    ) -> RoiValues:
        """Return the values of the regions of interest per frame, from index `first` on, as far as available.

        Args:
            first: index of the first frame; the call waits up to `wait` seconds for it, or for the series'
                end.
            count: maximum number of frames, up to 10 000.
            series: id of the series; by default the running one, or else the last one.

        Raises:
            ReceiverRefused: there is no such series or frame, the series has no regions, or the values are no
                longer kept.
        """
        fields = {"first": first, "count": count, "series": series, "wait": wait}
        return self._json(RoiValues, "GET", "/rois/values", fields=fields, wait=wait)

    def downsample(self) -> int:
        """Return the down-sampling n: `last_frame` returns every n-th row and column."""
        return self._json(dict[str, int], "GET", "/downsample")["value"]

    def set_downsample(self, value: int) -> int:
        """Set the down-sampling for every viewer of this receiver."""
        return self._json(dict[str, int], "POST", "/downsample", fields={"value": value})["value"]


def _view(view: View | None, rectangle: Rectangle | None = None) -> dict[str, Any]:
    """Return the query fields of a view, and of a rectangle that is fetched whole."""
    fields = {} if view is None else asdict(view)
    if rectangle is not None:
        fields["rectangle"] = f"{rectangle.x},{rectangle.y},{rectangle.width},{rectangle.height}"
    return fields
