"""The files of series behind a file that only refers to them, such as that of a scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py

from penstock.receiver.files.stores.parts.linked_frames import place_of
from penstock.receiver.reading.reader import ReaderError, SeriesFile


def series_behind(path: Path, detector: str | None = None) -> list[Path]:
    """Return the files whose frames a file shows by virtual datasets, in order, whether they exist or not.

    That is the file itself if it has frames or an account, or refers to no other.

    Args:
        path: the file.
        detector: name of the NXdetector group.
    """
    try:
        with SeriesFile(path, detector) as series:
            if series.data is not None or series.has_account:
                return [path]
    except ReaderError:
        pass  # it has no detector, or cannot be read
    found: dict[Path, None] = {}

    def visit(_: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.is_virtual:
            for source in node.virtual_sources():
                if source.file_name != ".":
                    found[place_of(path, source.file_name.replace("%%", "%"))] = None

    try:
        with h5py.File(path, "r", locking=False) as file:
            file.visititems(visit)
    except (OSError, RuntimeError, KeyError, ValueError):
        pass  # whoever opens it says why
    return list(found) or [path]
