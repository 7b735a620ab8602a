"""The order in which HDF5's writes go to the disk, so that a file is readable wherever they stop.

HDF5 writes its index in no particular order: a parent node may refer to a child that is not written yet, or a
node may have moved half of its entries to a new node that no parent refers to yet. So the order is: places
that were empty, to which nothing refers; nodes of trees, parents before children, since their old content has
all entries and more; heaps; everything else, and then what refers to it; last the superblock. Layouts: HDF5
file format specification, III.A.1 (version 1 B-trees), III.B (symbol table nodes), III.D and III.E (heaps).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise

Write = tuple[int, bytes]
"""Offset and data."""
TREE, HEAPS, NAMES = b"TREE", (b"HEAP", b"GCOL"), b"SNOD"
LEVEL = 5
"""Offset of the level of a tree node: 0 for leaves."""


def in_order(writes: Sequence[Write], is_new: Callable[[int], bool]) -> list[Write]:
    """Return the writes in a safe order; of two to the same place only the later one.

    Args:
        writes: writes in HDF5's order.
        is_new: tells whether an offset was unused at the last flush.
    """

    def turn(write: Write) -> tuple[int, int]:
        at, data = write
        if at == 0:
            return 5, 0
        if is_new(at):
            return 0, 0
        if data.startswith(TREE):
            return 1, -data[LEVEL]
        return (2 if data.startswith(HEAPS) else 4 if data.startswith(NAMES) else 3), 0

    return sorted(_latest(writes), key=turn)


def _latest(writes: Sequence[Write]) -> list[Write]:
    """Return the writes by offset, without those parts that were overwritten later."""
    newest = dict(writes)
    ordered = sorted(newest.items())
    # As usual, in a tenth of the time: they overlap only where a place was written again, as long as before.
    if all(len(newest[at]) == len(data) for at, data in writes) and all(
        at + len(data) <= after for (at, data), (after, _) in pairwise(ordered)
    ):
        return ordered
    starts: list[int] = []
    left: dict[int, bytes] = {}
    for at, data in reversed(writes):
        begin, end = at, at + len(data)
        place = max(0, bisect.bisect_right(starts, at) - 1)
        covered = [
            (start, start + len(left[start]))
            for start in starts[place : bisect.bisect_left(starts, end)]
            if start + len(left[start]) > at
        ]
        for start, stop in [*covered, (end, end)]:
            if begin < start:
                bisect.insort(starts, begin)
                left[begin] = data[begin - at : start - at]
            begin = max(begin, stop)
    return [(start, left[start]) for start in starts]
