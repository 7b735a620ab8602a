"""A receiver as the window's source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from penstock.gui.live.sources.source import WHOLE, Away, Content, Part, Refused, translated
from penstock.processing.client import PipelineRefused, PipelineUnavailable, what_answers
from penstock.receiver.client import LastFrame, ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import FrameStatus, Geometry, Lost, Rectangle, Scan, Status, View

TIMEOUT = 3.0
"""Seconds for one answer: a frame of a large detector takes its time over a slow network."""
RANGES = 10_000
"""Ranges of lost frames in one answer."""
ROI_VALUES = ("sum", "mean", "max", "saturated pixels")
PIPELINE = "pipeline"
"""Kind of a refusal: it is a pipeline that answers at this address."""
_translated = partial(translated, ReceiverUnavailable, ReceiverRefused)


class ReceiverSource:
    """Source that asks a receiver over HTTP, and changes nothing there.

    Args:
        client: client of the receiver.
    """

    is_file = False

    def __init__(self, client: ReceiverClient) -> None:
        self._client = client
        self._status: Status | None = None
        self._is_receiver = False

    @classmethod
    def at(cls, url: str) -> ReceiverSource:
        """Return the source of the receiver at this address."""
        return cls(ReceiverClient(url, timeout=TIMEOUT))

    @property
    def address(self) -> str:
        """Base address of the HTTP API."""
        return self._client.url

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """Return the receiver's status.

        Raises:
            Refused: it is a pipeline's address (its kind is `PIPELINE`), or that of something else.
        """
        with _translated():
            try:
                status = self._client.status(seen, wait)
                is_odd = not status.detector
            except ReceiverUnavailable as error:
                if error.foreign and not self._is_receiver:
                    self._look_who_answers()
                raise
        if is_odd and not self._is_receiver:
            self._look_who_answers()
        self._is_receiver = True
        self._status = status
        return status

    def _look_who_answers(self) -> None:
        try:
            who = what_answers(self.address, TIMEOUT)
        except PipelineRefused as error:
            raise Refused(str(error), error.kind) from error
        except PipelineUnavailable as error:
            raise Away(str(error)) from error
        if who == PIPELINE:
            raise Refused(f"{self.address} is a pipeline's address, and no receiver's", PIPELINE)

    def content(self) -> Content:
        """Return what the newest status had: frames, and the values of regions of interest."""
        rois = [] if self._status is None else self._status.rois
        return Content(True, scalars=tuple(f"{value} of {roi.name}" for roi in rois for value in ROI_VALUES))

    def choices(self) -> tuple[tuple[str, ...], str]:
        """Return nothing: a receiver has one detector's frames."""
        return (), ""

    def reload(self, images: str | None = None) -> None:
        """Do nothing: its status is followed."""

    def count(self) -> int | None:
        """Return the planned frames of the running or last series, as the newest status had them."""
        return None if self._status is None else self._status.counts.planned

    def frame_status(self, index: int) -> FrameStatus | None:
        """Return `None`: a receiver tells how many frames have each status, not which."""
        return None

    def lost(self) -> tuple[Lost, ...]:
        """Return all ranges of frames that are not, or not as a whole, in the last series' file.

        Of a series that is running, those that are known so far.
        """
        found: list[Lost] = []
        first: int | None = 0
        while first is not None:
            with _translated():
                answer = self._client.lost_frames(first, limit=RANGES)
            found += [(each.first, each.last, each.fate) for each in answer.ranges]
            first = answer.next
        return tuple(found)

    def newest(self, seen: int | None = None, part: Part = WHOLE) -> LastFrame | None:
        """Return the newest frame, or `None` if there is none newer than version `seen`."""
        with _translated():
            return self._client.last_frame(seen=seen, view=_view(part))

    def frame(self, index: int, part: Part = WHOLE) -> LastFrame:
        """Return a frame of the running or last series by its index."""
        with _translated():
            return self._client.frame(index, view=_view(part))

    def geometry(self, series: str) -> Geometry:
        """Return what is known of detector and beam."""
        with _translated():
            return self._client.geometry(series)

    def transforms(self) -> Sequence[Mapping[str, Any]]:
        """Return the steps that the receiver applies to each frame, as in its configuration."""
        with _translated():
            return list(self._client.config().get("transforms", ()))

    def scan(self, series: str) -> Scan:
        """Return what the series' metadata say of its scan."""
        with _translated():
            return self._client.scan(series)

    def mask(self, series: str, channel: str | None = None) -> npt.NDArray[Any] | None:
        """Return the mask of a channel, (rows, cols), 0 where a pixel counts; `None` if there is none."""
        with _translated():
            try:
                return self._client.mask(channel, series)
            except ReceiverRefused as error:
                if error.kind != "no_mask":
                    raise
                return None

    def rectangle(self, frame: LastFrame, place: Rectangle, channel: str | None = None) -> LastFrame:
        """Return these pixels, whole, of this frame, or of the newest one where the receiver keeps none."""
        view = View(channel=channel)
        with _translated():
            try:
                return self._client.frame(frame.frame, view, rectangle=place)
            except ReceiverRefused:
                newest = self._client.last_frame(view=view, rectangle=place)
                if newest is None or newest.series != frame.series:
                    raise
                return newest


def _view(part: Part) -> View:
    # The receiver's own down-sampling is somebody else's wish: the window says what it needs.
    return View(downsample=part.block, method="max_valid" if part.block > 1 else "nth", channel=part.channel)
