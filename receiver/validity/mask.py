"""The pixel mask of a start message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def mask_of(metadata: Mapping[str, Any], channel: str | None) -> np.ndarray[Any, Any] | None:
    """Return the pixel mask of a start message, true for pixels that do not count; see `mask_image`."""
    found = mask_image(metadata, channel)
    return None if found is None else np.asarray(found != 0)


def mask_image(metadata: Mapping[str, Any], channel: str | None) -> np.ndarray[Any, Any] | None:
    """Return the pixel mask of a start message as sent, (rows, cols); `None` if it has none.

    Args:
        metadata: metadata of the start message, rotated like the frames.
        channel: name of the channel whose mask is wanted, if a frame has several.

    Raises:
        ValueError, TypeError: the mask is not an image.
    """
    given = metadata.get("pixel_mask")
    if isinstance(given, Mapping):
        given = given.get(channel)
    if given is None:
        return None
    found = np.asarray(given)
    if found.dtype.kind not in "biuf" or found.ndim not in (2, 3):
        raise ValueError(f"it has {found.ndim} dimensions of {found.dtype}")
    return np.asarray(found if found.ndim == 2 else found[0])
