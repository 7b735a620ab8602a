"""Groups, small datasets and attributes, created by HDF5's own calls (h5py's low-level interface).

The file of a series has some hundred of them, and a step scan may write a file per point. With h5py's
high-level interface each takes two to four times as long. What is in the file is the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5p, h5s, h5t

UTF8, ASCII = "utf-8", "ascii"
"""Encodings of texts, which name their types here; other types go by NumPy's name."""
_INTEGER = np.dtype(np.int64).str


def create_group(parent: Any, name: str, nx_class: str) -> Any:
    """Create a NeXus group, and return it (h5py).

    Args:
        parent: h5py group.
        name: NeXus name.
        nx_class: its NX_class.
    """
    group = h5py.Group(h5g.create(parent.id, name.encode()))
    set_ascii(group, "NX_class", nx_class)
    return group


def create_value(parent: Any, name: str, value: Any) -> Any:
    """Create a dataset that holds a value, and return its `h5py.h5d.DatasetID`.

    Args:
        parent: h5py group.
        name: name of the dataset.
        value: text, number, or an array of numbers or texts that is not empty.
    """
    array, kind = _array(value)
    stored, in_memory = types_of(kind)
    properties = _untimed() if array.shape else _within_the_header()
    dataset = h5d.create(parent.id, name.encode(), stored, _space(array), dcpl=properties)
    dataset.write(h5s.ALL, h5s.ALL, array, in_memory)
    return dataset


def create_name(parent: Any, name: str, text: str) -> None:
    """Create a dataset that holds a short text which never changes.

    Of fixed length, since HDF5 keeps others in a heap, which takes twice as long.

    Args:
        parent: h5py group.
        name: name of the dataset.
        text: its value.
    """
    content = text.encode(errors="surrogateescape")  # as h5py does
    stored, in_memory = _text_types(max(len(content), 1))
    dataset = h5d.create(parent.id, name.encode(), stored, _scalar(), dcpl=_within_the_header())
    dataset.write(h5s.ALL, h5s.ALL, np.array(content, f"S{max(len(content), 1)}"), in_memory)


def create_text(parent: Any, name: str, text: str, size: int) -> Any:
    """Create a dataset that holds one text of fixed length, and return its `h5py.h5d.DatasetID`.

    Args:
        parent: h5py group.
        name: name of the dataset.
        text: its value, which is cut to the size.
        size: size in bytes.
    """
    stored, in_memory = _text_types(size)
    dataset = h5d.create(parent.id, name.encode(), stored, _scalar(), dcpl=_untimed())
    dataset.write(h5s.ALL, h5s.ALL, np.array(_cut(text, size), f"S{size}"), in_memory)
    return dataset


def write_text(group: Any, name: str, text: str) -> None:
    """Change a dataset that holds one text of fixed length, to which the new one is cut.

    Args:
        group: h5py group.
        name: name of the dataset.
        text: its new value.
    """
    dataset = h5d.open(group.id, name.encode())
    size = dataset.get_type().get_size()
    dataset.write(h5s.ALL, h5s.ALL, np.array(_cut(text, size), f"S{size}"), _text_types(size)[1])


def write_number(group: Any, name: str, value: int) -> None:
    """Change a dataset that holds one integer.

    Args:
        group: h5py group.
        name: name of the dataset.
        value: its new value.
    """
    dataset = h5d.open(group.id, name.encode())
    dataset.write(h5s.ALL, h5s.ALL, np.array(value, np.int64), types_of(_INTEGER)[1])


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Set an attribute.

    Args:
        owner: h5py group or dataset, or a dataset's `DatasetID`.
        name: name of the attribute.
        value: text, number, or an array or list of numbers or texts.
    """
    _set(owner, name, *_array(value))


def set_ascii(owner: Any, name: str, text: str) -> None:
    """Set an attribute to an ASCII text: in UTF-8, durin (for XDS) reads neither classes nor units.

    Args:
        owner: h5py group or dataset, or a dataset's `DatasetID`.
        name: name of the attribute.
        text: its value.
    """
    _set(owner, name, np.array(text, object), ASCII)


def _set(owner: Any, name: str, array: np.ndarray[Any, Any], kind: str) -> None:
    place, key = (owner if isinstance(owner, h5d.DatasetID) else owner.id), name.encode()
    if h5a.exists(place, key):
        h5a.delete(place, key)
    stored, in_memory = types_of(kind)
    attribute = h5a.create(place, key, stored, _space(array))
    attribute.write(array, mtype=in_memory)
    attribute.close()


def _array(value: Any) -> tuple[np.ndarray[Any, Any], str]:
    array = np.asarray(value, order="C")
    if array.dtype.kind in "UO":
        return np.array(value, object), UTF8
    return array, array.dtype.str


def _cut(text: str, size: int) -> bytes:
    """Return a text in so many bytes at most, without a part of a character."""
    return text.encode()[:size].decode(errors="ignore").encode()


def _space(array: np.ndarray[Any, Any]) -> Any:
    return h5s.create_simple(array.shape) if array.shape else _scalar()


@cache
def _scalar() -> Any:
    return h5s.create(h5s.SCALAR)


@cache
def types_of(kind: str) -> tuple[Any, Any]:
    """Return the type in the file and that in memory of `UTF8`, `ASCII` or the name of a NumPy type."""
    # By name, since dtypes of texts are equal whatever their encoding.
    dtype = h5py.string_dtype(kind) if kind in (UTF8, ASCII) else np.dtype(kind)
    return h5t.py_create(dtype, logical=True), h5t.py_create(dtype)


@cache
def _text_types(size: int) -> tuple[Any, Any]:
    """Return the types of texts of fixed length."""
    dtype = h5py.string_dtype(UTF8, size)
    return h5t.py_create(dtype, logical=True), h5t.py_create(dtype, logical=True)


@cache
def _untimed() -> Any:
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    return properties


@cache
def _within_the_header() -> Any:
    """Return the properties of a single value: in the header of its dataset it takes no write of its own."""
    properties = _untimed().copy()
    properties.set_layout(h5d.COMPACT)
    return properties
