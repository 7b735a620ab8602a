"""Names of the parts of a series, and what marks a file as one of them."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import NamedTuple

import h5py

from penstock.receiver.config import MOST_FILES
from penstock.receiver.files import lease, refusals, storage
from penstock.receiver.files.stores.contract import Writing
from penstock.receiver.files.stores.segments.segment_file import holds_nothing, may_replace

SERIES, NUMBER = "series_id", "part"
"""Attributes of the root of a part: the series' id, and which part it is, counted from 1."""


def file_name(path: Path, part: int) -> str:
    """Return the file name of a part, counted from 0, of the series with this file."""
    return f"{path.stem}_part{part + 1}.h5"


_NUMBER = re.compile(r"_part(\d+)\.h5$")


class Mark(NamedTuple):
    """What a part says of itself."""

    series: str
    """Id of its series."""
    part: int
    """Number of the part, from 0."""


def mark_of(file: h5py.File) -> Mark | None:
    """Return what an open file says of itself; `None` if it is no part."""
    series, number = file.attrs.get(SERIES), file.attrs.get(NUMBER)
    return None if series is None or number is None else Mark(str(series), int(number) - 1)


def is_marked(path: Path) -> bool:
    """Return whether a file can be read and is a part, of whichever series."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return mark_of(file) is not None
    except (OSError, RuntimeError, KeyError, TypeError, ValueError):
        return False


def foreign(file: h5py.File, place: Path, series: str) -> str:
    """Return why an open file is not the part of a series that its name says; "" if it is.

    Args:
        file: the file.
        place: its path.
        series: id of the series.
    """
    named = _NUMBER.search(place.name)
    part = -1 if named is None else int(named[1]) - 1
    if (found := mark_of(file)) == Mark(series, part):
        return ""
    of = "is no part" if found is None else f"holds part {found.part + 1} of series {found.series}"
    return f"{place} {of}: put part {part + 1} of series {series} back in its place"


def existing_parts(path: Path, folder: int | None = None) -> list[str]:
    """Return the names of files that are named like parts of the series with this file.

    Args:
        path: file of the series.
        folder: descriptor of its folder; by default the one in the path.
    """
    names = (file_name(path, part) for part in range(MOST_FILES))
    if folder is None:
        return [name for name in names if os.path.lexists(path.with_name(name))]
    return [name for name in names if _is_there(name, folder)]


def _is_there(name: str, folder: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        os.lstat(name, dir_fd=folder)
        return True
    return False


def check_free(path: Path, *, overwrite: bool) -> None:
    """Check that no file is named like a part of the series with this file, which may not exist yet.

    Args:
        path: file of the series.
        overwrite: whether parts may be replaced, but nothing else: that is found out here, before the file of
            the series is replaced.

    Raises:
        NameTakenError: one is.
    """
    if not (names := existing_parts(path)):
        return
    with contextlib.suppress(FileNotFoundError):  # it was removed just now
        folder = os.open(path.parent, storage.FOLDER)
        try:
            for name in names:  # before overwriting is advised, which would not help
                if not is_part(name, folder):
                    raise refusals.segment_exists(_no_part(path.with_name(name)))
        finally:
            os.close(folder)
    if not overwrite:
        raise refusals.exists(path.with_name(names[0]))


def _no_part(place: Path) -> FileExistsError:
    return FileExistsError(f"{place} exists and is no part of a series")


def is_part(name: str, folder: int) -> bool:
    """Return whether a file is a part, or may be one whose writer was killed, by its content.

    Args:
        name: name of the file.
        folder: descriptor of its folder.
    """
    if not may_replace(name, folder):
        return False
    try:
        with h5py.File(f"{storage.by_descriptor(folder)}/{name}", "r", locking=False) as file:
            return mark_of(file) is not None
    except (OSError, RuntimeError, KeyError, TypeError):
        return True  # HDF5 cannot read it: the writer was killed


def make_free(path: Path, folder: int, writing: Writing) -> None:
    """Remove the parts of an earlier series whose names are needed, if they may be replaced.

    Args:
        path: file of the series.
        folder: descriptor of its folder.
        writing: whether existing files may be replaced.

    Raises:
        FileExistsError: one may not be replaced, is being written, or is no part.
    """
    for name in existing_parts(path, folder):
        there = path.with_name(name)
        empty = writing.replace_empty and holds_nothing(name, folder)
        if not writing.overwrite and not empty:
            raise FileExistsError(f"{there} exists and is not overwritten")
        if writing.overwrite and not writing.replace_empty and lease.is_written(name, folder):
            raise FileExistsError(f"a receiver is writing {there}, so it is not replaced")
        if not is_part(name, folder):
            raise _no_part(there)
        os.unlink(name, dir_fd=folder)


def remove_old(path: Path, folder: int) -> None:
    """Remove the parts of an earlier series whose file was replaced; files of others stay.

    Args:
        path: file of the series.
        folder: descriptor of its folder.
    """
    for name in existing_parts(path, folder):
        if not lease.is_written(name, folder) and is_part(name, folder):
            os.unlink(name, dir_fd=folder)
