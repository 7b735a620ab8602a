"""What a simulated control unit sends: a pattern whose frames differ, compressed before the series starts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.streamer import patterns

POOL, POOL_BYTES = 64, 64 * 2**20
"""Frames that are compressed when the box is armed and sent in turn; more of them where they are small."""
PATTERNS = {"gradient": "gradient", "diffraction": "spots", "powder": "powder"}
PHOTONS = 200.0


class Picture(msgspec.Struct, dict=True):
    """The pixels of one frame, one blob per channel."""

    shape: tuple[int, int]
    dtype: str
    compression: str
    blobs: tuple[bytes, ...]

    @cached_property
    def hash(self) -> str:
        """MD5 of the first blob, as stream V1 sends it."""
        return hashlib.md5(self.blobs[0], usedforsecurity=False).hexdigest()


class Pixels:
    """Frames of one pattern."""

    def __init__(self, pattern: str, shape: tuple[int, int]) -> None:
        self._pattern, self._shape = pattern, shape
        self._made: dict[tuple[str, str, int], list[Picture]] = {}

    def prepare(self, dtype: str, compression: str, channels: int, frames: int) -> Sequence[Picture]:
        """The first frames, compressed; kept for the next series of the same kind."""
        key = (dtype, compression, channels)
        made = self._made.get(key, [])
        rows, cols = self._shape
        size = rows * cols * np.dtype(dtype).itemsize * channels
        wanted = min(frames, max(POOL, POOL_BYTES // size))
        if len(made) < wanted:
            made = made + [self._picture(number, *key) for number in range(len(made), wanted)]
            self._made = {key: made}
        return made[:wanted]

    def _picture(self, number: int, dtype: str, compression: str, channels: int) -> Picture:
        if self._pattern == "gradient":
            image = patterns.gradient(self._shape, dtype, number)
        else:
            pool = self._pool(dtype)
            image = pool[number % len(pool)]
        # A higher threshold counts fewer photons.
        images = [image // (channel + 1) for channel in range(channels)]
        blobs = [bslz4.compress(i) if compression == "bslz4" else i.tobytes() for i in images]
        return Picture(self._shape, dtype, compression, tuple(blobs))

    def _pool(self, dtype: str) -> np.ndarray:
        if getattr(self, "_pool_dtype", None) != dtype:
            self._frames = patterns.pool(PATTERNS[self._pattern], self._shape, dtype, PHOTONS)
            self._pool_dtype = dtype
        return self._frames
