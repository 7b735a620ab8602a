"""Datasets with one row per frame, by HDF5's own calls (h5py's low-level interface).

The file of a series has five or more of them, and a step scan may write a file per point. With h5py's
high-level interface each takes four times as long. What is in the file is the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from h5py import h5d, h5p, h5s

from penstock.receiver.files.stores.objects import types_of


class Rows:
    """A dataset with one row per frame.

    Args:
        dataset: its `h5py.h5d.DatasetID`; it stays open, since opening it takes longer than writing to it.
    """

    def __init__(self, dataset: Any) -> None:
        self.id = dataset
        self.dtype: np.dtype[Any] = dataset.dtype
        self._in_memory = types_of(self.dtype.str)[1]
        self._shape: tuple[int, ...] = dataset.shape

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
        kind = np.dtype(dtype).str
        space = h5s.create_simple(shape, (h5s.UNLIMITED, *shape[1:]))
        chunks = (chunk, *shape[1:])
        # By its text, since no NaN equals another.
        properties = _properties(kind, None if fill is None else repr(fill), chunks)
        return cls(h5d.create(parent.id, name.encode(), types_of(kind)[0], space, dcpl=properties))

    @classmethod
    def find(cls, parent: Any, name: str) -> Rows:
        """Return a dataset that is there already."""
        return cls(h5d.open(parent.id, name.encode()))

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


@cache
def _properties(kind: str, fill: str | None, chunks: tuple[int, ...]) -> Any:
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    if fill is not None:
        properties.set_fill_value(np.array(float(fill)).astype(kind))
    properties.set_obj_track_times(False)
    return properties
