"""The codec of each compression in which a blob can be stored."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from penstock.codecs import bslz4, lz4
from penstock.stins.messages import Buffer


class Codec(Protocol):
    """What the modules have."""

    def compress(self, pixels: np.ndarray, /) -> bytes:
        """Return the blob of one image or module."""

    def decompress(self, blob: Buffer, pixels: int, kind: np.dtype, /) -> np.ndarray:
        """Return so many pixels of this type from a blob, as one row; raises ValueError."""

    def decompress_into(self, blob: Buffer, out: np.ndarray, /) -> None:
        """Unpack a blob into a row of pixels, which says how many there are; raises ValueError."""

    def decompress_part(
        self, blob: Buffer, pixels: int, kind: np.dtype, first: int, end: int, /
    ) -> np.ndarray:
        """Return the pixels from `first` on and before `end`, out of a blob of so many; raises ValueError."""


CODECS: dict[str, Codec] = {"bslz4": bslz4, "lz4": lz4}
"""By the compression of an image header."""
