"""The views of modules that have a file each: the blobs as received, and the image assembled from them.

One mapping per module covers all frames, however many: a module is in its part under the frame's index. The
views have a fixed length and are replaced as the series grows, since nobody could ask for the shape of an
unlimited one while its sources are locked. Parts grow before views do, see `views`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.codecs.pixel_type import fill_value, name_of
from penstock.receiver.files.stores.contract import FrameFormat, describe
from penstock.receiver.files.stores.counted_names import escaped, numbered
from penstock.receiver.files.stores.parts.linked_frames import is_virtual
from penstock.receiver.files.stores.parts.names import file_name
from penstock.receiver.files.stores.parts.views import FILES, GROUP
from penstock.receiver.files.stores.replace_data import put_in_place, replace_data
from penstock.receiver.files.stores.segments.segment_file import DATASET
from penstock.receiver.transforms.module_layout import Layout

HOLDS, MODULES = "holds", "modules"
"""Attribute of the group of the parts if each has a module, and its value; the group has no views then."""


class Placement(NamedTuple):
    """What a view shows of the modules."""

    shape: tuple[int, ...]
    """Shape of a frame."""
    corners: tuple[tuple[int, ...], ...]
    """Position of the first pixel of each module in a frame."""


class ModuleViews:
    """The views of one series, which exist.

    Args:
        detector: NXdetector group of the open file.
        path: file of the series.
        size: rows and columns of a module.
        placements: what each view shows, by its name in the group.
    """

    def __init__(
        self, detector: Any, path: Path, size: tuple[int, int], placements: Mapping[str, Placement]
    ) -> None:
        self._detector, self._path, self._size, self._placements = detector, path, size, placements
        self.data = detector["data"]
        self.shown = len(self.data)
        """Number of frames that the views have."""

    @classmethod
    def create(
        cls, detector: Any, path: Path, frames: FrameFormat, layout: Layout | None, blobs: str
    ) -> ModuleViews:
        """Create the views, without a frame yet.

        Args:
            detector: as above.
            path: as above.
            frames: format of the frames, of k blobs.
            layout: where the modules are in the assembled image; `None` if `data` has the blobs.
            blobs: name of the dataset of the blobs if there is an assembled image.
        """
        number, rows, columns = frames.shape
        group = detector.create_group(GROUP if GROUP not in detector else f"{GROUP}_")  # a key of the sender
        group.attrs["NX_class"] = "NXcollection"
        group.attrs[FILES], group.attrs[HOLDS] = number, MODULES
        as_received = Placement(frames.shape, tuple((module, 0, 0) for module in range(number)))
        placements = {"data" if layout is None else blobs: as_received}
        if layout is not None:
            placements["data"] = Placement(layout.shape, tuple((at.row, at.column) for at in layout.places))
        kind = np.dtype(frames.dtype)
        for name, placement in placements.items():
            shown = _create(
                detector, name.encode(), (0, *placement.shape), kind, _layout(fill_value(frames.dtype), kind)
            )
            describe(shown)
        return cls(detector, path, (rows, columns), placements)

    @classmethod
    def find(cls, detector: Any, path: Path) -> ModuleViews:
        """Return the views that another process has left."""
        placements, size = {}, (0, 0)
        for name, view in detector.items():
            if not isinstance(view, h5py.Dataset) or not is_virtual(view):
                continue
            corners = []
            for source in h5py.Dataset(view.id).virtual_sources():
                (_, *corner), _, _, (_, *block) = source.vspace.get_regular_hyperslab()
                corners.append(tuple(map(int, corner)))
                size = int(block[-2]), int(block[-1])
            placements[name] = Placement(tuple(view.shape[1:]), tuple(corners))
        return cls(detector, path, size, placements)

    @property
    def format(self) -> FrameFormat:
        """Format of one module: as the views have it, uncompressed."""
        return FrameFormat(self._size, name_of(self.data.dtype), "none", None)

    def show(self, length: int) -> None:
        """Let the views have this length, for which every part has rows, unless they are cut next."""
        if length == self.shown:
            return
        self.shown = length
        for name, placement in self._placements.items():
            if name == "data":
                self.data = replace_data(self._detector, partial(self._mapped, placement))
            else:
                new = self._mapped(placement)
                new.attrs.update(self._detector[name].attrs)
                put_in_place(new, [(self._detector, name)])

    def _mapped(self, placement: Placement) -> Any:
        """Create a view with the frames that are shown now, without a name."""
        kind, rows, shape = self.data.dtype, self.shown, placement.shape
        how = _layout(fill_value(name_of(kind)), kind)
        size = (*(1 for _ in shape[2:]), *self._size)
        for module, corner in enumerate(placement.corners if rows else ()):
            to, of = h5s.create_simple((rows, *shape)), h5s.create_simple((rows, *self._size))
            to.select_hyperslab((0, *corner), (1,) * (1 + len(shape)), block=(rows, *size))
            how.set_virtual(to, escaped(file_name(self._path, module)), escaped(DATASET), of)
        return _create(self._detector, None, (rows, *shape), kind, how)


def _layout(fill: int | float, kind: np.dtype[Any]) -> Any:
    how = h5p.create(h5p.DATASET_CREATE)
    how.set_layout(h5d.VIRTUAL)  # also without a mapping
    how.set_fill_value(np.array(fill, kind))
    return how


def _create(detector: Any, name: bytes | None, shape: tuple[int, ...], kind: np.dtype[Any], how: Any) -> Any:
    return h5py.Dataset(
        h5d.create(detector.id, name, h5t.py_create(kind), h5s.create_simple(shape), dcpl=how)
    )


def module_files(detector: Any) -> int:
    """Return in how many files the modules of a series are; 0 if they do not have a file each."""
    for name in (GROUP, f"{GROUP}_"):
        found = detector.get(name)
        if isinstance(found, h5py.Group) and found.attrs.get(HOLDS) == MODULES and FILES in found.attrs:
            return int(found.attrs[FILES])
    return 0


class ModuleSource(NamedTuple):
    """The file of a module."""

    module: int
    file: str
    """File name, as in the mapping."""


def module_sources(view: Any) -> Iterator[ModuleSource]:
    """Yield where the modules are that the dataset of the blobs shows.

    Args:
        view: (frames, k, rows, cols), one of the views.
    """
    for source in h5py.Dataset(view.id).virtual_sources():  # of another object: see `is_virtual`
        (_, module, *_), *_ = source.vspace.get_regular_hyperslab()
        yield ModuleSource(int(module), numbered(source.file_name))
