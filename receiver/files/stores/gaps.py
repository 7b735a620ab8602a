"""Places of missing frames: they get the fill value, or are hidden.

A place that HDF5 was told never to fill (decision 20) reads as zeros, which could be counts. So the fill
value is written there at the end. On a full disk there may be no space for it, and thousands of frames may be
missing: then `data` becomes a virtual dataset in the same file, which shows the stored frames, and the fill
value everywhere else. It takes 125 bytes per run of frames.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.receiver.files import storage
from penstock.receiver.files.stores.allocation import release
from penstock.receiver.files.stores.disk.blob_writes import pwrite_all
from penstock.receiver.files.stores.disk.disk_file import descriptor_of
from penstock.receiver.files.stores.replace_data import STORED_FRAMES, replace_data

MOST_FILLED_BYTES, ALWAYS_FILLED = 2**26, 8
"""Most bytes that are filled, or so many frames, however large: a detector that counts from elsewhere leaves
thousands of places empty, which nobody wants to wait for, or to have on the disk."""


def close_gaps(
    data: Any, stored: np.ndarray[Any, Any], places: Sequence[int] | None = None
) -> OSError | None:
    """Cut `data` to the length of `stored`, and let frames that are not stored read as the fill value.

    Args:
        data: dataset `data` of an NXdetector group, one chunk per frame, never filled; its file is closed
            next.
        stored: bool, one per index.
        places: offset of each frame in the file, if they are known: HDF5 takes 2 µs to name one.

    Returns:
        Why the fill value could not be written, if `data` had to be made virtual; else `None`.

    Raises:
        OSError, RuntimeError: `data` could not be made virtual either.
    """
    if stored.all() and len(stored) == len(data):
        return None
    descriptor, nbytes = descriptor_of(data.file), math.prod(data.chunks) * data.dtype.itemsize
    if len(stored) > len(data):
        data.resize(len(stored), axis=0)
    if places is None or len(places) != len(data):
        places = _places(data)
    empty = np.flatnonzero(~stored).tolist()
    # The space of missing frames, and of those that are cut off, may be all that the disk has left. Before
    # the resize: HDF5 reuses the space that it gets back there.
    release(descriptor, (places[index] for index in [*empty, *range(len(stored), len(places))]), nbytes)
    data.resize(len(stored), axis=0)
    if len(empty) > ALWAYS_FILLED and len(empty) * nbytes > MOST_FILLED_BYTES:
        show_stored(data, stored)
        return None
    try:
        _fill(descriptor, data, [places[index] for index in empty], nbytes)
    except OSError as error:
        release(descriptor, (places[index] for index in empty), nbytes)
        show_stored(data, stored)
        return error
    return None


def show_stored(data: Any, stored: np.ndarray[Any, Any]) -> None:
    """Replace `data` by a virtual dataset that shows the stored frames, and the fill value elsewhere.

    Args:
        data: dataset `data` of an NXdetector group.
        stored: bool, one per index.
    """
    replace_data(data.parent, lambda: _virtual(data, stored), keep_as=STORED_FRAMES)


def _places(data: Any) -> list[int]:
    places = [0] * len(data)

    def keep(chunk: Any) -> None:
        places[chunk.chunk_offset[0]] = chunk.byte_offset

    data.id.chunk_iter(keep)
    return places


def _fill(descriptor: int, data: Any, places: Iterable[int], nbytes: int) -> None:
    places = list(places)
    disk = os.fstatvfs(descriptor)
    # The reserved space is for the account, without which the file cannot be opened.
    if places and len(places) * nbytes + storage.closing_bytes(len(data)) > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    fill = np.full(data.chunks, data.fillvalue, data.dtype).tobytes()
    for place in places:
        pwrite_all(descriptor, fill, place)


def _virtual(data: Any, stored: np.ndarray[Any, Any]) -> Any:
    """Create the virtual dataset: one mapping per run of stored frames.

    A single mapping with an irregular selection is a third of the size, but takes 4 s to open with 10,000
    runs instead of 16 ms.
    """
    shape, kind = data.shape, h5t.py_create(data.dtype)
    layout = h5p.create(h5p.DATASET_CREATE)
    layout.set_fill_value(np.array(data.fillvalue, data.dtype))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], stored, [False])).astype(np.int8)))
    name, origin = data.name.encode(), (0,) * (len(shape) - 1)
    for first, end in edges.reshape(-1, 2).tolist():
        run = h5s.create_simple(shape)
        run.select_hyperslab((first, *origin), (1,) * len(shape), block=(end - first, *shape[1:]))
        layout.set_virtual(run, b".", name, run)
    return h5py.Dataset(h5d.create(data.parent.id, None, kind, h5s.create_simple(shape), dcpl=layout))
