"""What stands where there is no pixel."""

from __future__ import annotations

from typing import Any

import numpy as np


def fill_value(dtype: str) -> Any:
    """The value of pixels that nobody sent: never a value that could be a count."""
    kind = np.dtype(dtype)
    if kind.kind == "u":
        return np.iinfo(kind).max
    return -1 if kind.kind == "i" else np.nan
