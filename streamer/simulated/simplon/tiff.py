"""A TIFF as the monitor of a control unit sends it: one strip of little-endian pixels after the header.

ADEiger (`parseTiffFile`) reads the pixels from byte 8, and width, height, depth and length from the first
directory. The tag 0xC7F8 holds series, image, threshold and energy (SIMPLON API 1.8, "Monitor Subsystem");
its form is not known to us: here it is JSON.
"""

from __future__ import annotations

import json
import struct

import numpy as np

MONITOR_TAG = 0xC7F8
ASCII, SHORT, LONG = 2, 3, 4
HEADER = 8


def encoded(image: np.ndarray, **said: object) -> bytes:
    """Return the TIFF of an image of unsigned integers; `said` is what the tag 0xC7F8 holds."""
    rows, cols = image.shape
    pixels = image.astype(image.dtype.newbyteorder("<")).tobytes()
    pixels += b"\0" * (-len(pixels) % 2)
    note = json.dumps(said).encode() + b"\0"
    at = HEADER + len(pixels)
    entries = [
        (256, LONG, 1, cols), (257, LONG, 1, rows), (258, SHORT, 1, image.dtype.itemsize * 8),
        (259, SHORT, 1, 1),  # not compressed
        (262, SHORT, 1, 1),  # black is 0
        (273, LONG, 1, HEADER),
        (277, SHORT, 1, 1), (278, LONG, 1, rows), (279, LONG, 1, image.nbytes),
        (339, SHORT, 1, 1),  # unsigned
    ]  # fmt: skip
    directory = at + len(note) + len(note) % 2
    entries.append((MONITOR_TAG, ASCII, len(note), at))
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"".join(
        (
            struct.pack("<2sHI", b"II", 42, directory), pixels, note, b"\0" * (len(note) % 2),
            struct.pack("<H", len(entries)), packed, struct.pack("<I", 0),
        )
    )  # fmt: skip
