"""What the recorder adds to a scan file: links to the frames, and plots that viewers find by themselves.

Links from the points of a scan to their frames are virtual datasets, made from references alone. No file of a
detector is opened for them, or need exist: HDF5 looks for it when somebody reads.
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


POINTS: Final = "Pt_No"
"""Sardana's column of the points' numbers, as its recorder spells it."""
COUNTERS: Final = "counters"
"""Group of the counters' plot."""


@dataclass(frozen=True)
class Columns:
    """Names in the group `measurement`."""

    images: Sequence[str]
    """Linked frames of detectors."""
    counters: Sequence[str]
    """Numbers, one per point."""
    moveables: Sequence[str]
    """What was scanned; the first is the axis of the counters."""


def add_plots(entry: Any, columns: Columns) -> None:
    """Add an NXdata group for each detector and one for the counters; the first becomes the default.

    Args:
        entry: the NXentry, open for writing, with its group `measurement`;
            without points, it is left as it is.
        columns: what to show.
    """
    if not len(entry["measurement"][POINTS]):
        return
    _renew(entry)
    made = []
    for label in columns.images:
        made.append(_images(entry, label, columns.moveables))
    if columns.counters:
        made.append(_counters(entry, columns.counters, columns.moveables))
    if made:
        entry.attrs["default"] = made[0]
        entry.parent.attrs["default"] = entry.name.rpartition("/")[2]


def drop_claim(entry: Any) -> None:
    """Remove the claim to follow NXscan, which requires a rotation angle, a monitor and a sample in every
    scan."""
    if "definition" in entry:
        del entry["definition"]


def _images(entry: Any, label: str, moveables: Sequence[str]) -> str:
    """Make a plot without `axes`: nexusformat takes the number of a virtual dataset's blocks for that of
    points, and would call it a mismatch. What varies from point to point is named by `_indices`, as in
    NXdata."""
    measurement = entry["measurement"]
    plot = _plot(entry, f"images_{label}", label)
    plot[label].attrs["interpretation"] = IMAGES  # after `_renew`
    for beside in (f"{label}_status", *moveables):
        if beside in measurement:
            plot[beside] = measurement[beside]
            plot.attrs[f"{beside}_indices"] = 0
    return f"images_{label}"


def _counters(entry: Any, counters: Sequence[str], moveables: Sequence[str]) -> str:
    measurement = entry["measurement"]
    first, *others = counters
    axis = moveables[0] if moveables else POINTS
    plot = _plot(entry, COUNTERS, first)
    plot[axis] = measurement[axis]
    plot.attrs["axes"] = [axis]
    plot.attrs[f"{axis}_indices"] = 0
    for label in others:
        plot[label] = measurement[label]
    if others:
        plot.attrs["auxiliary_signals"] = others
    return COUNTERS


def _plot(entry: Any, name: str, signal: str) -> Any:
    plot = entry.create_group(name)
    plot.attrs["NX_class"] = "NXdata"
    plot.attrs["signal"] = signal
    plot["title"] = entry["title"]
    plot[signal] = entry["measurement"][signal]
    return plot


def _renew(entry: Any) -> None:
    """Convert the plots that Sardana makes for channels with a plot type: they use the form before 2014,
    attributes of the datasets, which validators call errors."""
    plots = [
        group
        for group in entry.values()
        if group.attrs.get("NX_class") == "NXdata" and "signal" not in group.attrs
    ]
    for plot in plots:
        signals = [name for name in plot if "signal" in plot[name].attrs]
        if not signals:
            continue
        signals.sort(key=lambda name: int(plot[name].attrs["signal"]))
        axes = str(plot[signals[0]].attrs["axes"]).split(":")
        plot.attrs["signal"] = signals[0]
        if signals[1:]:
            plot.attrs["auxiliary_signals"] = signals[1:]
        if all(axis in plot for axis in axes):
            plot.attrs["axes"] = axes
    for plot in plots:
        for dataset in plot.values():
            for name in ("signal", "axes", "interpretation"):
                if name in dataset.attrs:
                    del dataset.attrs[name]
