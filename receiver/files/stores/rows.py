"""Datasets with one row per frame, by HDF5's own calls (h5py's low-level interface).

The file of a series has five or more of them, and a step scan may write a file per point. With h5py's
high-level interface each takes four times as long. What is in the file is the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from h5py import h5d, h5p, h5s, h5z

from penstock.receiver.files.stores.objects import types_of


class Rows:
    """A dataset with one row per frame.

    Args:
        dataset: its `h5py.h5d.DatasetID`; it stays open, since opening it takes longer than writing to it.
        dtype: type of a value.
        shape: number of rows, and shape of a row.
    """

    def __init__(self, dataset: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.id = dataset
        self.dtype = dtype
        self._in_memory = types_of(dtype.str)[1]
        self._shape = shape

    @classmethod
    def create(
        cls, parent: Any, name: str, dtype: str, fill: float | None, chunk: int, shape: tuple[int, ...] = (0,)
    ) -> Rows:
        """Create the dataset, and return it.

        Args:
            parent: h5py group.
            name: name of the dataset.
            dtype: NumPy's type of a value.
            fill: what rows have that were never written.
            chunk: rows per chunk.
            shape: shape of the dataset now: any number of rows, and the shape of a row.
        """
        kind = np.dtype(dtype)
        made = create_rows(parent, name, kind, shape, (chunk, *shape[1:]), fill)
        return cls(made, kind, shape)

    @classmethod
    def find(cls, parent: Any, name: str) -> Rows:
        """Return a dataset that is there already."""
        dataset = h5d.open(parent.id, name.encode())
        return cls(dataset, dataset.dtype, dataset.shape)

    @classmethod
    def find_empty(cls, parent: Any, name: str, dtype: str) -> Rows:
        """Return a dataset without rows, of known type; asking HDF5 for it takes as long as opening it."""
        return cls(h5d.open(parent.id, name.encode()), np.dtype(dtype), (0,))

    def __len__(self) -> int:
        return self._shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return self._shape

    def resize(self, rows: int) -> None:
        """Cut or extend the dataset to so many rows."""
        shape = (rows, *self._shape[1:])
        self.id.set_extent(shape)
        self._shape = shape

    def read(self, first: int, end: int) -> np.ndarray[Any, Any]:
        """Return the rows from `first` to before `end`."""
        values = np.empty((end - first, *self._shape[1:]), self.dtype)
        self.id.read(*self._selected(first, values), values, self._in_memory)
        return values

    def write(self, first: int, values: np.ndarray[Any, Any]) -> None:
        """Write rows from `first` on."""
        if len(values):
            values = np.ascontiguousarray(values, self.dtype)
            self.id.write(*self._selected(first, values), values, self._in_memory)

    def flush(self) -> None:
        """Let HDF5 write what it has kept of this dataset."""
        self.id.flush()

    def _selected(self, first: int, values: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Return what is selected of the values, and of the file."""
        if values.shape == self._shape:
            return h5s.ALL, h5s.ALL
        rows = h5s.create_simple(self._shape)
        rows.select_hyperslab((first, *(0 for _ in self._shape[1:])), values.shape)
        return h5s.create_simple(values.shape), rows


def create_rows(
    parent: Any, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], chunks: tuple[int, ...], fill: Any,
    compression: int | None = None, compression_opts: tuple[int, ...] = (),
) -> Any:  # fmt: skip
    """Create a dataset with one row per frame, and return its `h5py.h5d.DatasetID`.

    Args:
        parent: h5py group.
        name: name of the dataset.
        dtype: type of a value.
        shape: shape of the dataset now: any number of rows, and the shape of a row.
        chunks: shape of a chunk.
        fill: what rows have that were never written; `None` for HDF5's default.
        compression: number of the filter, if any.
        compression_opts: its options.
    """
    kind, space = dtype.str, h5s.create_simple(shape, (h5s.UNLIMITED, *shape[1:]))
    # By its bytes, since no NaN equals another.
    value = None if fill is None else np.array(fill, dtype).tobytes()
    properties = _properties(kind, value, chunks, compression, compression_opts)
    return h5d.create(parent.id, name.encode(), types_of(kind)[0], space, dcpl=properties)


@lru_cache(256)
def _properties(
    kind: str, fill: bytes | None, chunks: tuple[int, ...], compression: int | None, options: tuple[int, ...]
) -> Any:
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    if compression is not None:
        properties.set_filter(compression, h5z.FLAG_OPTIONAL, options)
    if fill is not None:
        properties.set_fill_value(np.frombuffer(fill, kind).reshape(()))
    properties.set_obj_track_times(False)
    return properties
