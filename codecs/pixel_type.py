"""The NumPy type of pixels, from the name of their type in an image header and back."""

from __future__ import annotations

from typing import Any

import numpy as np


def pixel_type(name: str) -> np.dtype[Any]:
    """Return the type of pixels as they were sent: little endian, or big endian for a name such as ">u2"."""
    return np.dtype(name) if name.startswith(">") else np.dtype(name).newbyteorder("<")


def name_of(kind: np.dtype[Any]) -> str:
    """Return the name of a type of pixels, for an image header."""
    return kind.str if kind.str.startswith(">") else kind.name


def little_endian(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the pixels little endian, uncopied if they are already."""
    return pixels.astype(pixels.dtype.newbyteorder("<"), copy=False)
