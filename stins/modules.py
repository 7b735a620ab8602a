"""The keys of a module stream: the position of its frames in the image of the whole detector.

They are part of the start message's metadata (X-Spectrum's Lambda sends them); the receiver merges the
streams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from penstock.stins.errors import RemoteError

KEYS = ("x", "y", "rotation", "full_shape")
"""Keys of the metadata that identify the stream of a module."""

_Place = Annotated[float, msgspec.Meta(ge=-(2**24), le=2**24)]
_Length = Annotated[int, msgspec.Meta(ge=1, le=2**24)]


class Module(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The position of one module."""

    x: _Place
    """Column of its upper left pixel in the image of the whole detector; may be negative."""
    y: _Place
    """Row of its upper left pixel."""
    rotation: float = 0.0
    """Degrees counter-clockwise by which its frames are rotated into the image. The upper left pixel is that
    of the rotated frame."""
    full_shape: tuple[_Length, _Length] | None = None
    """Rows and columns of the whole image."""


def read(metadata: Mapping[str, Any]) -> Module | None:
    """Return the module whose stream this is; `None` where the metadata do not say, or a number in it is NaN.

    Raises:
        RemoteError: they do, and it cannot be.
    """
    found = {key: metadata[key] for key in KEYS if metadata.get(key) is not None}
    if "x" not in found and "y" not in found:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in found.values()):
        return None  # NaN means unknown
    try:
        return msgspec.convert(found, Module, strict=True)
    except msgspec.ValidationError as error:
        raise RemoteError("wrong_type", f"the place of a module cannot be read: {error}") from error
