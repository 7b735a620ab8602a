"""Reading of blobs, as stored, from the segments of a series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py

from penstock.receiver.files.stores.data_files.data_file import DATASET
from penstock.receiver.files.stores.data_files.layout import segments_of


class DataFiles:
    """The segments of one series; each is opened when it is needed.

    Args:
        folder: folder of the file of the series.
        data: virtual dataset of the series.
    """

    def __init__(self, folder: Path, data: Any) -> None:
        self._folder = folder
        self._sources = segments_of(data)
        self._open: dict[str, h5py.File] = {}

    def has(self, index: int) -> bool:
        """Return whether a frame was stored at this index."""
        return self._find(index) is not None

    def blob(self, index: int) -> bytes | None:
        """Return the blob of a frame as stored; `None` if there is none, or it cannot be read."""
        try:
            found = self._find(index)
            return None if found is None else bytes(found[0].id.read_direct_chunk(found[1])[1])
        except (OSError, RuntimeError, ValueError):
            return None

    def _find(self, index: int) -> tuple[Any, tuple[int, int, int]] | None:
        """Return dataset and place of the chunk of a frame; `None` without a chunk, or a readable file."""
        try:
            for start, length, name in self._sources:
                place = (index - start, 0, 0)
                if not 0 <= place[0] < length:
                    continue
                if name not in self._open:
                    self._open[name] = h5py.File(self._folder / name, "r", locking=False)
                dataset = self._open[name][DATASET]
                there = place[0] < len(dataset)
                if there and dataset.id.get_chunk_info_by_coord(place).byte_offset is not None:
                    return dataset, place
        except (OSError, RuntimeError, ValueError, KeyError):
            pass  # the caller names the frames
        return None

    def close(self) -> None:
        """Close all segments."""
        for file in self._open.values():
            file.close()
        self._open.clear()
