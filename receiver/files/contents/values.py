"""Conversion of values from JSON, CBOR or a decoder to types that HDF5 has."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from penstock.receiver.files.contents.known import Kind
from penstock.stins.texts import plain_text

Value: TypeAlias = "np.ndarray[Any, Any] | np.generic | str"
"""What a dataset can hold."""


def fit(value: Any, kind: Kind) -> Value | None:
    """Return the value of a known key converted to its kind; `None` if it does not fit."""
    made = plain_value(value)
    if kind is Kind.TEXT:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)  # serial numbers are often sent as numbers
        return made if isinstance(value, str) else None
    if isinstance(made, str) or made.dtype.kind not in "biuf":
        return None
    if kind is Kind.FLAG:
        # Files of vendors and JSON made by C programs have 0 and 1 for false and true.
        return np.bool_(made) if made.ndim == 0 and made.item() in (0, 1) else None
    if made.dtype.kind == "b":
        return None
    least, most = {Kind.NUMBER: (0, 1), Kind.IMAGE: (2, 3), Kind.TABLE: (1, 32)}[kind]
    return made if least <= made.ndim <= most else None


def plain_value(value: Any) -> Value:
    """Return any value as a type that HDF5 has."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype.kind in "biuf" and value.size else plain_text(as_json(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8).copy() if len(value) else ""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        array = _array(value)
        if array is not None:
            return array
    return plain_text(as_json(value))


def _integer(value: int) -> Value:
    if -(2**63) <= value < 2**63:
        return np.int64(value)
    return np.uint64(value) if 0 <= value < 2**64 else _digits(value)


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond Python's limit for decimal digits
        return hex(value)


def _array(value: list[Any] | tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """Return a rectangular list of values of one type as an array; `None` for any other list."""
    try:
        items = np.array(value, object)
    except ValueError:  # arrays of different shapes
        return None
    shape, flat = items.shape, items.ravel().tolist()
    kinds = set(map(type, flat))  # of a ragged list, lists are among them
    if len(shape) > 32:  # HDF5's limit of dimensions
        return None
    if kinds == {str}:
        return np.array([plain_text(item) for item in flat], object).reshape(shape)
    if kinds == {bool}:
        return np.array(flat, np.bool_).reshape(shape)
    if kinds == {int}:
        low, high = min(flat), max(flat)
        if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
            return None
        return np.array(flat, np.int64 if high < 2**63 else np.uint64).reshape(shape)
    if kinds in ({float}, {int, float}):
        if any(type(item) is int and abs(item) > 2**53 for item in flat):
            return None  # digits would be lost
        return np.array(flat, np.float64).reshape(shape)
    return None


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, default=_jsonable, skipkeys=True, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        return f"not kept: {error}"


def _jsonable(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
