"""The newest frame, from the data process to the HTTP process, through shared memory.

Costs the data path nothing while nobody looks: a viewer's request sets `wanted`, the data process
copies the next frame in, and no more than one in `LEAST_SECONDS`. A thread of its own makes the copy, with
the interpreter's lock released: the thread that every frame passes only hands over a reference. Compressed
blobs are copied as they are; the HTTP process unpacks them. One writer, one reader, and a version that is
odd while the copy is under way: a reader that meets an odd or a changed version reads again.
"""

from __future__ import annotations

import logging
import mmap
import os
import threading
import time
from collections.abc import Mapping, Sequence
from queue import Queue
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.processing.joined import JoinedFrame
from penstock.receiver.processing.module_layout import Layout, Region
from penstock.stins.messages import Buffer, Frame
from penstock.stins.texts import of_series

log = logging.getLogger(__name__)

CAPACITY = 2**30
"""Largest frame that can be shown, in bytes. Memory is only taken by what is written to."""
LEAST_SECONDS = 0.02
READ_SECONDS = 1.0
MOST_COVERED = 64
"""Modules whose places fit into the head of the memory."""
_HEAD = 4096
_VERSION, _WANTED, _LENGTH, _INFO = slice(0, 8), slice(8, 16), slice(16, 24), 24


class FrameInfo(msgspec.Struct, frozen=True):
    """What is known of a frame that is shown."""

    index: int
    trigger: int | None
    series: str
    shape: tuple[int, ...]
    dtype: str
    compression: str
    sizes: tuple[int, ...]
    """Bytes of each blob."""
    saturation: float | None = None
    """Counts at which a pixel is saturated, if the detector says so."""
    channels: tuple[str, ...] = ()
    """Names of the blobs, where each is an image of its own."""
    layout: Layout | None = None
    """Where the blobs sit in one image, where they are modules of one."""
    covered: tuple[Region, ...] = ()
    """Where modules stand in an image that came assembled; empty where nobody knows."""


class Held(msgspec.Struct, frozen=True):
    """A frame as the reader got it."""

    version: int
    info: FrameInfo
    blobs: Sequence[Buffer]


def memory_bytes() -> int:
    """Of the memory that `create` makes."""
    return _HEAD + CAPACITY


def create() -> int:
    """A file descriptor of new shared memory, to be passed to the other process."""
    descriptor = os.memfd_create("penstock-last-frame")
    os.ftruncate(descriptor, _HEAD + CAPACITY)
    return descriptor


class LastFrame:
    """One end of the shared memory; the data process publishes, the HTTP process reads."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _HEAD + CAPACITY)
        self._view = memoryview(self._memory)
        self._pixels = np.frombuffer(self._memory, np.uint8, offset=_HEAD)
        self._orders: Queue[tuple[str, int, Frame]] = Queue()
        self._copier: threading.Thread | None = None
        self._published = 0.0
        self._newest: tuple[str, int, Frame] | None = None
        self._saturation: float | None = None
        self._channels: tuple[str, ...] = ()

    # -- data process --------------------------------------------------------------------------

    def begin(self, metadata: Mapping[str, Any], channels: Sequence[str] = ()) -> None:
        """A new series: take up what a viewer should know of it."""
        self._channels = tuple(channels)
        value = metadata.get("saturation_value")
        self._saturation = float(value) if isinstance(value, (int, float)) and 0 < value < 1e300 else None

    def offer(self, series: str, index: int, frame: Frame) -> None:
        """The newest frame; shown with the next `step`."""
        self._newest = (series, index, frame)

    def step(self, now: float) -> None:
        """Have the newest frame shown if somebody asked, and not sooner after the last one than is useful."""
        if self._newest is not None and now - self._published >= LEAST_SECONDS and self._get(_WANTED):
            if self._orders.unfinished_tasks:
                return  # a machine that has no time for the copy gets no second one
            self._published = now
            self._orders.put(self._newest)
            self._newest = None
            if self._copier is None:
                self._copier = threading.Thread(target=self._copy, name="last frame", daemon=True)
                self._copier.start()

    def finalize(self) -> None:
        """Show the newest frame that was offered, asked or not, before this returns: the series has ended."""
        self._orders.join()
        if self._newest is not None:
            self.show(*self._newest)
            self._newest = None

    def _copy(self) -> None:
        while True:
            self._copy_next()

    def _copy_next(self) -> None:  # a function of its own, so that nothing holds the frame afterwards
        order = self._orders.get()
        try:
            self.show(*order)
        except Exception:
            log.exception("frame %d cannot be shown%s", order[1], of_series(order[0]))
        finally:
            self._orders.task_done()

    def show(self, series: str, index: int, frame: Frame) -> bool:
        """Show this frame, asked or not; false if it is too large for the memory."""
        image = frame.image
        sizes = tuple(len(blob) for blob in frame.blobs)
        info = msgspec.json.encode(
            FrameInfo(
                index,
                image.trigger,
                series,
                image.shape,
                image.type,
                image.compression,
                sizes,
                self._saturation,
                self._channels,
                frame.layout if isinstance(frame, JoinedFrame) else None,
                frame.covered
                if isinstance(frame, JoinedFrame) and len(frame.covered) <= MOST_COVERED
                else (),
            )
        )
        if sum(sizes) > CAPACITY or len(info) > _HEAD - _INFO:
            return False
        # Odd from the start where a writer was killed in the middle of a copy.
        copying = self._get(_VERSION) | 1
        self._set(_VERSION, copying)
        self._set(_WANTED, 0)
        self._set(_LENGTH, len(info))
        self._view[_INFO : _INFO + len(info)] = info
        place = 0
        for blob, size in zip(frame.blobs, sizes, strict=True):
            # NumPy releases the interpreter's lock meanwhile, a memoryview does not.
            self._pixels[place : place + size] = np.frombuffer(blob, np.uint8)
            place += size
        self._set(_VERSION, copying + 1)
        return True

    # -- HTTP process --------------------------------------------------------------------------

    def want(self) -> None:
        """Ask for a newer frame than the one that is there."""
        self._set(_WANTED, 1)

    @property
    def version(self) -> int:
        """Grows with every frame that is shown; 0 before the first."""
        return self._get(_VERSION) & ~1

    def wait_for_newer(self, version: int, seconds: float) -> None:
        """Return once a frame is shown that is newer than this version, or after so many seconds."""
        due = time.monotonic() + seconds
        while self.version == version and time.monotonic() < due:
            time.sleep(0.005)

    def read(self) -> Held | None:
        """The newest frame that is shown, copied out; `None` before the first.

        `None` too where no copy is whole within `READ_SECONDS`: the writer was killed in the middle.
        """
        due = time.monotonic() + READ_SECONDS
        while time.monotonic() < due:
            version = self._get(_VERSION)
            if version == 0:
                return None
            if version & 1:
                time.sleep(0.0005)  # the writer is copying
                continue
            info_bytes = bytes(self._view[_INFO : _INFO + self._get(_LENGTH)])
            if self._get(_VERSION) != version:
                continue
            info = msgspec.json.decode(info_bytes, type=FrameInfo)
            blobs, place = [], _HEAD
            for size in info.sizes:
                blobs.append(bytes(self._view[place : place + size]))
                place += size
            if self._get(_VERSION) == version:
                return Held(version, info, blobs)
        return None

    def _get(self, place: slice) -> int:
        return int.from_bytes(self._view[place], "little")

    def _set(self, place: slice, value: int) -> None:
        self._view[place] = value.to_bytes(8, "little")
