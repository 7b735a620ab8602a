"""The NumPy type of pixels, from the name of their type in an image header and back."""

from __future__ import annotations

from typing import Any

import numpy as np


def fill_value(dtype: str) -> Any:
    """Return the value of pixels that were not sent, which cannot be mistaken for a count."""
    kind = np.dtype(dtype)
    if kind.kind == "u":
        return np.iinfo(kind).max
    if kind.kind == "b":  # there is no third value
        return False
    return -1 if kind.kind == "i" else np.nan


def pixel_type(name: str) -> np.dtype[Any]:
    """Return the type of pixels as they were sent: little endian, or big endian for a name such as ">u2"."""
    return np.dtype(name) if name.startswith(">") else np.dtype(name).newbyteorder("<")


def name_of(kind: np.dtype[Any]) -> str:
    """Return the name of a type of pixels, for an image header."""
    return kind.str if kind.str.startswith(">") else kind.name


def little_endian(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the pixels little endian, uncopied if they are already."""
    return pixels.astype(pixels.dtype.newbyteorder("<"), copy=False)
