"""Columns: datasets whose rows are written in place, and where the rows lie in the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np


class Segment(NamedTuple):
    """Consecutive rows that lie one behind the other in the file."""

    first: int
    rows: int
    offset: int
    """Offset of the first row, in bytes from the beginning of the file."""


@dataclass
class Column:
    """One dataset with a row per frame, per event, or per entry of a list; or a single value."""

    path: str
    """Its name in the file."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()
    """Shape of one row."""
    segments: list[Segment] = field(default_factory=list)
    """Ascending, without gaps."""

    @property
    def rows(self) -> int:
        """Rows for which there is a place."""
        return self.segments[-1].first + self.segments[-1].rows if self.segments else 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return prod(self.shape) * self.dtype.itemsize

    def pieces(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield first row, row behind the last, and offset of each piece of these rows.

        Raises:
            IndexError: there is no place for one of them.
        """
        if end > self.rows or first < 0:
            raise IndexError(f"{self.path} has {self.rows} rows, none of number {end - 1}")
        for segment in self.segments:
            begin, stop = max(first, segment.first), min(end, segment.first + segment.rows)
            if begin < stop:
                yield begin, stop, segment.offset + (begin - segment.first) * self.row_bytes

    def write(self, descriptor: int, first: int, values: np.ndarray[Any, Any]) -> None:
        """Write consecutive rows.

        Args:
            descriptor: of the file, open for writing.
            first: the first of them.
            values: (rows, *shape), of the column's type, in C order.

        Raises:
            OSError: they cannot be written.
            IndexError: there is no place for them.
        """
        segment = self.segments[0] if self.segments else Segment(0, 0, 0)
        if first >= 0 and first + len(values) <= segment.rows:  # as usual, often of thousands of columns
            if nbytes := values.nbytes:
                pwrite_all(descriptor, values, segment.offset + first * (nbytes // len(values)))
            return
        content = values.reshape(-1).view(np.uint8).data if values.size else memoryview(b"")
        size = self.row_bytes
        for begin, stop, offset in self.pieces(first, first + len(values)):
            pwrite_all(descriptor, content[(begin - first) * size : (stop - first) * size], offset)

    def write_at(self, descriptor: int, indices: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        """Write rows anywhere, those that follow each other in one go; see `write`.

        Args:
            descriptor: of the file, open for writing.
            indices: int64, one per row.
            values: (rows, *shape), of the column's type, in C order.
        """
        for begin, stop in runs(indices):
            self.write(descriptor, int(indices[begin]), values[begin:stop])

    def read(self, descriptor: int, first: int = 0, end: int | None = None) -> np.ndarray[Any, Any]:
        """Return rows, (rows, *shape); by default all of them."""
        end = self.rows if end is None else end
        found = np.zeros((end - first, *self.shape), self.dtype)
        content, size = (
            found.reshape(-1).view(np.uint8).data if found.size else memoryview(b""),
            self.row_bytes,
        )
        for begin, stop, offset in self.pieces(first, end):
            os.preadv(descriptor, [content[(begin - first) * size : (stop - first) * size]], offset)
        return found


def runs(indices: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return places, as (first, behind the last), at which indices follow each other one by one."""
    count = len(indices)
    if count == 0:
        return []
    if count == 1 or (indices[-1] - indices[0] == count - 1 and bool((np.diff(indices) == 1).all())):
        return [(0, count)]
    cuts = (np.flatnonzero(np.diff(indices) != 1) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, count], strict=True))


def pwrite_all(descriptor: int, content: Any, offset: int) -> None:
    """Write all bytes at an offset: a full disk, and a limit, write a part of them first.

    Raises:
        OSError: they could not be written.
    """
    written = os.pwrite(descriptor, content, offset)
    if written == content.nbytes:
        return
    rest = memoryview(content).cast("B")
    while len(rest := rest[written:]):
        offset += written
        written = os.pwrite(descriptor, rest, offset)
