"""12-bit pixels, two in three bytes, as GenICam cameras send them. There are two layouts:

- Mono12p (GenICam Pixel Format Naming Convention, 0x010C0047: packed, least significant bit first): byte 0 is
  pixel 0's bits 7…0; byte 1 pixel 1's bits 3…0 and pixel 0's 11…8; byte 2 pixel 1's 11…4;
- Mono12Packed (GigE Vision, 0x010C0006, a name that the convention keeps for it): byte 0 is pixel 0's bits
  11…4; byte 1 pixel 1's bits 3…0 and pixel 0's 3…0; byte 2 pixel 1's 11…4.
"""

from __future__ import annotations

import numpy as np

from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer
from penstock.stins.texts import plural


def unpack_mono12p(blob: Buffer, pixels: int) -> np.ndarray:
    """Return the pixels of a Mono12p blob, as one row of uint16.

    Raises:
        BlobError: the blob has another length.
    """
    first, middle, last, out = _triples(blob, pixels)
    out[:, 0] = first | ((middle & 0x0F) << 8)
    out[:, 1] = (middle >> 4) | (last << 4)
    return out.reshape(-1)[:pixels]


def unpack_mono12packed(blob: Buffer, pixels: int) -> np.ndarray:
    """Return the pixels of a Mono12Packed blob, as one row of uint16.

    Raises:
        BlobError: the blob has another length.
    """
    first, middle, last, out = _triples(blob, pixels)
    out[:, 0] = (first << 4) | (middle & 0x0F)
    out[:, 1] = (middle >> 4) | (last << 4)
    return out.reshape(-1)[:pixels]


def _triples(blob: Buffer, pixels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first, second and third bytes of each pair of pixels as uint16, and an array for the
    pairs."""
    pairs = (pixels + 1) // 2
    whole, least = 3 * pairs, (3 * pixels + 1) // 2
    if not least <= len(blob) <= whole:
        raise BlobError(
            "blob_length",
            f"a blob of {plural(len(blob), 'byte')}; {plural(pixels, 'pixel')} of 12 bits have "
            f"{plural(least, 'byte')}",
        )
    if len(blob) < whole:  # an odd number of pixels: the last pair is incomplete
        blob = b"".join((blob, bytes(whole - len(blob))))
    triples = np.frombuffer(blob, np.uint8).reshape(pairs, 3).astype("<u2")
    return triples[:, 0], triples[:, 1], triples[:, 2], np.empty((pairs, 2), "<u2")
