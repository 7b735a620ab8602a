"""The frames of a series, made or loaded before it begins, and put into buffers during it."""

from __future__ import annotations

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.devices._simulated import recording
from penstock.stins.texts import plural
from penstock.streamer import patterns
from penstock.streamer.camera import CameraError

MAX_PHOTONS = 1e9
"""Brightest pixel of a frame: far beyond any detector."""


class View(msgspec.Struct, frozen=True):
    """What is looked at, and how."""

    pattern: str
    recording: str
    shape: tuple[int, ...]
    """Of the whole sensor; a recording brings its own."""
    dtype: str
    photons: float
    """Expected in the brightest pixel of a frame."""
    area: tuple[int, int, int, int]
    """left, top, width, height in pixels; 0 for the rest of the sensor."""
    compression: str


class Scene:
    """The frames of one view."""

    def __init__(self, view: View) -> None:
        """Make or load the frames.

        Raises:
            CameraError: the recording cannot be read, or the area lies outside the frame.
        """
        self.view = view
        whole = view.shape
        if view.pattern == "recording":
            frames = recording.load(view.recording)
        else:
            shape = (*whole[:-2], *_size(whole, view.area))
            frames = patterns.pool(view.pattern, shape, view.dtype, min(view.photons, MAX_PHOTONS))
        if view.pattern == "recording":
            left, top, _, _ = view.area
            rows, cols = _size(frames.shape, view.area)
            frames = frames[:, top : top + rows, left : left + cols]
        self._frames = frames
        self.shape = frames.shape[1:]
        self.dtype = frames.dtype.name
        self._stamped = view.pattern == "gradient"
        self._blobs: list[tuple[bytes, ...]] = []
        self.frame_bytes = frames[0].nbytes
        if view.compression == "bslz4":
            if self._stamped:
                count = self.shape[0] if len(self.shape) == 3 else 1
                self.frame_bytes = count * bslz4.bound(self.frame_bytes // count, frames.itemsize)
            else:
                self._blobs = [_compressed(frame) for frame in frames]
                self.frame_bytes = max(sum(map(len, blobs)) for blobs in self._blobs)

    def fill(self, buffer: np.ndarray, index: int) -> int | tuple[int, ...]:
        """Put frame `index` into a buffer; the bytes used, of each blob when compressed."""
        if self.view.compression == "none":
            image = buffer.view(self.dtype).reshape(self.shape)
            np.copyto(image, self._frames[index % len(self._frames)])
            if self._stamped:
                patterns.stamp(image, index)
            return buffer.nbytes
        if self._stamped:
            image = self._frames[0].copy()
            patterns.stamp(image, index)
            blobs = _compressed(image)
        else:
            blobs = self._blobs[index % len(self._blobs)]
        start = 0
        for blob in blobs:
            buffer[start : start + len(blob)] = np.frombuffer(blob, np.uint8)
            start += len(blob)
        return tuple(map(len, blobs))


def _compressed(frame: np.ndarray) -> tuple[bytes, ...]:
    return tuple(bslz4.compress(image) for image in (frame if frame.ndim == 3 else [frame]))


def _size(whole: tuple[int, ...], area: tuple[int, int, int, int]) -> tuple[int, int]:
    """(rows, cols) of the area read out of a frame of shape `whole`."""
    left, top, width, height = area
    cols, rows = width or whole[-1] - left, height or whole[-2] - top
    if left + cols > whole[-1] or top + rows > whole[-2] or min(rows, cols) < 1:
        raise CameraError(
            f"the AOI of {plural(cols, 'column')} from {left} and {plural(rows, 'row')} from {top} "
            "is not inside the frame of "
            f"{plural(whole[-1], 'column')} and {plural(whole[-2], 'row')}; change AOILeft, AOITop, "
            "AOIWidth or AOIHeight"
        )
    return rows, cols
