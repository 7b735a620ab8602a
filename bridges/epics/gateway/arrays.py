"""An NTNDArray of an IOC as a frame: its format, and its blob."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.codecs import ntndarray
from penstock.stins.messages import Buffer


class Format(NamedTuple):
    """What all frames of a series have in common."""

    shape: tuple[int, int]
    """Rows, columns."""
    dtype: str
    codec: str
    """Of EPICS; "" for plain ones."""

    @property
    def compression(self) -> str:
        """As STINS names it."""
        return ntndarray.COMPRESSIONS[self.codec]

    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""
        return self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        packed = f", packed by {self.codec}" if self.codec else ""
        return f"{self.shape[0]} x {self.shape[1]} {self.dtype}{packed}"


def format_of(array: Any) -> Format:
    """Return the format of an array that has pixels.

    Raises:
        ValueError: no file can have frames like this one.
    """
    sizes, codec = [int(each.size) for each in array.dimension], str(array.codec.name)
    if len(sizes) != 2:
        raise ValueError(f"arrays have {len(sizes)} dimensions; only mono images are taken")
    if codec not in ntndarray.COMPRESSIONS:
        raise ValueError(
            f"arrays are packed by the codec {codec}; set the codec plugin's Compressor to None, Bitshuffle "
            "(BSLZ4) or LZ4"
        )
    if codec:  # the number of the type in a variant
        number = int(array.codec.parameters or 0)
        names = list(ntndarray.MEMBERS)
        if not 0 < number < len(names):
            raise ValueError(f"packed arrays do not say of which type their pixels are ({number})")
        dtype = names[number]
    else:
        dtype = np.asarray(array.value).dtype.name
    return Format((sizes[1], sizes[0]), dtype, codec)


def blob_of(array: Any, form: Format) -> Buffer:
    """Return the blob of an array of this format: of plain pixels the array's own memory.

    Raises:
        ValueError: it has another size.
    """
    values = np.asarray(array.value)
    if not form.codec:
        if values.nbytes != form.nbytes:
            raise ValueError(f"an array has {values.nbytes:,} bytes of pixels, and its sizes {form.nbytes:,}")
        return values.view(np.uint8).data
    return ntndarray.blob(form.codec, values.view(np.uint8).data, form.nbytes)
