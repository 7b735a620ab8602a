"""HDF5 files of other programs, of which something was never stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

Box = Sequence["tuple[int, int]"]
"""Start and count along each axis; a count of −1 is unlimited."""


def picture(frame: int, rows: int = 2, columns: int = 4) -> np.ndarray[Any, Any]:
    """Every pixel of frame 0 is 1, of frame 1 is 2, and so on."""
    return np.full((rows, columns), frame + 1, np.uint16)


def raw(path: Path, frames: Sequence[int], name: str = "data", shape: tuple[int, int] = (2, 4)) -> None:
    """A file with these frames."""
    with h5py.File(path, "w") as file:
        file.create_dataset(
            name, data=np.stack([picture(frame, *shape) for frame in frames]), chunks=(1, *shape),
            maxshape=(None, *shape),
        )  # fmt: skip


def view(path: Path, count: int, blocks: Sequence[tuple[int, int, str]], name: str = "data") -> None:
    """A virtual dataset of whole frames: first, number, and file of each block."""
    layout = h5py.VirtualLayout((count, 2, 4), np.uint16)
    for first, number, file in blocks:
        layout[first : first + number] = h5py.VirtualSource(file, name, (number, 2, 4))
    with h5py.File(path, "w") as opened:
        opened.create_virtual_dataset(name, layout)


def mapped(path: Path, shape: tuple[int, ...], mappings: Sequence[tuple[Box, str, Box]]) -> None:
    """A virtual dataset that grows along its first axis, of other datasets that do so as well."""
    how = h5p.create(h5p.DATASET_CREATE)
    for here, file, there in mappings:
        how.set_virtual(_selected(here, shape), file.encode(), b"data", _selected(there, None))
    space = h5s.create_simple((0, *shape[1:]), (h5s.UNLIMITED, *shape[1:]))
    with h5py.File(path, "w") as opened:
        h5py.Dataset(h5d.create(opened.id, b"data", h5t.py_create(np.dtype("u2")), space, dcpl=how))


def _selected(box: Box, shape: tuple[int, ...] | None) -> Any:
    dims = tuple(start + max(0, count) for start, count in box) if shape is None else (0, *shape[1:])
    endless = [h5s.UNLIMITED if count < 0 else length for (_, count), length in zip(box, dims, strict=True)]
    space = h5s.create_simple(dims, (h5s.UNLIMITED, *endless[1:]))
    counts = tuple(h5s.UNLIMITED if count < 0 else 1 for _, count in box)
    blocks = tuple(1 if count < 0 else count for _, count in box)
    space.select_hyperslab(tuple(start for start, _ in box), counts, blocks, blocks)
    return space
