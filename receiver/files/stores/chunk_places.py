"""Where HDF5 has put the chunks of a dataset, read from the nodes of its index as HDF5 has written them.

HDF5 can be asked for each chunk, which takes longer than making it a place. Layout: HDF5 file format
specification, III.A.1 (version 1 B-trees, node type 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.receiver.files.stores.write_order import LEVEL, TREE, Write

CHUNKS, LEAF = 1, 0
"""Type and level of a node that refers to chunks."""
TYPE, ENTRIES, FIRST_KEY = 4, 6, 24
"""Offsets in a node: its type, its number of entries, its first key."""
NOWHERE = -1


def find(writes: Iterable[Write], places: np.ndarray[Any, Any], rank: int, nbytes: int) -> bool:
    """Enter the places of chunks, each one frame, into `places`.

    Args:
        writes: what HDF5 has written since these chunks were allocated.
        places: int64, offset of each frame in the file; `NOWHERE` for those not known yet.
        rank: number of dimensions of the dataset.
        nbytes: bytes of a chunk, which is not compressed.

    Returns:
        Whether the places of all frames are known now, and none overlaps another; if not, `places` is of no
        use.
    """
    entry = np.dtype([("nbytes", "<u4"), ("mask", "<u4"), ("corner", "<u8", rank + 1), ("place", "<u8")])
    leaves: list[bytes] = []
    for data in dict(writes).values():
        if data.startswith(TREE) and data[TYPE] == CHUNKS and data[LEVEL] == LEAF:
            size = int.from_bytes(data[ENTRIES : ENTRIES + 2], "little") * entry.itemsize
            leaves.append(data[FIRST_KEY : FIRST_KEY + size])
    if any(len(leaf) % entry.itemsize for leaf in leaves):
        return False  # there are trees of other datasets
    found = np.frombuffer(b"".join(leaves), entry)
    rows = found["corner"][:, 0]
    if np.any(found["nbytes"] != nbytes) or np.any(found["corner"][:, 1:]) or np.any(rows >= len(places)):
        return False
    if np.any(np.bincount(rows.astype(np.int64), minlength=1) > 1):
        return False
    places[rows] = found["place"]
    return bool(np.all(places != NOWHERE) and np.all(np.diff(np.sort(places)) >= nbytes))
