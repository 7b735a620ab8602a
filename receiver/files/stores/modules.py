"""Frames of several modules: the blobs as received, and the assembled image as a virtual dataset.

`modules` has the blobs, (frames, k, rows, cols), one chunk each; `data` shows them at their positions, with
the fill value between them and for missing ones. Its mappings are unlimited: it grows with the frames, is
valid from the first frame on, and refers to its own file even if that is renamed (tested with h5py 3.16). A
mapping cannot rotate: if a module is rotated, or the modules do not form one image, `data` has the blobs.

With several files, each module has one of its own, and `modules` is a view, too: see `parts.module_parts`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from h5py import Dataset, h5d, h5p, h5s, h5t

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import fill_value
from penstock.receiver.files.stores.chunked import ChunkedStore, is_plain
from penstock.receiver.files.stores.contract import FILTERS, FrameFormat, FrameStore, Writing, describe
from penstock.receiver.files.stores.objects import set_ascii
from penstock.receiver.files.stores.parts.module_parts import ModuleParts
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.transforms.joined import Joined, JoinedFrame
from penstock.receiver.transforms.module_layout import Layout
from penstock.stins.messages import Buffer, Frame, Image

BLOBS = "modules"
"""Dataset of the blobs if `data` is assembled from them."""
STATUS = "module_status"
STATUS_CHUNK = 4096


class ModuleStore(FrameStore):
    """The frames of a joined series.

    Args:
        detector: NXdetector group.
        frames: format of the frames: k blobs, or one if a transform has assembled them.
        joined: what the modules' streams have in common.
        modules: status of each module of each frame.
        assembled: store for frames that are assembled already; `None` if they are not.
        writing: how frames are written; the number of files is 1, or that of the modules.
    """

    def __init__(
        self,
        detector: Any,
        frames: FrameFormat,
        joined: Joined,
        modules: ModuleStatus,
        assembled: FrameStore | None,
        writing: Writing | None = None,
    ) -> None:
        self._joined = joined
        self._modules = modules
        rows, columns = frames.shape[-2:]
        self._layout = joined.arranged(rows, columns) if assembled is None else None
        virtual = self._layout if self._layout is not None and not self._layout.is_turned else None
        self._assembled = assembled
        self._parts: ModuleParts | None = None
        self._blobs: FrameStore
        if assembled is not None:
            self._blobs = assembled
        elif writing is not None and writing.files > 1 and writing.path is not None:
            self._blobs = self._parts = ModuleParts(
                detector, frames, writing.path, writing, modules, virtual, BLOBS
            )
        else:
            self._blobs = ChunkedStore(detector, frames, BLOBS if virtual else "data")
        self.data = self._blobs.data
        self._shape, self._dtype = frames.shape, frames.dtype
        self._compression = frames.compression
        if virtual is not None and self._parts is None:
            describe(self.data)
            self.data = _virtual(detector, self.data, virtual, frames.dtype)
        self._status = detector.create_dataset(
            STATUS, (0, modules.modules), "uint8", maxshape=(None, modules.modules),
            chunks=(STATUS_CHUNK, modules.modules), fillvalue=int(FrameStatus.MISSING),
        )  # fmt: skip
        self._status.attrs["long_name"] = "status of each module, by the codes of frame_status"
        self._describe(detector, self._layout if assembled is None else joined.placed)

    @property
    def waiting_bytes(self) -> int:
        return self._blobs.waiting_bytes

    @property
    def most_waiting_bytes(self) -> int:
        return self._blobs.most_waiting_bytes

    @property
    def held_seconds(self) -> float:
        return self._blobs.held_seconds

    def write(self, index: int, frame: Frame) -> None:
        self._blobs.write(index, frame)

    def read(self, index: int) -> Frame:
        """Return a stored frame; the blobs of missing modules are empty. See `FrameStore`."""
        if self._assembled is not None:
            return self._assembled.read(index)
        shape, dtype = self._shape, np.dtype(self._dtype)
        packed: dict[int, bytes] = {}
        plain: dict[int, bytes] = {}
        for module in self._modules.good(index):
            stored, place = self._place(index, module)
            blob = stored.id.read_direct_chunk(place)[1]
            unpacked = self._compression not in FILTERS or is_plain(stored, place)
            (plain if unpacked else packed)[module] = blob
        if packed:
            # All blobs of a frame share one header, hence one compression.
            compress = CODECS[self._compression].compress
            packed |= {n: compress(np.frombuffer(blob, dtype)) for n, blob in plain.items()}
        found: dict[int, bytes] = packed or plain
        blobs: list[Buffer] = [found.get(module, b"") for module in range(shape[0])]
        compression = self._compression if packed else "none"
        image = Image(shape=shape, type=self._dtype, compression=compression, frame=index)
        return JoinedFrame(image, blobs, self._joined, (None,) * shape[0], layout=self._layout)

    def _place(self, index: int, module: int) -> tuple[Any, tuple[int, ...]]:
        """Return the dataset of a module, and the corner of the chunk of its blob."""
        if self._parts is not None:
            return self._parts.place(index, module)
        return self._blobs.data, (index, module, 0, 0)

    def grow(self, rows: int) -> None:
        self._blobs.grow(rows)
        if self._parts is not None:
            self.data = self._parts.data
        self._status.resize(rows, axis=0)

    def flush(self) -> None:
        """Write the new statuses of modules; see `FrameStore`."""
        self._blobs.flush()
        if self._modules.touched is not None:
            first, last = self._modules.touched
            last = min(last, len(self._status) - 1)
            if first <= last:
                self._status[first : last + 1] = self._modules.rows(first, last)
            self._modules.finalize()

    def lost(self) -> Collection[int]:
        return self._blobs.lost()

    def status_without(self, index: int) -> FrameStatus:
        """Enter the lost modules of a frame as missing; see `FrameStore`."""
        lost = range(self._modules.modules) if self._parts is None else self._parts.lost_modules(index)
        return self._modules.enter(index, dict.fromkeys(lost, FrameStatus.MISSING))

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to this length, and write the status of every module."""
        try:
            self._blobs.finish(statuses)
        finally:
            if self._parts is not None:
                self.data = self._parts.data
            for index in self.lost():
                self.status_without(index)
            table = self._modules.table(len(statuses)).copy()
            table[statuses == FrameStatus.NOT_TRIGGERED] = FrameStatus.NOT_TRIGGERED
            self._status.resize(len(statuses), axis=0)
            self._status[...] = table

    def close(self, *, synced: bool) -> None:
        self._blobs.close(synced=synced)

    def _describe(self, detector: Any, layout: Layout | None) -> None:
        """Write the position of each module: as NXdetector_module, and as sent in its stream."""
        for number, module in enumerate(self._joined.places):
            name = f"module_{number}"
            while name in detector:  # a key of the sender
                name += "_"
            group = detector.create_group(name)
            set_ascii(group, "NX_class", "NXdetector_module")
            for name, value, units in (
                ("x", module.x, "pixel"), ("y", module.y, "pixel"), ("rotation", module.rotation, "deg"),
            ):  # fmt: skip
                group[name] = value
                set_ascii(group[name], "units", units)
            if layout is not None:
                place = layout.places[number]
                group["data_origin"] = np.array((place.row, place.column), np.int64)
                group["data_size"] = np.array((place.rows, place.columns), np.int64)


def _virtual(detector: Any, blobs: Any, layout: Layout, dtype: str) -> Any:
    """Create the virtual dataset of the assembled images, of unlimited length."""
    kind = np.dtype(dtype)
    count, rows, columns = blobs.shape[1:]
    more = h5s.UNLIMITED
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_fill_value(np.array(fill_value(dtype), kind))
    for number, place in enumerate(layout.places):
        to = h5s.create_simple((0, *layout.shape), (more, *layout.shape))
        to.select_hyperslab((0, place.row, place.column), (more, 1, 1), (1, 1, 1), (1, rows, columns))
        of = h5s.create_simple((0, count, rows, columns), (more, count, rows, columns))
        of.select_hyperslab((0, number, 0, 0), (more, 1, 1, 1), (1, 1, 1, 1), (1, 1, rows, columns))
        properties.set_virtual(to, b".", blobs.name.encode(), of)
    space = h5s.create_simple((0, *layout.shape), (more, *layout.shape))
    return Dataset(h5d.create(detector.id, b"data", h5t.py_create(kind), space, dcpl=properties))
