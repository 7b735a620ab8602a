"""The pixels of the frames on show that do not count: asked of the data process once per series and
channel."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from penstock.receiver.http.frames import Frames
from penstock.receiver.http.live_view import UnpackedFrame, unpack
from penstock.receiver.live.frame_refusal import FrameRefused
from penstock.receiver.live.last_frame import Held
from penstock.receiver.live.request import Request

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
