"""The frames of a simulated control unit: distinct ones, compressed for the series and then kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import cached_property

import msgspec
import numpy as np

from penstock.codecs.packed import CODECS
from penstock.stins.blobs import BSLZ4_HEADER_BYTES
from penstock.streamer.simulated import patterns

POOL, POOL_BYTES = 64, 64 * 2**20
"""Frames that are kept and sent in turn: as many as fit in these bytes, but at least 64."""
AT_ARM = 0.1
"""Seconds during arm in which frames are made; the others are made when they are sent."""
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


class Pictures:
    """The frames of a series by number; for one thread at a time."""

    def __init__(self, make: Callable[[int], Picture], distinct: int | None = None) -> None:
        """`make` returns frame N; after `distinct` frames, if given, they repeat."""
        self._make, self._distinct = make, distinct
        self._made: list[Picture] = []
        self._room = POOL_BYTES

    def __getitem__(self, number: int) -> Picture:
        """Return the picture of frame `number`; after the last one that is kept, they repeat."""
        while number >= len(self._made) and not self._full:
            made = self._make(len(self._made))
            self._made.append(made)
            self._room -= sum(len(blob) for blob in made.blobs)
        return self._made[number % len(self._made)]

    @property
    def _full(self) -> bool:
        if self._distinct is not None and len(self._made) >= self._distinct:
            return True
        return self._room <= 0 and len(self._made) >= POOL

    def prepare(self, frames: int) -> None:
        """Make the first frames, as many as `AT_ARM` allows and at least one."""
        end = time.monotonic() + AT_ARM
        for number in range(frames):
            _ = self[number].hash
            if self._full or time.monotonic() > end:
                return


class Pixels:
    """Frames of one pattern."""

    def __init__(self, pattern: str, shape: tuple[int, int]) -> None:
        self._pattern, self._shape = pattern, shape
        self._last: tuple[tuple[str, str, int], Pictures] | None = None

    def prepare(self, dtype: str, compression: str, channels: int, frames: int) -> Pictures:
        """Return the pictures of a series; they are kept for the next series of the same kind."""
        kind = (dtype, compression, channels)
        if self._last is None or self._last[0] != kind:
            self._last = kind, self._pictures(*kind)
        pictures = self._last[1]
        pictures.prepare(frames)
        return pictures

    def _pictures(self, dtype: str, compression: str, channels: int) -> Pictures:
        if self._pattern == "gradient":
            image = patterns.gradient(self._shape, dtype)
            stamp = Stamped if compression != "lz4" else Repacked
            stamped = [stamp(counts, compression) for counts in _thresholds(image, channels)]
            return Pictures(lambda n: self._picture(compression, dtype, [base.blob(n) for base in stamped]))
        pool = patterns.pool(PATTERNS[self._pattern], self._shape, dtype, PHOTONS)
        return Pictures(
            lambda n: self._picture(
                compression, dtype, [_packed(image, compression) for image in _thresholds(pool[n], channels)]
            ),
            len(pool),
        )

    def _picture(self, compression: str, dtype: str, blobs: list[bytes]) -> Picture:
        return Picture(self._shape, dtype, compression, tuple(blobs))


class Stamped:
    """A gradient; per frame only the part with the frame's number is compressed again."""

    def __init__(self, image: np.ndarray, compression: str) -> None:
        self._compression = compression
        blob = _packed(image, compression)
        if compression == "bslz4":  # blocks, each a length of 4 bytes and as many bytes
            self._start = blob[:BSLZ4_HEADER_BYTES]
            count = int.from_bytes(blob[8:BSLZ4_HEADER_BYTES], "big") // image.itemsize
            length = int.from_bytes(blob[BSLZ4_HEADER_BYTES : BSLZ4_HEADER_BYTES + 4], "big")
            self._rest = blob[BSLZ4_HEADER_BYTES + 4 + length :]
        else:
            self._start, count = b"", patterns.STAMP_PIXELS
            self._rest = blob[count * image.itemsize :]
        self._first = image.reshape(1, -1)[:, :count].copy()
        if count > image.size:
            self._rest = b""  # `_first` is the whole image
        self._width = min(patterns.STAMP_PIXELS, image.shape[-1])

    def blob(self, number: int) -> bytes:
        """Return the blob of frame `number`."""
        patterns.stamp(self._first[:, : self._width], number)
        first = _packed(self._first, self._compression)
        return b"".join((self._start, first[len(self._start) :], self._rest))


class Repacked:
    """A gradient that is compressed again per frame: one block holds all of it."""

    def __init__(self, image: np.ndarray, compression: str) -> None:
        self._image, self._compression = image, compression

    def blob(self, number: int) -> bytes:
        """Return the blob of frame `number`."""
        image = self._image.copy()
        patterns.stamp(image, number)
        return _packed(image, self._compression)


def _thresholds(image: np.ndarray, channels: int) -> list[np.ndarray]:
    """Return one image per channel: a higher threshold counts fewer photons."""
    return [image // divisor for divisor in range(1, channels + 1)]


def _packed(image: np.ndarray, compression: str) -> bytes:
    codec = CODECS.get(compression)
    return image.tobytes() if codec is None else codec.compress(image)


def unpacked(picture: Picture, channel: int) -> np.ndarray:
    """Return the image of a channel."""
    kind, pixels = np.dtype(picture.dtype), picture.shape[0] * picture.shape[1]
    codec, blob = CODECS.get(picture.compression), picture.blobs[channel]
    plain = np.frombuffer(blob, kind) if codec is None else codec.decompress(blob, pixels, kind)
    return plain.reshape(picture.shape)
