"""The names of a series' files: whether they are free, and the name of a series that comes without one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import refusals, storage
from penstock.receiver.files.refusals import NameTakenError
from penstock.receiver.files.stores.parts import names as parts
from penstock.receiver.files.stores.segments import layout as segments

MOST_NUMBER = 1_000_000
"""Highest number that is appended to a template's name."""


def free_path(config: ReceiverConfig, detector: str, series: str, *, overwrite: bool) -> Path:
    """Return the file that a series without a name would get now, on this host.

    The name is the template's if it is free, otherwise the template's with _1, _2 … before the extension. At
    most some forty names are looked at, however many are taken: the steps double until one is free, then
    halve. So the name before it is taken, and a gap further down may stay.

    Args:
        config: configuration of the receiver, which has a template.
        detector: name of the detector.
        series: name of the series.
        overwrite: whether an existing file may be replaced.

    Raises:
        StorageError: the template's name cannot be used, or a million names are taken.
    """
    path = storage.resolve(config, os.path.join(config.data_root, config.template_name(detector, series)))

    def is_taken(number: int) -> bool:
        candidate = numbered(path, number)
        if not overwrite and os.path.lexists(candidate):
            return True  # without a look at its lock
        try:
            check_free(candidate, overwrite=overwrite, further=further(config))
        except NameTakenError:
            return True
        return False

    if not is_taken(0):
        return path
    taken, free = 0, 1
    while is_taken(free):
        if free > MOST_NUMBER:
            raise refusals.exists(numbered(path, free))
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (middle, free) if is_taken(middle) else (taken, middle)
    return numbered(path, free)


def numbered(path: Path, number: int) -> Path:
    """Return the path with a number before its extension; unchanged for 0."""
    return path.with_name(f"{path.stem}_{number}{path.suffix}") if number else path


class Further(NamedTuple):
    """Further files of a series, whose names follow from that of its file."""

    name: Callable[[Path, int], str]
    """Returns the name of one of them, counted from 0."""
    check_free: Callable[..., None]
    """Called with the path, and `overwrite`; raises NameTakenError if a file has one of their names, and may
    not be replaced."""


def further(config: ReceiverConfig) -> Further | None:
    """Return what further files a series has; `None` for none."""
    if config.frames_per_file:
        return Further(segments.file_name, segments.check_segments_free)
    return Further(parts.file_name, parts.check_free) if config.files > 1 else None


def check_free(path: Path, *, overwrite: bool, further: Further | None) -> None:
    """Check that the names of a series' files are free.

    Args:
        path: path of the file of the series, as returned by `storage.resolve`.
        overwrite: whether existing files may be replaced.
        further: further files of the series, if it has any.

    Raises:
        NameTakenError: a file has the name, or that of one of the further files, or is being written, or is
            one of the further files of another series.
        NameRefusedError: the name cannot be used, or is too long for those of the further files.
        StorageError: the disk cannot be reached.
    """
    storage.check_free(path, overwrite=overwrite)
    # To open a named pipe would wait for a writer.
    if overwrite and path.is_file() and (parts.is_marked(path) or segments.is_one(path)):
        raise refusals.of_another_series(path)
    if further is not None:
        storage.is_there(path.with_name(further.name(path, 0)))
        further.check_free(path, overwrite=overwrite)
