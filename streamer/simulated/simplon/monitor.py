"""The monitor of a control unit: a small buffer of images, which clients fetch in turn, as TIFF files.

SIMPLON API 1.8, "Monitor Subsystem".
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from threading import Condition

import msgspec
import numpy as np

from penstock.streamer.simulated.simplon.pixels import Picture

PATIENCE = 0.5
"""Seconds for which a client waits for an image unless it says otherwise."""


class Shown(msgspec.Struct, frozen=True):
    """One image of the monitor."""

    series: int
    number: int
    picture: Picture
    channels: Mapping[str, float | None]
    """Threshold energy in eV of each image: "1", "2", "difference", which has none."""


class Monitor:
    """The images of a control unit's monitor; for any thread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._latest: Shown | None = None
        self._queue: dict[tuple[int, int], Shown] = {}
        self.dropped = 0
        self.taken = (0, 0)
        """Series and number of the image that a client fetched last."""

    def add(self, image: Shown, size: int, *, discard_new: bool) -> None:
        """Take an image; if the buffer is full, it is dropped, or the oldest one is."""
        with self._changed:
            self._latest = image
            if len(self._queue) >= size:
                self.dropped += 1
            if len(self._queue) < size or not discard_new:
                while len(self._queue) >= size:
                    del self._queue[next(iter(self._queue))]
                self._queue[image.series, image.number] = image
            self._changed.notify_all()

    def next(self, seconds: float = PATIENCE) -> Shown | None:
        """Return the oldest image and take it out; `None` if none comes in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._queue, seconds):
                return None
            oldest = self._queue.pop(next(iter(self._queue)))
            self.taken = (oldest.series, oldest.number)
            return oldest

    def latest(self, seconds: float = PATIENCE) -> Shown | None:
        """Return the newest image, which stays; `None` if none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._latest is not None, seconds)
            if self._latest is not None:
                self.taken = (self._latest.series, self._latest.number)
            return self._latest

    def find(self, series: int, number: int) -> Shown:
        """Return one image, which stays.

        Raises:
            KeyError: it is not in the buffer.
        """
        with self._changed:
            image = self._queue[series, number]
            self.taken = (series, number)
            return image

    def listed(self) -> list[list[object]]:
        """Return the images in the buffer: [[series, [numbers]], …]."""
        with self._changed:
            found: dict[int, list[int]] = {}
            for series, number in self._queue:
                found.setdefault(series, []).append(number)
            return [[series, numbers] for series, numbers in found.items()]

    @property
    def first(self) -> tuple[int, int]:
        """Series and number of the image that `next` returns; (0, 0) without one."""
        with self._changed:
            return next(iter(self._queue), (0, 0))

    def __len__(self) -> int:
        return len(self._queue)

    def clear(self) -> None:
        """Forget all images."""
        with self._changed:
            self._latest = None
            self._queue.clear()

    def initialise(self) -> None:
        """Forget all images, and count from 0."""
        self.clear()
        self.dropped, self.taken = 0, (0, 0)


MONITOR_TAG = 0xC7F8
ASCII, SHORT, LONG = 2, 3, 4
HEADER = 8


def tiff(image: np.ndarray, **said: object) -> bytes:
    """Return the TIFF of an image of unsigned integers: one strip of little-endian pixels after the header.

    ADEiger (`parseTiffFile`) reads the pixels from byte 8, and width, height, depth and length from the first
    directory. The tag 0xC7F8 holds series, image, threshold and energy; its form is not known to us: here it
    is JSON.

    Args:
        image: (rows, cols).
        said: what the tag 0xC7F8 holds.
    """
    rows, cols = image.shape
    pixels = image.astype(image.dtype.newbyteorder("<")).tobytes()
    pixels += b"\0" * (-len(pixels) % 2)
    note = json.dumps(said).encode() + b"\0"
    at = HEADER + len(pixels)
    entries = [
        (256, LONG, 1, cols), (257, LONG, 1, rows), (258, SHORT, 1, image.dtype.itemsize * 8),
        (259, SHORT, 1, 1),  # not compressed
        (262, SHORT, 1, 1),  # black is 0
        (273, LONG, 1, HEADER),
        (277, SHORT, 1, 1), (278, LONG, 1, rows), (279, LONG, 1, image.nbytes),
        (339, SHORT, 1, 1),  # unsigned
    ]  # fmt: skip
    directory = at + len(note) + len(note) % 2
    entries.append((MONITOR_TAG, ASCII, len(note), at))
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"".join(
        (
            struct.pack("<2sHI", b"II", 42, directory), pixels, note, b"\0" * (len(note) % 2),
            struct.pack("<H", len(entries)), packed, struct.pack("<I", 0),
        )
    )  # fmt: skip
