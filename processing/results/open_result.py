"""A result file that is open for its one writer: its columns, their growth, and new ones."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np

from penstock.processing.results import contents, layout
from penstock.processing.results.columns import Column, Segment
from penstock.processing.results.contents import Begun
from penstock.processing.results.errors import ResultError, not_written
from penstock.processing.results.place import Place, reserve, taken
from penstock.processing.results.sparse import copy_data

MOST_FRAMES = 2**31
"""Highest frame number for which a place is made; a larger one is no number of a frame."""
_BLANKS = 2**20
_INITIAL = {layout.STATUS: layout.PENDING, layout.BEYOND: layout.PENDING, f"{layout.ACCOUNT}/raw_stored": 255}
"""Rows of these are not 0 at first."""
_NEVER_PER_FRAME = tuple(
    f"{each}/" for each in (layout.ACCUMULATED, layout.TOTAL_FRAMES, layout.PROCESS, layout.WHOLE)
)
_LISTS = tuple(f"{path}/" for path in (f"{layout.ACCOUNT}/errors", f"{layout.ACCOUNT}/lost", layout.PROCESS))


class OpenResult:
    """The file, open for `os.pwrite`.

    Args:
        place: its name, held by this process.
        descriptor: of the file, open for reading and writing.
        columns: its columns by path.
    """

    def __init__(self, place: Place, descriptor: int, columns: dict[str, Column]) -> None:
        self.place = place
        self.descriptor = descriptor
        self.columns = columns

    @classmethod
    def create(cls, path: Path, begun: Begun, *, overwrite: bool) -> OpenResult:
        """Create the file, with the space of its account.

        Raises:
            ResultError: the name is taken or in use, or the file cannot be written.
        """
        if os.path.lexists(path):
            if begun.raw is not None and os.path.realpath(begun.raw) == os.path.realpath(path):
                raise ResultError("name_taken", f"{path} is the raw file itself: rename the pipeline")
            if path.is_dir():
                raise ResultError("name_taken", f"{path} is a folder: move it away, or rename the pipeline")
            if not overwrite:
                raise taken(path)
        made = cls(Place(path), -1, {})
        try:
            contents.create(made.place.draft, path, begun)
            made.descriptor, made.columns = _opened(made.place.draft)
            made._prepare({})
            made.place.give_name(overwrite=overwrite)
        except BaseException as error:
            made.place.drop_draft()
            made.close()
            if isinstance(error, OSError | RuntimeError):
                raise not_written(path, "the account of the series", error) from error
            raise
        return made

    @classmethod
    def open(cls, path: Path) -> OpenResult:
        """Open a file that another process has begun.

        Raises:
            ResultError: it is not there, no result file, or another process writes it.
        """
        if not path.exists():
            raise ResultError("not_a_result_file", f"{path} does not exist: there is nothing to resume")
        place = Place(path)
        try:
            descriptor, columns = _opened(path)
        except (OSError, RuntimeError) as error:
            place.close()
            raise ResultError("not_a_result_file", f"{path} cannot be opened: {error}") from error
        if layout.STATUS not in columns:
            os.close(descriptor)
            place.close()
            raise ResultError("not_a_result_file", f"{path} is no result file of a pipeline")
        return cls(place, descriptor, columns)

    @property
    def rows(self) -> int:
        """Frames for which there is a place."""
        return self.columns[layout.STATUS].rows

    @property
    def per_frame(self) -> list[Column]:
        """The columns with a row per frame."""
        return [column for column in self.columns.values() if is_per_frame(column, self.columns)]

    def remake(
        self,
        change: Callable[[Any], Sequence[Column] | None],
        what: str,
        *,
        keep_space: bool = True,
        moved: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Change the structure: of a copy, which takes the file's place once it is complete.

        Args:
            change: is given the copy, an h5py file open for writing. It may return the columns that it has
                added, if it has moved none: they are not looked for then, which takes long if they are many.
            what: what the change adds, for the sentence of an error.
            keep_space: reserve the space of all rows, as is right while rows are still to come.
            moved: columns whose datasets the change makes anew, and how many rows are copied into each.

        Raises:
            ResultError: there is no space; the file is as it was.
        """
        place, descriptor = self.place, -1
        self.check_is_there()
        try:
            place.copy(self.descriptor, layout.areas(self.columns[path] for path in moved))
            with h5py.File(place.draft, "r+") as file:
                added = change(file)
            if added is None:
                descriptor, columns = _opened(place.draft)
            else:
                descriptor = os.open(place.draft, os.O_RDWR | os.O_CLOEXEC)
                columns = self.columns | {column.path: column for column in added}
            made = OpenResult(place, descriptor, columns)
            if keep_space:
                made._prepare(self.columns)
            for path, rows in moved.items():
                old, new = self.columns[path], columns[path]
                for begin, stop, offset in old.pieces(0, rows):
                    size, (_, _, to) = new.row_bytes, next(new.pieces(begin, stop))
                    copy_data(self.descriptor, descriptor, offset, (stop - begin) * size, to)
            os.rename(place.draft, place.at)
        except (OSError, RuntimeError, ValueError, TypeError, OverflowError) as error:
            if descriptor >= 0:
                os.close(descriptor)
            place.drop_draft()
            raise not_written(place.path, what, error) from error
        os.close(self.descriptor)
        self.descriptor, self.columns = descriptor, columns

    def check_is_there(self) -> None:
        """Check that the file still has its name: what is written into another one, nobody ever sees.

        Raises:
            ResultError: it was deleted, moved, or replaced by another file.
        """
        try:
            is_there = os.path.samestat(os.fstat(self.descriptor), os.stat(self.place.at))
        except OSError:
            is_there = False
        if not is_there:
            raise ResultError(
                "gone",
                f"{self.place.at} was deleted, moved or replaced while results were written into it: no more "
                "of this series is stored. Once it has ended, process its file: penstock process PIPELINE "
                "FILE",
            )

    def reach(self, end: int) -> None:
        """Make room for frames below `end`.

        Raises:
            ResultError: there is no space for them, or this is no number of a frame.
        """
        if end <= self.rows:
            return
        if end > MOST_FRAMES:
            raise ResultError("bad_value", f"{self.place.path}: there is no frame {end - 1:,}")
        columns, more = self.per_frame, _more(self.columns[layout.STATUS], end)

        def change(file: Any) -> None:
            for column in columns:
                layout.grow(file, column, more)

        self.remake(change, f"room for frame {end - 1:,}")

    def extend(self, path: str, end: int) -> None:
        """Make room for rows below `end` of a column that has none per frame; see `reach`."""
        column = self.columns[path]
        if end > column.rows:
            self.remake(lambda file: layout.grow(file, column, _more(column, end)), f"more rows of {path}")

    def put(self, path: str, first: int, values: np.ndarray[Any, Any]) -> None:
        """Write consecutive rows; see `Column.write`."""
        column = self.columns[path]
        column.write(self.descriptor, first, np.ascontiguousarray(values, column.dtype))

    def put_text(self, path: str, text: str | bytes, row: int = 0) -> None:
        """Write a text, cut to its column's size."""
        column = self.columns[path]
        content = text.encode() if isinstance(text, str) else text
        content = content[: column.dtype.itemsize].decode(errors="ignore").encode()
        self.put(path, row, np.array([content], f"S{column.dtype.itemsize}"))

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return all rows of a column."""
        return self.columns[path].read(self.descriptor)

    def text(self, path: str) -> str:
        """Return a lone text."""
        return bytes(self.read(path)[0]).rstrip(b"\0").decode(errors="replace")

    def reading(self) -> Any:
        """Return the file, open for reading by h5py, whoever has locked it; to be closed."""
        return h5py.File(self.place.at, "r", locking=False)

    def discard(self) -> None:
        """Remove the file, and let go of its name: it has nothing that anybody would read."""
        with contextlib.suppress(FileNotFoundError):  # somebody has moved it away
            if os.path.samestat(os.fstat(self.descriptor), os.stat(self.place.at)):
                os.unlink(self.place.at)
        self.close(done=True)

    def close(self, *, done: bool = False) -> None:
        """Close the file and let go of its name; may be called again."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self.place.close(done=done)

    def _prepare(self, before: dict[str, Column]) -> None:
        """Reserve the space of rows that are to come, and write what new rows have that are not 0."""
        for column in self.columns.values():
            reserve(self.descriptor, layout.areas([replace(column, segments=_wanted(column))]))
        for column in self.columns.values():
            blank = _blank(column)
            known = before[column.path].rows if column.path in before else 0
            for at in range(known, column.rows if blank is not None else 0, _BLANKS):
                rows = min(_BLANKS, column.rows - at)
                column.write(self.descriptor, at, np.full(rows, blank, column.dtype))


def is_per_frame(column: Column, columns: dict[str, Column]) -> bool:
    """Return whether a column has a row per frame."""
    path, (parent, _, name) = column.path, column.path.rpartition("/")
    if path.startswith(f"{layout.ACCOUNT}/"):
        return path.startswith(f"{layout.VALID}/") or path in layout.PER_FRAME
    if path.startswith(_NEVER_PER_FRAME):
        return False
    of_events = layout.index_paths(parent)
    if all(each in columns for each in of_events):
        return path in of_events
    return parent != layout.ENTRY and parent.rpartition("/")[2] == name


def _blank(column: Column) -> int | None:
    if column.path in _INITIAL:
        return _INITIAL[column.path]
    is_list = column.path.startswith(_LISTS) and column.path.endswith(("/index", "/from_frame"))
    return -1 if is_list else None


def _more(column: Column, end: int) -> int:
    """Return by how many rows to grow: as many as there are, so that all copies together copy each row twice
    at most."""
    wanted = sum(segment.rows for segment in _wanted(column))
    return max(wanted, layout.FIRST_ROWS, end - column.rows)


def _wanted(column: Column) -> list[Segment]:
    """Return the segments of which most is not skipped, and whose space is reserved: one wrong index among
    very many planned ones must not take the disk."""
    found: list[Segment] = []
    rows = 0
    for segment in column.segments:
        if segment.first == 0 or segment.rows <= max(rows, layout.FIRST_ROWS):
            found.append(segment)
            rows += segment.rows
    return found


def _opened(path: Path) -> tuple[int, dict[str, Column]]:
    """Return a descriptor of a result file, and its columns."""
    with h5py.File(path, "r", locking=False) as file:
        columns = layout.find(file)
    return os.open(path, os.O_RDWR | os.O_CLOEXEC), columns
