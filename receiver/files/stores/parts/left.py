"""The parts that a killed writer has left: where they are, which frames are whole in them, and their end."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files import storage
from penstock.receiver.files.stores.contract import Writing
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.disk_file import path_of
from penstock.receiver.files.stores.disk.superblock import repair
from penstock.receiver.files.stores.errors import why_not
from penstock.receiver.files.stores.parts.module_views import ModuleViews, module_files
from penstock.receiver.files.stores.parts.names import file_name, foreign
from penstock.receiver.files.stores.parts.open_parts import OpenParts, into
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.parts.views import dealing_of, format_of
from penstock.receiver.files.stores.segments.segment_file import DATASET, holds_nothing

log = logging.getLogger(__name__)


def parts_there(detector: Any) -> dict[int, Path]:
    """Return the paths of the existing parts by their number, counted from 0.

    Args:
        detector: NXdetector group of the open file of the series.
    """
    path, dealing = _path(detector), dealing_of(detector)
    places = {part: path.with_name(file_name(path, part)) for part in range(dealing.files if dealing else 0)}
    return {part: place for part, place in places.items() if place.exists()}


def check_parts(detector: Any) -> None:
    """Check that the parts that there are can be continued.

    Args:
        detector: NXdetector group of the file.

    Raises:
        ValueError: one is damaged, or of another series; the sentence names it.
    """
    series, why = detector["series/id"].asstr()[()], ""
    folder = storage.open_folder(_path(detector))
    try:
        for place in parts_there(detector).values():
            try:
                if not holds_nothing(place.name, folder):
                    with h5py.File(place, "r", locking=False) as file:
                        why = foreign(file, place, series)
            except OSError as error:
                why = why_not(place, error)
            if why:
                raise ValueError(why)
    finally:
        os.close(folder)


def whole(
    detector: Any, length: int, count: Callable[[Any, int], np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """Return which of the first frames have all their pixels in the parts; bool, one per index.

    Args:
        detector: NXdetector group of the file.
        length: number of frames.
        count: returns how many chunks of each of the first frames of a dataset are in its file.
    """
    dealing, series = dealing_of(detector), detector["series/id"].asstr()[()]
    assert dealing is not None
    found = np.zeros(length, bool)
    for part, place in parts_there(detector).items():
        with contextlib.suppress(OSError, KeyError):  # the writer was killed before it held anything
            repair(place)
            with h5py.File(place, "r", locking=False) as file:
                if not foreign(file, place, series):
                    indices = dealing.indices(part, length)[: len(file[DATASET])]
                    found[indices] = count(file[DATASET], len(indices)) == 1
    return found


def finish(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    """Cut the parts and `data` to this length, and let missing frames read as the fill value.

    Args:
        detector: NXdetector group of the file, open for writing.
        statuses: uint8, `FrameStatus`, one per index.
    """
    path, errors = _path(detector), list[Exception]()
    store = PartsStore(detector, format_of(detector, None), path, Writing(path=path), errors=errors)
    try:
        with into(errors):
            store.finish(statuses)
    finally:
        store.close(synced=False)
    for error in errors:
        log.warning("%s: not all of its parts could be cut: %s", path, error)


def whole_modules(
    detector: Any, length: int, count: Callable[[Any, int], np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """Return which modules of the first frames are in the parts, one each; bool, (length, k).

    Args:
        detector: NXdetector group of the file.
        length: number of frames.
        count: returns how many chunks of each of the first frames of a dataset are in its file.
    """
    path, number = _path(detector), module_files(detector)
    series = detector["series/id"].asstr()[()]
    found = np.zeros((length, number), bool)
    for module in range(number):
        with contextlib.suppress(OSError, KeyError):  # it never held anything, or is away or damaged
            repair(place := path.with_name(file_name(path, module)))
            with h5py.File(place, "r", locking=False) as file:
                if not foreign(file, place, series):
                    rows = min(length, len(file[DATASET]))
                    found[:rows, module] = count(file[DATASET], rows) == 1
    return found


def finish_modules(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    """Cut the parts, each of a module, and their views to this length.

    Args:
        detector: NXdetector group of the file, open for writing.
        statuses: uint8, `FrameStatus`, one per index.
    """
    path, errors = _path(detector), list[Exception]()
    views = ModuleViews.find(detector, path)
    parts = OpenParts(path, detector["series/id"].asstr()[()], module_files(detector), Writing(path=path))
    try:
        for module in range(module_files(detector)):
            with into(errors):
                parts.find(module, views.format)
        views.show(len(statuses))
        disk_file.flush(detector.file)  # views are cut before parts are
        parts.finish(lambda _: statuses, errors)
    finally:
        parts.close(synced=False)
    for error in errors:
        log.warning("%s: not all files of its modules could be cut: %s", path, error)


def _path(detector: Any) -> Path:
    return Path(path_of(detector.file)).resolve()
