"""Decompression of CBF byte-offset blobs, as Pilatus streamers send them.

Each pixel is the difference to the one before it, in 1, 2 or 4 bytes: imgCIF's `x-CBF_BYTE_OFFSET`
(CBFlib manual, "Byte_offset compression"). fabio's compiled decoder does the work and releases the
interpreter lock.
"""

from __future__ import annotations

import numpy as np

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
