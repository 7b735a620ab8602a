"""What each step does, said again the slow way: pixel by pixel, after the specification's own words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def cbf_encode(image: Array) -> bytes:
    """CBFlib manual, "Byte_offset compression": differences in 1, 2 or 4 bytes, little endian."""
    blob, last = bytearray(), 0
    for value in image.ravel().tolist():
        delta, last = value - last, value
        if -127 <= delta <= 127:
            blob += delta.to_bytes(1, "little", signed=True)
        elif -32767 <= delta <= 32767:
            blob += b"\x80" + delta.to_bytes(2, "little", signed=True)
        else:
            blob += b"\x80\x00\x80" + delta.to_bytes(4, "little", signed=True)
    return bytes(blob)


def cbf_decode(blob: bytes, pixels: int) -> Array:
    """The way back; an error where the blob ends too early or too late."""
    values, last, place = [], 0, 0

    def take(size: int) -> int:
        nonlocal place
        part, place = blob[place : place + size], place + size
        if len(part) < size:
            raise ValueError("fewer")
        return int.from_bytes(part, "little", signed=True)

    while len(values) < pixels:
        delta = take(1)
        if delta == -128 and (delta := take(2)) == -32768:
            delta = take(4)
        last += delta
        values.append(last)
    if any(blob[place:]):
        raise ValueError("more")
    return np.array(values, "<i4")


def unpack_mono12p(blob: bytes, pixels: int) -> Array:
    """12-bit fields of one long little-endian number."""
    number = int.from_bytes(blob, "little")
    return np.array([number >> 12 * place & 0xFFF for place in range(pixels)], "<u2")


def unpack_mono12packed(blob: bytes, pixels: int) -> Array:
    """High bytes outside, low halves in the byte between."""
    values = []
    for place in range(pixels):
        pair = blob[place // 2 * 3 :]
        high, low = (pair[2], pair[1] >> 4) if place % 2 else (pair[0], pair[1] & 15)
        values.append(high << 4 | low)
    return np.array(values, "<u2")


def rotate(image: Array, quarter_turns: int) -> Array:
    """Counter-clockwise: the last column becomes the first row."""
    for _ in range(quarter_turns):
        rows, cols = image.shape
        image = np.array([[image[row, cols - 1 - col] for row in range(rows)] for col in range(cols)])
    return image


def flip(image: Array, direction: str) -> Array:
    """Row by row."""
    rows = image.tolist()
    return np.array([row[::-1] for row in rows] if direction == "left-right" else rows[::-1], image.dtype)


def mask(image: Array, rows: slice, columns: slice, fill: float) -> Array:
    """Pixel by pixel."""
    inside = [
        [
            rows.start <= row < rows.stop and columns.start <= col < columns.stop
            for col in range(image.shape[1])
        ]
        for row in range(image.shape[0])
    ]
    return np.where(inside, np.array(fill, image.dtype), image)


def counts_to_energy(image: Array, padded_table: Array) -> Array:
    """Pixel by pixel."""
    table, outside = padded_table[1:-1], padded_table[0]
    values = [table[count] if 0 <= count < len(table) else outside for count in image.ravel().tolist()]
    return np.array(values, "<f4").reshape(image.shape)


def correct(image: Array, dark: Array | None, flat: Array | None) -> Array:
    """In double precision, rounded once at the end."""
    values = image.astype("<f8") - (0 if dark is None else dark)
    if flat is not None:
        values = np.array(
            [
                value / by if not math.isnan(by) else math.nan
                for value, by in zip(values.flat, flat.flat, strict=True)
            ]
        )
    return values.reshape(image.shape).astype("<f4")
