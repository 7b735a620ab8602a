"""Links from the points of a scan to their frames: virtual datasets, made from references alone.

No file of a detector is opened for it, or need exist: HDF5 looks for it when somebody reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import h5py
import numpy as np

from penstock.sardana.reference import parse

MISSING: Final = 0
"""Status of a frame that never came, as in a detector's file."""
IMAGES: Final = "image"
"""What a dataset of frames has, in NeXus' words: viewers would load a whole scan to find out."""
STATUS: Final = "frame_status"
"""Dataset beside the frames in a detector's file."""


@dataclass(frozen=True)
class Block:
    """Points in a row whose frames lie in a row, in one dataset."""

    point: int
    """The first, from 0."""
    count: int
    file: str
    """Absolute path."""
    dataset: str
    index: int
    """Index of the first frame."""


@dataclass(frozen=True)
class FrameFormat:
    """Shape and type of each frame."""

    shape: tuple[int, ...]
    """Rows and columns last."""
    dtype: np.dtype[Any]

    @property
    def fill_value(self) -> Any:
        """The value that a missing frame reads as, the same as in a detector's file."""
        if self.dtype.kind == "u":
            return np.iinfo(self.dtype).max
        return -1 if self.dtype.kind == "i" else np.nan


def blocks(references: Iterable[str]) -> list[Block]:
    """Return the frames of a scan in as few blocks as possible.

    Args:
        references: one per point; a point without one, or with one of another form, is in no block.
    """
    found: list[Block] = []
    point = count = index = 0
    place: tuple[str, str] | None = None
    for number, text in enumerate(references):
        reference = parse(text) if text else None
        here = None if reference is None else (reference.file, reference.dataset)
        if reference is not None and here == place and reference.index == index + count:
            count += 1
            continue
        if place is not None:
            found.append(Block(point, count, *place, index))
        place = here
        if reference is not None:
            point, count, index = number, 1, reference.index
    if place is not None:
        found.append(Block(point, count, *place, index))
    return found


def source_name(file: str, folder: Path) -> str:
    """Return how a scan file in `folder` names a detector's file: relative, where the two can move
    together."""
    if Path(file).is_relative_to(folder):
        return os.path.relpath(file, folder)
    # Behind a symbolic link ".." leads elsewhere.
    real, there = os.path.realpath(file), os.path.realpath(folder)
    return real if os.path.commonpath((real, there)) == "/" else os.path.relpath(real, there)


def link_frames(
    group: Any, files: Any, name: str, found: Sequence[Block], points: int, frame: FrameFormat, folder: Path
) -> None:
    """Make the virtual dataset `name` of all frames, one per point, and beside it `name`_status.

    Args:
        group: of the scan file, open for writing; gets the two.
        files: an empty group of the same file; gets a virtual dataset of all frames in each detector's file.
        name: not yet in the group; nor is `name`_status.
        found: where the frames lie; the other points read as the fill value, and their status as 0, missing.
        points: of the scan.
        frame: shape and type of each frame.
        folder: of the scan file, to which the names of the detector's files are relative.

    Raises:
        OSError, RuntimeError, ValueError: HDF5 refuses; nothing is left behind in `group`.
    """
    taken = [made for made in (name, f"{name}_status") if made in group]
    if taken:
        raise ValueError(f"{group.name} has a {taken[0]} already")
    names = {file: source_name(file, folder) for file in {block.file for block in found}}
    located = [replace(block, file=names[block.file]) for block in found]
    status = [replace(block, dataset=_beside(block.dataset)) for block in located]
    try:
        _link(group, name, _through(files, located, frame), points, frame, frame.fill_value)
        _link(group, f"{name}_status", status, points, FrameFormat((), np.dtype(np.uint8)), MISSING)
    except BaseException:
        for left in (name, f"{name}_status"):
            if left in group:
                del group[left]
        raise
    group[name].attrs["interpretation"] = IMAGES


def _through(files: Any, found: Sequence[Block], frame: FrameFormat) -> list[Block]:
    """Return the blocks as parts of one virtual dataset per detector's file, made in `files`.

    A mapping of fixed length that reads beyond the end of its source shows whatever is there: arbitrary
    pixels, where HDF5 was told not to fill. One of unlimited length knows where its source ends.
    """
    ends: dict[tuple[str, str], int] = {}
    for block in found:
        place = block.file, block.dataset
        ends[place] = max(ends.get(place, 0), block.index + block.count)
    names = {}
    for number, ((file, dataset), end) in enumerate(ends.items(), 1):
        made = f"file_{number}"
        shape, endless = (end, *frame.shape), (None, *frame.shape)
        layout = h5py.VirtualLayout(shape, frame.dtype, maxshape=endless)
        source = h5py.VirtualSource(_literal(file), _literal(dataset), shape, frame.dtype, maxshape=endless)
        layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
        data = files.create_virtual_dataset(made, layout, fillvalue=frame.fill_value)
        data.attrs["interpretation"] = IMAGES
        names[file, dataset] = f"{files.name}/{made}"
    return [replace(block, file=".", dataset=names[block.file, block.dataset]) for block in found]


def _link(group: Any, name: str, found: Sequence[Block], points: int, frame: FrameFormat, fill: Any) -> None:
    layout = h5py.VirtualLayout((points, *frame.shape), frame.dtype)
    for block in found:
        end = block.index + block.count
        source = h5py.VirtualSource(
            _literal(block.file), _literal(block.dataset), (end, *frame.shape), frame.dtype
        )
        layout[block.point : block.point + block.count] = source[block.index : end]
    group.create_virtual_dataset(name, layout, fillvalue=fill)


def _beside(dataset: str) -> str:
    return str(PurePosixPath(dataset).with_name(STATUS))


def _literal(name: str) -> str:
    """Return a name with its % escaped: HDF5 takes "%b" in these names for a number."""
    return name.replace("%", "%%")
