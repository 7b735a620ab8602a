"""`data` of a series in parts: a virtual dataset over views, each of which is one over a few blocks.

HDF5 asks every mapping of a virtual dataset for its share of what is read. With 10,000 mappings that takes
milliseconds per frame, and more than a tenth of a second where a reader opens the dataset for each frame. So
a view has `BLOCKS` mappings, and `data` has one per view. `data` names views that do not exist yet, and views
name parts that do not exist yet: both show the fill value. What lies beyond the end of a part's dataset is
arbitrary, though. So parts grow before views show more of them, and views are cut before parts are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.codecs.pixel_type import fill_value, name_of
from penstock.receiver.files.dealing import Dealing
from penstock.receiver.files.stores.contract import FrameFormat
from penstock.receiver.files.stores.counted_names import escaped
from penstock.receiver.files.stores.parts.names import file_name
from penstock.receiver.files.stores.replace_data import put_in_place, replace_data
from penstock.receiver.files.stores.segments.segment_file import DATASET

BLOCKS = 128
"""Blocks per view."""
FIRST_VIEWS = 16
"""Views in the first `data` if the number of frames is unknown, or larger; it is replaced by one of twice as
many when more come."""
GROUP = "parts"
"""Group of the views in NXdetector; its attributes tell how the frames are dealt."""
FILES, BLOCK = "files", "frames_per_block"


class Views:
    """The views of one series, and `data`.

    Args:
        detector: NXdetector group of the open file; the group of the views and `data` are created in it.
        path: file of the series.
        frames: format of the frames.
        dealing: how they are dealt.
    """

    def __init__(self, detector: Any, path: Path, frames: FrameFormat, dealing: Dealing) -> None:
        self._detector = detector
        self._path = path
        self._shape, self._kind = frames.shape, np.dtype(frames.dtype)
        self._fill = np.array(fill_value(frames.dtype), self._kind)
        self._dealing = dealing
        self._span = BLOCKS * dealing.block
        self._planned = frames.planned
        self.shown = 0
        """Frames that the views show: all below this index."""
        found = group_of(detector)
        if found is None or "data" not in detector:
            if found is not None:  # its writer was killed in between
                del detector[found.name]
            self._group = _create_group(detector, dealing)
            self._rows = self._extent(0)
            self.data = self._create_data(b"data")
        else:
            self._group, self.data = found, detector["data"]
            self._rows = len(self.data)
            last = len(found) - 1
            if last >= 0:
                self.shown = last * self._span + _mapped(found[_name(last)])

    def next(self, end: int) -> int:
        """Return up to which index views should show frames next, so that they show those below `end`: whole
        blocks, twice as many in the last view as are needed at least, since it is made anew."""
        if end <= self.shown:
            return self.shown
        view, within = divmod(end - 1, self._span)
        blocks = within // self._dealing.block + 1
        blocks = min(BLOCKS, 1 << (blocks - 1).bit_length())
        reached = view * self._span + blocks * self._dealing.block
        return max(end, reached if self._planned is None else min(reached, self._planned))

    def show(self, end: int) -> None:
        """Let views show all frames below this index, which every part has rows for."""
        if end <= self.shown:
            return
        if end > self._rows:
            self._rows = self._extent(end)
            self._replace_data()
        for number in range(self.shown // self._span, (end - 1) // self._span + 1):
            self._create_view(number, min(end - number * self._span, self._span))
        self.shown = end

    def cut(self, length: int) -> None:
        """Let views and `data` show frames below this index only."""
        if length < self.shown:
            if rest := length % self._span:
                self._create_view(length // self._span, rest)
            for number in range(-(-length // self._span), len(self._group)):
                del self._group[_name(number)]
            self.shown = length
        if length != self._rows:
            self._rows = length
            self._replace_data()

    def _extent(self, end: int) -> int:
        """Return the length of a `data` that has room for this many frames."""
        rows = FIRST_VIEWS * self._span
        while rows < end:
            rows *= 2
        return rows if self._planned is None else max(end, min(rows, self._planned))

    def _replace_data(self) -> None:
        self.data = replace_data(self._detector, self._create_data)

    def _create_data(self, name: bytes | None = None) -> Any:
        """Create `data` over all views, also those that do not exist yet; by default without a name."""
        span, layout = self._span, self._layout()
        for start in range(0, self._rows, span):
            size = min(span, self._rows - start)
            view = f"{self._group.name}/{_name(start // span)}"
            self._map(layout, self._rows, start, size, ".", view, span, 0)
        return self._create(self._detector, name, self._rows, layout)

    def _create_view(self, number: int, frames: int) -> None:
        """Create a view, or replace it, that shows its first frames."""
        dealing, first, layout = self._dealing, number * self._span, self._layout()
        for start in range(0, frames, dealing.block):
            size = min(dealing.block, frames - start)
            part, row = dealing.place(first + start)
            # Of the source as much as is shown: an open part may have more.
            self._map(layout, self._span, start, size, file_name(self._path, part), DATASET, row + size, row)
        name = _name(number)
        if name in self._group:
            put_in_place(self._create(self._group, None, self._span, layout), [(self._group, name)])
        else:
            self._create(self._group, name.encode(), self._span, layout)

    def _layout(self) -> Any:
        layout = h5p.create(h5p.DATASET_CREATE)
        layout.set_fill_value(self._fill)
        return layout

    def _map(
        self, layout: Any, rows: int, start: int, size: int, file: str, dataset: str, there: int, row: int
    ) -> None:
        shape, rest = self._shape, (0,) * len(self._shape)
        one, block = (1,) * (1 + len(shape)), (size, *shape)
        to, of = h5s.create_simple((rows, *shape)), h5s.create_simple((there, *shape))
        to.select_hyperslab((start, *rest), one, block=block)
        of.select_hyperslab((row, *rest), one, block=block)
        layout.set_virtual(to, escaped(file), escaped(dataset), of)

    def _create(self, group: Any, name: bytes | None, rows: int, layout: Any) -> Any:
        space = h5s.create_simple((rows, *self._shape))
        return h5py.Dataset(h5d.create(group.id, name, h5t.py_create(self._kind), space, dcpl=layout))


def group_of(detector: Any) -> Any:
    """Return the group of the views; `None` if the frames are not in parts."""
    for name in (GROUP, f"{GROUP}_"):
        found = detector.get(name)
        if isinstance(found, h5py.Group) and FILES in found.attrs and BLOCK in found.attrs:
            return found
    return None


def dealing_of(detector: Any) -> Dealing | None:
    """Return how the frames of a series in parts are dealt; `None` if they are not in parts."""
    if (group := group_of(detector)) is None:
        return None
    return Dealing(int(group.attrs[FILES]), int(group.attrs[BLOCK]))


def series_shown_by(view: Any) -> str | None:
    """Return the id of the series whose parts a view shows; `None` if it is no view of parts."""
    group = view.parent
    if FILES not in group.attrs or BLOCK not in group.attrs:
        return None
    return str(group.parent["series/id"].asstr()[()])


def format_of(detector: Any, planned: int | None) -> FrameFormat:
    """Return the format of frames in parts, as `data` has it: uncompressed."""
    data = detector["data"]
    shape = tuple(data.shape[1:])
    return FrameFormat(shape, name_of(data.dtype), "none", planned, colours=len(shape) == 3)


def _create_group(detector: Any, dealing: Dealing) -> Any:
    group = detector.create_group(GROUP if GROUP not in detector else f"{GROUP}_")  # a key of the sender
    group.attrs["NX_class"] = "NXcollection"
    group.attrs[FILES], group.attrs[BLOCK] = dealing.files, dealing.block
    return group


def _name(view: int) -> str:
    return f"view_{view + 1:06d}"


def _mapped(view: Any) -> int:
    """Return how many frames a view shows."""
    ends = []
    for source in view.virtual_sources():
        (start, *_), _, _, (size, *_) = source.vspace.get_regular_hyperslab()
        ends.append(int(start + size))
    return max(ends, default=0)
