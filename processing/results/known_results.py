"""The results that a file has: each name is one dataset, and all values of a name are alike."""

from __future__ import annotations

import numpy as np

from penstock.processing.results import accumulated, layout
from penstock.processing.results.columns import Column
from penstock.processing.results.errors import ResultError
from penstock.processing.results.open_result import OpenResult
from penstock.processing.wire import Array


class KnownResults:
    """The results of one file, by name.

    Args:
        opened: the file.
    """

    def __init__(self, opened: OpenResult) -> None:
        self._open = opened
        self._names: dict[str, str] = {}  # of results, by path in the file
        self._found: dict[tuple[str, str, tuple[int, ...]], tuple[Column, Column]] = {}
        self._of: object = None  # the columns of which those are

    def columns(self, array: Array) -> tuple[Column, Column] | None:
        """Return the columns of a value per frame, and of which frames have one, `None` if there are none
        yet. It is asked for each name of each bunch, so that what was found is kept.

        Raises:
            ResultError: as `has` does.
        """
        if self._of is not self._open.columns:
            self._found.clear()
            self._of = self._open.columns
        key = array.name, array.dtype, array.shape[1:]
        if (found := self._found.get(key)) is None and self.has(array):
            columns = self._open.columns
            found = columns[layout.place_of(array.name)[1]], columns[layout.valid_path(array.name)]
            self._found[key] = found
        return found

    def has(self, array: Array) -> bool:
        """Return whether there is a dataset for an array; an accumulated value of another type is made anew.

        Raises:
            ResultError: the dataset is of another type or shape, or of another name ("unlike").
        """
        return self._has_rows(array) if array.kind in ("value", "events") else self._has_total(array)

    def _has_rows(self, array: Array) -> bool:
        where, path = layout.place_of(array.name)
        column = self._column(path, array.name)
        if column is None:
            return False
        # Both, since a number may be named as one of them.
        has_events = all(each in self._open.columns for each in layout.index_paths(where))
        is_like = has_events == (array.kind == "events")
        # As in a worker, which knows only its own frames: a smaller type will do, and is converted.
        is_like = is_like and np.can_cast(
            array.dtype, column.dtype, "safe" if array.kind == "value" else "no"
        )
        if column.shape != array.shape[1:] or not is_like:
            varies = array.kind == "value" and column.shape != array.shape[1:]
            how = "; arrays whose length varies are Events" if varies else ", such as float(…) of each"
            raise ResultError(
                "unlike",
                f"result {array.name} is {np.dtype(array.dtype)} {list(array.shape[1:])} ({array.kind}), and "
                f"its first value was {column.dtype} {list(column.shape)}: all have to be alike{how}",
            )
        return True

    def _has_total(self, array: Array) -> bool:
        dtype, shape = accumulated.form(array)
        column = self._column(layout.total_paths(array.name)[0], array.name)
        if column is not None and column.shape != shape:
            raise ResultError(
                "unlike",
                f"result {array.name} is {array.kind} of shape {list(shape)}, and its first value was "
                f"of {list(column.shape)}: all have to be alike",
            )
        return column is not None and bool(column.dtype == dtype)

    def _column(self, path: str, name: str) -> Column | None:
        """Return the dataset of a name; `None` if there is none yet."""
        if (other := self._names.setdefault(path, name)) != name:
            raise ResultError(
                "unlike", f"results {name} and {other} would have one name in the file: rename one"
            )
        return self._open.columns.get(path)
