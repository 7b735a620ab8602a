"""What HDF5 files of other programs have to show: images, curves and numbers."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import h5py
import numpy as np

from penstock.receiver.files.stores.parts.linked_frames import is_virtual
from penstock.receiver.reading.hdf5.counted import named
from penstock.receiver.reading.hdf5.nodes import (
    dataset,
    default_group,
    groups,
    members,
    name_of,
    nx_class,
    shape_of,
)
from penstock.receiver.reading.hdf5.numbers import number
from penstock.receiver.reading.hdf5.stack import Piece, Stack, axes_of
from penstock.receiver.reading.reader import ReaderError, open_hdf5, text

_PART = re.compile(r"data_\d{6}")
"""Names of DECTRIS' links to the files of a series, in `/entry/data` of its master file (SIMPLON API,
FileWriter: "data_000001")."""
NOBODY = "no file that is here has it; the next one begins with a later frame"


class Contents:
    """What a file has.

    Args:
        file: the file, open.
    """

    stacks: list[Stack]
    """The images; those to show first at the head."""
    curves: tuple[str, ...]
    """Names of what is drawn as a line."""
    scalars: tuple[str, ...]
    """Names of numbers."""

    def __init__(self, file: h5py.File) -> None:
        self._groups = list(groups(file))
        plots = [group for group in self._groups if nx_class(group) == "NXdata" or "signal" in group.attrs]
        stacks, curves = [], []
        for plot in plots:
            stack, lines = _plotted(plot)
            if stack is not None:
                stacks.append(stack)
            curves += lines
        if not stacks:
            stacks = [stack for group in self._groups if (stack := _parts(group)) is not None]
        if not stacks:
            stacks = [
                stack
                for group in self._groups
                for _, node in members(group)
                if node.ndim > 2 and (stack := _stack(node, group)) is not None
            ]
        default = default_group(file)
        stacks.sort(key=lambda stack: default is None or not stack.name.startswith(default))
        self.stacks, self.curves = stacks, tuple(curves)
        shown = {stack.name for stack in stacks} | set(curves)
        self.scalars = tuple(
            name_of(node)
            for group in self._groups
            if nx_class(group) in ("NXcollection", "NXdata", "")
            for _, node in members(group)
            if node.ndim < 2 and name_of(node) not in shown
        )

    def lost(self) -> str:
        """Return why a file has no images, if they are in another file, which is away; else ""."""
        links = (lost_link(group, name) for group in self._groups for name in group if isinstance(name, str))
        return "" if self.curves else next(filter(None, links), "")


def stack_at(file: h5py.File, place: str) -> Stack | None:
    """Return the images in the dataset at a path, whether or not the file shows it; `None` if it has none."""
    found = dataset(file, place)
    if found is None or found.shape is None or found.dtype.kind not in "biuf":
        return None
    return _stack(found, found.parent)


def _plotted(plot: h5py.Group) -> tuple[Stack | None, list[str]]:
    """Return what an NXdata group shows: images, or names of curves."""
    found = dict(members(plot))
    signal = text(plot.attrs.get("signal"))
    old = [name for name, node in found.items() if text(node.attrs.get("signal")) == "1"]
    names = [signal] if signal in found else old  # the form before 2014 marks the dataset
    if not names:
        return _parts(plot), []
    more = plot.attrs.get("auxiliary_signals", ())
    names += [text(name) for name in np.atleast_1d(np.asarray(more, object)) if text(name) in found]
    stack = _stack(found[names[0]], plot, found.get(f"{names[0]}_status"))
    if stack is not None:
        return stack, []
    return None, [name_of(found[name]) for name in names if found[name].ndim == 1]


def _stack(data: h5py.Dataset, home: h5py.Group, status: h5py.Dataset | None = None) -> Stack | None:
    """Return a dataset as frames; `None` if it has none."""
    if data.ndim < 2 or not data.size:
        return None
    lone = data.ndim == axes_of(data)
    count = 1 if lone else prod(data.shape[: data.ndim - axes_of(data)])
    return Stack(name_of(data), (Piece(0, count, data, lone),), home, status)


def _parts(group: h5py.Group) -> Stack | None:
    """Return the frames of DECTRIS' master file: datasets of several files, one behind the other.

    Those of a file that is not there keep their places: `image_nr_low` says where each begins, from 1 on.
    """
    # Names that are not UTF-8 are bytes.
    names = sorted(name for name in group if isinstance(name, str) and _PART.fullmatch(name))
    parts = [dataset(group, name) for name in names]
    known = [part for part in parts if part is not None and part.ndim == 3]
    if not known:
        return None
    usual, pieces, first = len(known[0]), [], 0
    before = ""
    for name, part in zip(names, parts, strict=True):
        if part is None or part.shape[1:] != known[0].shape[1:]:
            before = _why_not(group, name, part)
            pieces.append(Piece(first, usual, None, why=before))
        else:
            low = int(number(part.attrs.get("image_nr_low")) or first + 1) - 1
            gap = pieces.pop() if pieces and pieces[-1].data is None else None
            first = gap.first if gap is not None and low >= gap.first else first
            if low > first:  # the file before it may have more or fewer frames than usual
                pieces.append(Piece(first, low - first, None, why=before or NOBODY))
                first = low
            pieces.append(Piece(first, len(part), part))
            before = ""
        first += pieces[-1].count
    return Stack(name_of(group), tuple(pieces), group)


def _why_not(group: h5py.Group, name: str, part: h5py.Dataset | None) -> str:
    """Return why a link of a master file has no frames."""
    if part is not None:
        return f"{name} has images of another size, {list(part.shape[1:])}"
    return lost_link(group, name) or f"{name_of(group)}/{name} leads nowhere"


def lost_link(group: h5py.Group, name: str) -> str:
    """Return why a link to another file, or a virtual dataset, leads nowhere; "" if it leads to something."""
    link, found = group.get(name, getlink=True), dataset(group, name)
    by = Path(group.file.filename)
    if isinstance(link, h5py.ExternalLink) and found is None:
        path = by.parent / link.filename
        return _unreadable(path) or f"{path} has no frames in {link.path}"
    if found is None or not is_virtual(found) or shape_of(found) is not None:
        return ""
    names = (source.file_name for source in h5py.Dataset(found.id).virtual_sources())
    files = (path for name in names if name != "." for path in named(by, name))
    return next(filter(None, map(_unreadable, files)), f"{name_of(found)} shows what cannot be read")


def _unreadable(path: Path) -> str:
    try:
        open_hdf5(path).close()
    except ReaderError as error:
        return str(error)
    return ""
