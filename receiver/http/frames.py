"""Lookup of requested frames: in shared memory, in the data process' open file, or in a closed file; and of
facts of a series, which the data process hands over, such as its mask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from penstock.receiver.http.live_view import UnpackedFrame, from_closed_file, unpack, unpacked
from penstock.receiver.live.last_frame import Held
from penstock.receiver.live.request import FrameRefused, Request, live_only
from penstock.receiver.live.requested_frame import FACT
from penstock.receiver.process.supervisor.supervisor import Supervisor

FRESH_SECONDS = 0.25
"""Longest that a single request for the newest frame waits for it: some turns of the data process."""
MAX_ASKERS = 8
"""Most requests for frames by index that wait at the same time; more are refused."""


class Frames:
    """Frames of one receiver, and facts of its series.

    Args:
        supervisor: supervisor of the receiver.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._asking = asyncio.Lock()
        self._askers = 0

    def newest(self, seen: int | None) -> UnpackedFrame | None:
        """Return the newest frame, unpacked; `None` if there is none newer than `seen`.

        A client that follows a series passes the version it has seen. A single request waits a moment:
        otherwise it would get the frame of the last request, maybe of another series.

        Raises:
            FrameRefused: its blob cannot be unpacked.
        """
        shared = self._supervisor.newest
        before = shared.version
        shared.want()
        if seen is None and self._supervisor.status.state == "running":
            shared.wait_for_newer(before, FRESH_SECONDS)
        if shared.version == (seen or 0):
            return None
        held = shared.read()
        return None if held is None else unpacked(held, held.version)

    async def frame(self, index: int) -> UnpackedFrame:
        """Return a frame of the running or last series by its index; frames are looked up one at a time.

        Raises:
            FrameRefused: the frame is not available, or too many requests wait.
        """
        async with self._turn():
            return await self._look_for(index)

    async def fact(self, request: Request) -> Held:
        """Return a fact of the running or last series, in its turn.

        Raises:
            FrameRefused: there is none, or too many requests wait.
        """
        async with self._turn():
            supervisor = self._supervisor
            if supervisor.status.series is None:
                raise FrameRefused("no_series", f"receiver {supervisor.name} has had no series yet")
            if not supervisor.alive:
                why = supervisor.status.error or "its data process is being restarted; ask again"
                raise FrameRefused("in_error", f"receiver {supervisor.name} cannot tell: {why}")
            answer = await supervisor.hand_over(request)
            if answer.kind:
                raise FrameRefused(answer.kind, answer.message)
            held = await asyncio.to_thread(supervisor.requested.read)
            if held is None or held.info.index != FACT:
                raise _not_handed_over(request.what)
            return held

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until the requests before this one are served.

        Raises:
            FrameRefused: too many wait.
        """
        if self._askers >= MAX_ASKERS:
            raise FrameRefused(
                "busy", f"{self._askers} others wait for frames of {self._supervisor.name}; try again later",
                retry_after=self._askers * self._supervisor.pause,
            )  # fmt: skip
        self._askers += 1
        try:
            async with self._asking:
                yield
        finally:
            self._askers -= 1

    async def _look_for(self, index: int) -> UnpackedFrame:
        supervisor = self._supervisor
        series = supervisor.status.series
        if series is not None and series.active and supervisor.alive:
            answer = await supervisor.hand_over(Request("frame", index))
            if not answer.kind:
                return await asyncio.to_thread(self._handed_over, index)
            if answer.kind != "not_running":
                raise FrameRefused(answer.kind, answer.message)
            series = supervisor.status.series
        if series is None:
            raise FrameRefused("no_frame", f"receiver {supervisor.name} has had no series yet")
        if series.filename is None:
            raise live_only(series.id)
        return await asyncio.to_thread(from_closed_file, series.filename, series.id, index)

    def _handed_over(self, index: int) -> UnpackedFrame:
        held = self._supervisor.requested.read()
        if held is None or held.info.index != index:
            raise _not_handed_over(f"frame {index}")
        return unpacked(held)


def _not_handed_over(what: str) -> FrameRefused:
    return FrameRefused("busy", f"{what} was not handed over; try again", retry_after=1)


FOR_NOW = ("busy", "in_error")
"""Kinds of refusals after which the same is asked again."""


class Masks:
    """The masks of the series on show.

    Args:
        frames: where they are asked for.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._series = ""
        self._known: dict[str | None, np.ndarray[Any, Any] | None] = {}

    async def of(self, shown: UnpackedFrame, channel: str | None) -> np.ndarray[Any, Any] | None:
        """Return which pixels of a frame do not count, bool, in the shape of its image or images.

        `None` if that is not known (yet), or if all of them count.

        Args:
            shown: the frame.
            channel: name of the channel that is wanted; all of them if not given.
        """
        if shown.interpretation != "image":
            return None
        array = shown.image(channel)
        if array.ndim == 2:
            return _fitting(await self._one(shown.series, channel), array)
        each = [_fitting(await self._one(shown.series, name), array[0]) for name in shown.channels]
        if len(each) != len(array) or all(one is None for one in each):
            return None
        return np.stack([np.zeros(array.shape[1:], bool) if one is None else one for one in each])

    async def _one(self, series: str, channel: str | None) -> np.ndarray[Any, Any] | None:
        if series != self._series:
            self._series, self._known = series, {}
        if channel not in self._known:
            try:
                held = await self._frames.fact(Request("mask", series=series, channel=channel))
            except FrameRefused as error:
                if error.kind in FOR_NOW:
                    return None
                found = None
            else:
                found = await asyncio.to_thread(_without_count, held)
            if series != self._series:  # another request has come first
                return found
            self._known[channel] = found
        return self._known[channel]


def _without_count(held: Held) -> np.ndarray[Any, Any]:
    info = held.info
    return np.asarray(unpack(info.shape, info.dtype, info.compression, held.blobs) != 0)


def _fitting(mask: np.ndarray[Any, Any] | None, image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    return mask if mask is not None and mask.shape == image.shape else None
