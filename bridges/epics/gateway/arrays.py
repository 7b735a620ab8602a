"""An NTNDArray of an IOC as a frame: its format, and its blob."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.codecs import ntndarray
from penstock.stins.messages import Buffer
from penstock.stins.texts import plural

CODECS = ("", "bslz4", "lz4", "lz4hdf5")
"""Codecs that are taken, as the plugin names them."""
MOST_BYTES = 2**32
"""Bytes that a frame in a file has to stay below: HDF5's limit of a chunk."""
NEVER = 631_152_000
"""Time stamp of what has none, in s since 1970: the beginning of EPICS' time, or 0."""


class Format(NamedTuple):
    """What all frames of a series have in common."""

    shape: tuple[int, int]
    """Rows, columns."""
    dtype: str
    codec: str
    """Name of the codec in EPICS; "" for plain ones."""

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
        raise ValueError(f"arrays have {plural(len(sizes), 'dimension')}; only mono images are taken")
    if min(sizes) <= 0:
        raise ValueError(f"arrays have {sizes[1]} x {sizes[0]} pixels; sizes are 1 or more")
    if codec not in CODECS:
        raise ValueError(
            f'arrays have the codec "{codec}", which is none of {", ".join(CODECS[1:])}; set the codec '
            "plugin's Compressor to None, Bitshuffle (BSLZ4) or LZ4"
        )
    if codec:  # the number of the type in a variant, where others may have anything
        number, names = array.codec.parameters, list(ntndarray.MEMBERS)
        if not isinstance(number, int) or not 0 < number < len(names):
            raise ValueError(
                "packed arrays do not say of which type their pixels are: codec.parameters has no such number"
            )
        dtype = names[number]
    else:
        dtype = np.asarray(array.value).dtype.name
    form = Format((sizes[1], sizes[0]), dtype, codec)
    if form.nbytes >= MOST_BYTES:
        raise ValueError(f"arrays are {form}, {form.nbytes:,} bytes; a frame in a file has less than 4 GiB")
    return form


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


def exposed_at(array: Any) -> float | None:
    """Return the time stamp of an array, in s since 1970; `None` if it has none."""
    stamp = array.dataTimeStamp
    seconds = int(stamp.secondsPastEpoch) + int(stamp.nanoseconds) / 1e9
    return seconds if seconds > NEVER else None
