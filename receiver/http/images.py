"""Unpacking of blobs for the live view, off the data path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.codecs import bslz4
from penstock.receiver.processing.fill_value import fill_value
from penstock.stins import blobs as rules
from penstock.stins.messages import Buffer


def unpack(shape: tuple[int, ...], dtype: str, compression: str, blobs: Sequence[Buffer]) -> np.ndarray:
    """Return the pixels of a frame, little endian, in this shape; a missing module has an empty blob.

    Raises:
        ValueError: a blob cannot be unpacked.
    """
    count, nbytes = rules.blob_layout(shape, dtype)
    kind = np.dtype(dtype).newbyteorder("<")
    parts = []
    for blob in blobs:
        if not len(blob):
            parts.append(np.full(nbytes // kind.itemsize, fill_value(dtype), kind))
        elif compression == "bslz4":
            parts.append(bslz4.decompress(blob, nbytes // kind.itemsize, kind))
        else:
            parts.append(np.frombuffer(blob, kind))
    whole = parts[0] if count == 1 else np.concatenate(parts)
    return whole.reshape(shape)
