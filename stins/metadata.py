"""Free metadata as JSON text: the second part of a start message.

Python's `json` writes NaN and Infinity, which JSON does not have but HDF5 does: they are read and written as
Python writes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import msgspec

from penstock.stins.errors import LocalError, RemoteError
from penstock.stins.messages import Buffer

MOST_KEYS = 5_000
"""Most keys of which each gets a place of its own in the file: it takes a tenth of a millisecond, and more
with every key in the same group."""

_encoder = msgspec.json.Encoder()


def read(text: Buffer | str, *, replace: bool = True) -> Any:
    """Return the value of a JSON text, with NaN and Infinity where they stand in it.

    Args:
        text: text, or bytes in UTF-8.
        replace: replace halves of surrogate pairs, which cannot be encoded, by question marks; otherwise they
            are refused.

    Raises:
        RemoteError: the text is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        reason = error
    try:
        found = json.loads(text if isinstance(text, str) else str(text, "utf-8"))
        return _encodable(found, "replace" if replace else "strict")
    except (ValueError, RecursionError):
        raise RemoteError("not_json", str(reason)) from reason


def write(metadata: Mapping[str, Any]) -> bytes:
    """Return the JSON text of metadata.

    Raises:
        LocalError: one of the values cannot be written as JSON.
    """
    try:
        if _is_finite(metadata):
            return _encoder.encode(metadata)
        return json.dumps(metadata, default=msgspec.to_builtins, ensure_ascii=False).encode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LocalError("not_json", f"metadata cannot be written as JSON: {error}") from error


def number(value: Any) -> float | None:
    """Return a finite number, NumPy's too, as a float; `None` for any other value."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def has_many_keys(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata have more than `MOST_KEYS` keys, at any depth; what is in lists has none."""
    left, waiting = MOST_KEYS, [metadata]
    while waiting:
        each = waiting.pop()
        left -= len(each)
        if left < 0:
            return True
        waiting += [value for value in each.values() if isinstance(value, Mapping)]
    return False


def _encodable(value: Any, errors: str) -> Any:
    match value:
        case str():
            return value.encode("utf-8", errors).decode()
        case dict():
            return {_encodable(key, errors): _encodable(item, errors) for key, item in value.items()}
        case list():
            return [_encodable(item, errors) for item in value]
    return value


def _is_finite(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case Mapping():
            return all(map(_is_finite, value.values()))
        case list() | tuple():
            return all(map(_is_finite, value))
    return True
