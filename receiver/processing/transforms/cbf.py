"""Decompression of CBF byte-offset blobs, as Pilatus streamers send them.

Each pixel is the difference to the one before it, in 1, 2 or 4 bytes: imgCIF's `x-CBF_BYTE_OFFSET`
(CBFlib manual, "Byte_offset compression"). fabio's compiled decoder does the work and releases the
interpreter lock.
"""

from __future__ import annotations

import numpy as np

from penstock.receiver.processing.transforms.format import Data, Format, FormatError, Kernel, Plan, Step
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer
from penstock.stins.texts import plural

GUARD = 6
"""Zeros appended to a blob, so that the decoder, which only knows the number of pixels, stays inside the
buffer: a pixel has at most so many bytes after its first. Each zero is one more pixel, so the number of
decoded
pixels shows where the blob ended."""


def decode(blob: Buffer, pixels: int) -> np.ndarray:
    """Return so many int32 pixels, as one row. Zeros after the last pixel (CBF's padding) are allowed.

    Raises:
        BlobError: the blob holds fewer pixels, or more.
    """
    from fabio.ext.byte_offset import dec_cbf32

    decoded = np.asarray(dec_cbf32(b"".join((blob, bytes(GUARD))), pixels + GUARD))
    whole, rest = decoded[:pixels], decoded[pixels:]
    if len(rest) < GUARD or (rest != whole[-1]).any():
        found = "fewer" if len(rest) < GUARD else "more"
        raise BlobError(
            "blob_length",
            f"a CBF blob of {plural(len(blob), 'byte')} holds {found} than the "
            f"{plural(pixels, 'pixel')} of its image",
        )
    return whole


class Cbf(Step, frozen=True, kw_only=True, tag="cbf"):
    """CBF byte-offset blobs become plain int32. Plain frames pass unchanged."""

    takes = frozenset({"cbf", "plain"})

    def load(self) -> Plan:
        return plan


def plan(format: Format) -> tuple[Format, Kernel | None]:
    if format.type not in ("int32", "uint32"):
        raise FormatError(f"cbf gives 32-bit pixels, the stream says {format.type}")
    after = format._replace(compression="none")
    if format.compression == "none":
        return after, None
    if format.compression not in ("cbf", ""):
        raise FormatError(f'cbf takes blobs of compression "cbf" (or ""), these are {format.compression}')
    rows, cols = format.image_shape

    def unpack(blob: Data) -> Data:
        return decode(blob, rows * cols).view(format.dtype).reshape(rows, cols)  # type: ignore[arg-type]

    return after, unpack
