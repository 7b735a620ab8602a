"""The order in which what HDF5 has written goes to the disk, so that any part of it leaves a file that reads.

HDF5 writes its index in no particular order: a parent may name a node that is not there yet, or a node may
have handed half of its entries to another that nobody names yet. So: first what lies where nothing was, which
nothing names; then the nodes of trees, parents before children, whose former content only is more than they
need; then heaps; then all the rest, and what names it; at last the superblock. Layouts: HDF5 file format
specification, III.A.1 (version 1 B-trees), III.B (symbol table nodes), III.D and III.E (heaps).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence

Write = tuple[int, bytes]
"""Where, and what."""
TREE, HEAPS, NAMES = b"TREE", (b"HEAP", b"GCOL"), b"SNOD"
LEVEL = 5
"""Byte of a node of a tree that has its height above the leaves."""


def in_order(writes: Sequence[Write], is_new: Callable[[int], bool]) -> list[Write]:
    """Sort writes; of two to the same place the later one is left.

    Args:
        writes: as HDF5 made them.
        is_new: whether nothing was at a place when the file was flushed before.
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


def _latest(writes: Iterable[Write]) -> list[Write]:
    """Without what was written over later."""
    starts: list[int] = []
    left: dict[int, bytes] = {}
    for at, data in reversed(list(writes)):
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
