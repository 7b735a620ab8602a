"""Places of frames that never came: they hold the fill value, or nobody sees them.

A place that HDF5 was told never to fill (decision 20) reads as zeros, which could be counts. So the fill
value is written there at the end. A disk that is full may have no space for it: then `data` becomes a virtual
dataset in the same file, which shows the frames that are stored and the fill value everywhere else. That
takes 125 bytes for each run of frames.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterable
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.receiver.files import storage
from penstock.receiver.files.stores.disk_file import descriptor_of
from penstock.receiver.files.stores.replace_data import STORED_FRAMES, replace_data
from penstock.receiver.files.stores.space import give_back
from penstock.receiver.files.stores.write_threads import pwrite_all


def close_gaps(data: Any, stored: np.ndarray[Any, Any]) -> OSError | None:
    """Cut to this length; what is not stored reads as the fill value from now on.

    Args:
        data: dataset `data` of an NXdetector group, one chunk a frame, never filled; its file is closed next.
        stored: bool, one an index.

    Returns:
        Why the fill value could not be written, if `data` had to be made virtual.

    Raises:
        OSError, RuntimeError: that could not be done either.
    """
    if stored.all() and len(stored) == len(data):
        return None
    descriptor, nbytes = descriptor_of(data.file), math.prod(data.chunks) * data.dtype.itemsize
    if len(stored) > len(data):
        data.resize(len(stored), axis=0)
    places = _places(data)
    empty = np.flatnonzero(~stored).tolist()
    # What was set aside for them, and for those that are cut off, may be all that the disk has left. First
    # of all: what HDF5 has been given back it uses again.
    give_back(descriptor, (places[index] for index in [*empty, *range(len(stored), len(places))]), nbytes)
    data.resize(len(stored), axis=0)
    try:
        _fill(descriptor, data, [places[index] for index in empty], nbytes)
    except OSError as error:
        give_back(descriptor, (places[index] for index in empty), nbytes)
        show_stored(data, stored)
        return error
    return None


def show_stored(data: Any, stored: np.ndarray[Any, Any]) -> None:
    """Put a virtual dataset in the place of `data`: it shows the stored frames, and the fill value elsewhere.

    Args:
        data: of an NXdetector group.
        stored: bool, one an index.
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
    # What is kept back is for the account, which makes the file one that opens.
    if len(places) * nbytes + storage.RESERVE_BYTES > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    fill = np.full(data.chunks, data.fillvalue, data.dtype).tobytes()
    for place in places:
        pwrite_all(descriptor, fill, place)


def _virtual(data: Any, stored: np.ndarray[Any, Any]) -> Any:
    """`data` in the group of this dataset: one mapping for each run of stored frames. (One for all of them,
    with an irregular selection, is a third of the size, and opens in 4 s instead of 16 ms with 10,000.)"""
    shape, kind = data.shape, h5t.py_create(data.dtype)
    layout = h5p.create(h5p.DATASET_CREATE)
    layout.set_fill_value(np.array(data.fillvalue, data.dtype))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], stored, [False])).astype(np.int8)))
    name, origin = data.name.encode(), (0,) * (len(shape) - 1)
    for first, end in edges.reshape(-1, 2).tolist():
        run = h5s.create_simple(shape)
        run.select_hyperslab((first, *origin), (1,) * len(shape), block=(end - first, *shape[1:]))
        layout.set_virtual(run, b".", name, run)
    return h5py.Dataset(h5d.create(data.parent.id, b"data", kind, h5s.create_simple(shape), dcpl=layout))
