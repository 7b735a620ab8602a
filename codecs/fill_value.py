"""The value of pixels that do not exist."""

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
