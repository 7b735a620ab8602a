"""The frames of a series: made or loaded before it, and copied into buffers during it."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.devices._simulated import recording
from penstock.stins.texts import plural
from penstock.streamer.camera.unit import CameraError, FrameFormat
from penstock.streamer.simulated import patterns

MAX_PHOTONS = 1e9
"""Most photons in the brightest pixel of a frame, far beyond any detector."""


class View(msgspec.Struct, frozen=True):
    """The settings that determine the frames."""

    pattern: str
    recording: str
    shape: tuple[int, ...]
    """Shape of the whole sensor; a recording has its own."""
    dtype: str
    photons: float
    """Photons expected in the brightest pixel of a frame."""
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
        if view.pattern == "recording":
            frames = recording.load(view.recording)
            left, top, _, _ = view.area
            rows, cols = _size(frames.shape, view.area)
            frames = frames[:, top : top + rows, left : left + cols]
        else:
            frames = patterns.pool(view.pattern, _shape(view), view.dtype, min(view.photons, MAX_PHOTONS))
        self._frames = frames
        self._stamped = view.pattern == "gradient"
        self._blobs: list[tuple[bytes, ...]] = []
        if view.compression == "bslz4" and not self._stamped:
            self._blobs = [_compressed(frame) for frame in frames]
        self.format = _format(frames.shape[1:], frames.dtype.name, view.compression)

    def fill(self, buffer: np.ndarray, index: int) -> int | tuple[int, ...]:
        """Copy frame `index` into a buffer; return the bytes used, if compressed those of each blob."""
        if self.view.compression == "none":
            image = buffer.view(self.format.dtype).reshape(self.format.shape)
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


def format_of(view: View) -> FrameFormat | None:
    """Return the format of a view's frames without making them; `None` for a recording.

    Raises:
        CameraError: there is no such recording, or the area lies outside the frame.
    """
    if view.pattern == "recording":
        recording.find(view.recording)
        return None
    return _format(_shape(view), view.dtype, view.compression)


def _shape(view: View) -> tuple[int, ...]:
    return (*view.shape[:-2], *_size(view.shape, view.area))


def _format(shape: tuple[int, ...], dtype: str, compression: str) -> FrameFormat:
    item = np.dtype(dtype).itemsize
    nbytes = math.prod(shape) * item
    if compression == "bslz4":
        blobs = shape[0] if len(shape) == 3 else 1
        nbytes = blobs * bslz4.bound(nbytes // blobs, item)
    return FrameFormat(shape=shape, dtype=dtype, compression=compression, frame_bytes=nbytes)


def _compressed(frame: np.ndarray) -> tuple[bytes, ...]:
    return tuple(bslz4.compress(image) for image in (frame if frame.ndim == 3 else [frame]))


def _size(whole: tuple[int, ...], area: tuple[int, int, int, int]) -> tuple[int, int]:
    """Return (rows, cols) of the area that is read out of a frame of the shape `whole`."""
    left, top, width, height = area
    cols, rows = width or whole[-1] - left, height or whole[-2] - top
    if left + cols > whole[-1] or top + rows > whole[-2] or min(rows, cols) < 1:
        raise CameraError(
            f"the AOI of {plural(cols, 'column')} from {left} and {plural(rows, 'row')} from {top} "
            f"is not inside the frame of {plural(whole[-1], 'column')} and {plural(whole[-2], 'row')}; "
            "change AOILeft, AOITop, AOIWidth or AOIHeight"
        )
    return rows, cols
