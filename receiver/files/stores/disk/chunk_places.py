"""Where HDF5 has put the chunks of a dataset, read from the nodes of its index as HDF5 has written them.

HDF5 can be asked for each chunk, which takes longer than making it a place. Layout: HDF5 file format
specification, III.A.1 (version 1 B-trees, node type 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.receiver.files.stores.disk.write_order import LEVEL, TREE, Write

CHUNKS, LEAF = 1, 0
"""Type and level of a node that refers to chunks."""
TYPE, ENTRIES, FIRST_KEY = 4, 6, 24
"""Offsets in a node: its type, its number of entries, its first key."""


def find(writes: Iterable[Write], rows: range, rank: int, nbytes: int) -> np.ndarray[Any, Any] | None:
    """Return the offsets in the file of chunks of one frame each, int64; `None` if they are not all known.

    Args:
        writes: what HDF5 has written since these chunks were allocated.
        rows: their frames.
        rank: number of dimensions of the dataset.
        nbytes: bytes of a chunk, which is not compressed.
    """
    entry = np.dtype([("nbytes", "<u4"), ("mask", "<u4"), ("corner", "<u8", rank + 1), ("place", "<u8")])
    leaves: list[bytes] = []
    for data in dict(writes).values():
        if data.startswith(TREE) and data[TYPE] == CHUNKS and data[LEVEL] == LEAF:
            size = int.from_bytes(data[ENTRIES : ENTRIES + 2], "little") * entry.itemsize
            leaves.append(data[FIRST_KEY : FIRST_KEY + size])
    if any(len(leaf) % entry.itemsize for leaf in leaves):
        return None  # there are trees of other datasets
    found = np.frombuffer(b"".join(leaves), entry)
    if np.any(found["nbytes"] != nbytes) or np.any(found["corner"][:, 1:]):
        return None
    found = found[found["corner"][:, 0] >= rows.start]  # a leaf may also have earlier ones
    order = np.argsort(found["corner"][:, 0])
    if not np.array_equal(found["corner"][order, 0], rows):
        return None
    return found["place"][order].astype(np.int64)
