"""The codec of each compression in which a blob can be stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from penstock.codecs import bslz4, lz4
from penstock.stins.messages import Buffer


class Codec(Protocol):
    """What the modules have."""

    def compress(self, pixels: np.ndarray, /) -> bytes:
        """Return the blob of one image or module."""

    def check(self, blob: Buffer, pixels: int, kind: np.dtype, /) -> None:
        """Check the lengths in a blob of so many pixels, which is not unpacked; raises ValueError."""

    def decompress(self, blob: Buffer, pixels: int, kind: np.dtype, /) -> np.ndarray:
        """Return so many pixels of this type from a blob, as one row; raises ValueError."""

    def decompress_into(self, blob: Buffer, out: np.ndarray, /) -> None:
        """Unpack a blob into a row of pixels, which says how many there are; raises ValueError."""

    def decompress_part(
        self, blob: Buffer, pixels: int, kind: np.dtype, first: int, end: int, /
    ) -> np.ndarray:
        """Return the pixels from `first` on and before `end`, out of a blob of so many; raises ValueError."""


CODECS: dict[str, Codec] = {"bslz4": bslz4, "lz4": lz4}
"""Codecs by the compression of an image header."""

_BITSHUFFLE, _LZ4 = 32008, 32004
"""HDF5's numbers of filters (https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md)."""
_OF_FILTER = {_BITSHUFFLE: "bslz4", _LZ4: "lz4"}
_WITH_LZ4 = 2
"""Fifth option of the bitshuffle filter where LZ4 follows (bitshuffle's `bshuf_h5filter.h`)."""


def compression_of_filter(number: int, options: Sequence[int]) -> str | None:
    """Return the compression of the blobs that an HDF5 filter writes; `None` if no codec has it.

    Args:
        number: HDF5's registered number of the filter.
        options: its client data, as a dataset has them.
    """
    if number == _BITSHUFFLE and tuple(options[4:5]) != (_WITH_LZ4,):
        return None
    return _OF_FILTER.get(number)
