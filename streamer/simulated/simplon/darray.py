"""Arrays in JSON, SIMPLON's `darray`: base64 of little-endian numbers, and the shape (rows, cols).

The reference's table says [width, height]; DECTRIS' own example beside it, and the answers of a real EIGER
500K, say (rows, cols).
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def encoded(table: np.ndarray, access: str = "rw") -> dict[str, Any]:
    """Return the answer to a GET of an array."""
    little = table.astype(table.dtype.newbyteorder("<"))
    value = {
        "__darray__": [1, 0, 0], "type": little.dtype.str, "shape": list(table.shape), "filters": ["base64"],
        "data": base64.b64encode(little.tobytes()).decode(),
    }  # fmt: skip
    return {"value": value, "value_type": "darray", "access_mode": access}


def decoded(value: dict[str, Any]) -> np.ndarray:
    """Return the array of a PUT.

    Raises:
        ValueError: it is no such array.
    """
    try:
        data = np.frombuffer(base64.b64decode(value["data"]), np.dtype(value["type"]))
        return data.reshape(value["shape"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a darray: {error}") from error
