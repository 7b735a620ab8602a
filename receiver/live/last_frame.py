"""The newest frame, from the data process to the HTTP process, through shared memory.

It costs the data path nothing while nobody looks: a viewer's request sets `wanted`, and the data process
copies the next frame, at most one per `LEAST_SECONDS`. A separate thread makes the copy, with the
interpreter's lock released: the thread that receives frames only passes a reference. Compressed blobs are
copied as they are; the HTTP process unpacks them. There is one writer and one reader, and a version that is
odd during the copy: a reader that finds an odd or a changed version reads again.
"""

from __future__ import annotations

import logging
import mmap
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.transforms.joined import JoinedFrame
from penstock.receiver.transforms.module_layout import Layout, Region
from penstock.receiver.validity.pixels import PixelRule, rule_of
from penstock.stins.messages import Buffer, Frame
from penstock.stins.texts import of_series

log = logging.getLogger(__name__)

CAPACITY = 2**30
"""Largest frame that can be shown, in bytes. Only pages that are written to take memory."""
LEAST_SECONDS = 0.02
READ_SECONDS = 1.0
MOST_COVERED = 64
"""Most modules whose positions fit into the head of the memory."""
_HEAD = 4096
_VERSION, _WANTED, _LENGTH = range(3)
_INFO = 24


class FrameInfo(msgspec.Struct, frozen=True):
    """Properties of a frame that is shown."""

    index: int
    trigger: int | None
    series: str
    shape: tuple[int, ...]
    dtype: str
    compression: str
    sizes: tuple[int, ...]
    """Size of each blob in bytes."""
    saturation: float | None = None
    """Counts at which a pixel is saturated, if the detector says so."""
    channels: tuple[str, ...] = ()
    """Names of the blobs, if each is a channel."""
    layout: Layout | None = None
    """Positions of the blobs in the image, if they are modules."""
    covered: tuple[Region, ...] = ()
    """Positions of the modules in an image that was received assembled; empty if unknown."""
    time: float | None = None
    """End of its exposure, as its sender says, else when it was received: seconds since 1970 (UTC)."""
    status: FrameStatus | None = None
    """What became of it, or was about to when it was shown."""
    underload: float | None = None
    """Value below which a pixel has no value, if the detector says so."""


class Held(msgspec.Struct, frozen=True):
    """A frame as copied out of the shared memory."""

    version: int
    info: FrameInfo
    blobs: Sequence[Buffer]


def memory_bytes() -> int:
    """Return the size of the memory that `create` makes."""
    return _HEAD + CAPACITY


def create() -> int:
    """Return the file descriptor of new shared memory, to be passed to the other process."""
    descriptor = os.memfd_create("penstock-last-frame")
    os.ftruncate(descriptor, _HEAD + CAPACITY)
    return descriptor


class LastFrame:
    """One end of the shared memory; the data process publishes, the HTTP process reads."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _HEAD + CAPACITY)
        self._view = memoryview(self._memory)
        self._numbers = np.frombuffer(self._memory, np.int64, _INFO // 8)
        self._pixels = np.frombuffer(self._memory, np.uint8, offset=_HEAD)
        self._copier = ThreadPoolExecutor(1, "last frame")
        self._copying: Future[None] | None = None
        self._published = 0.0
        self._newest: tuple[str, int, Frame, float, FrameStatus | None] | None = None
        self._rule = PixelRule()
        self._channels: tuple[str, ...] = ()

    # -- data process --------------------------------------------------------------------------

    def begin(self, metadata: Mapping[str, Any], channels: Sequence[str] = ()) -> None:
        """Begin a series: keep the metadata that a viewer needs."""
        self._channels = tuple(channels)
        self._rule = rule_of(metadata)

    def offer(self, series: str, index: int, frame: Frame, status: FrameStatus | None = None) -> None:
        """Take the newest frame; the next `step` may show it."""
        moment = frame.image.timestamp
        self._newest = (series, index, frame, time.time() if moment is None else moment, status)

    def step(self, now: float) -> None:
        """Show the newest frame if one was requested, at most once per `LEAST_SECONDS`."""
        if self._newest is not None and now - self._published >= LEAST_SECONDS and self._numbers[_WANTED]:
            if self._copying is not None and not self._copying.done():
                return  # do not queue a second copy
            self._published = now
            self._copying = self._copier.submit(self._copy, *self._newest)
            self._newest = None

    def finalize(self) -> None:
        """Show the newest frame, requested or not, before returning: the series has ended."""
        if self._copying is not None:
            self._copying.result()
        if self._newest is not None:
            self.show(*self._newest)
            self._newest = None

    def _copy(self, series: str, index: int, frame: Frame, moment: float, status: FrameStatus | None) -> None:
        try:
            self.show(series, index, frame, moment, status)
        except Exception:
            log.exception("frame %d cannot be shown%s", index, of_series(series))

    def show(
        self, series: str, index: int, frame: Frame, moment: float | None = None,
        status: FrameStatus | None = None,
    ) -> bool:  # fmt: skip
        """Show this frame, requested or not; return false if it is too large for the memory.

        Args:
            series: id of its series.
            index: its index.
            frame: the frame.
            moment: its time, if the frame itself has none.
            status: its status.
        """
        image = frame.image
        layout, covered = (frame.layout, frame.covered) if isinstance(frame, JoinedFrame) else (None, ())
        sizes = tuple(len(blob) for blob in frame.blobs)
        info = msgspec.json.encode(
            FrameInfo(
                index, image.trigger, series, image.shape, image.type, image.compression, sizes,
                self._rule.saturation, self._channels, layout,
                covered if len(covered) <= MOST_COVERED else (),
                image.timestamp if moment is None else moment, status, self._rule.underload,
            )
        )  # fmt: skip
        if sum(sizes) > CAPACITY or len(info) > _HEAD - _INFO:
            return False
        # The version is odd already if a writer was killed in the middle of a copy.
        copying = int(self._numbers[_VERSION]) | 1
        self._numbers[_VERSION] = copying
        self._numbers[_WANTED] = 0
        self._numbers[_LENGTH] = len(info)
        self._view[_INFO : _INFO + len(info)] = info
        place = 0
        for blob, size in zip(frame.blobs, sizes, strict=True):
            # NumPy releases the interpreter's lock meanwhile, a memoryview does not.
            self._pixels[place : place + size] = np.frombuffer(blob, np.uint8)
            place += size
        self._numbers[_VERSION] = copying + 1
        return True

    # -- HTTP process --------------------------------------------------------------------------

    def want(self) -> None:
        """Request a newer frame than the present one."""
        self._numbers[_WANTED] = 1

    @property
    def version(self) -> int:
        """Version of the newest frame: grows with every frame that is shown; 0 before the first."""
        return int(self._numbers[_VERSION]) & ~1

    def wait_for_newer(self, version: int, seconds: float) -> None:
        """Wait for a frame that is newer than this version, for at most so many seconds."""
        due = time.monotonic() + seconds
        while self.version == version and time.monotonic() < due:
            time.sleep(0.005)

    def read(self) -> Held | None:
        """Return a copy of the newest frame; `None` before the first.

        Also `None` if no copy is complete within `READ_SECONDS`: the writer was killed in the middle.
        """
        due = time.monotonic() + READ_SECONDS
        while time.monotonic() < due:
            version = int(self._numbers[_VERSION])
            if version == 0:
                return None
            if version & 1:
                time.sleep(0.0005)  # the writer is copying
                continue
            info_bytes = bytes(self._view[_INFO : _INFO + int(self._numbers[_LENGTH])])
            if int(self._numbers[_VERSION]) != version:
                continue
            info = msgspec.json.decode(info_bytes, type=FrameInfo)
            blobs, place = [], _HEAD
            for size in info.sizes:
                blobs.append(bytes(self._view[place : place + size]))
                place += size
            if int(self._numbers[_VERSION]) == version:
                return Held(version, info, blobs)
        return None
