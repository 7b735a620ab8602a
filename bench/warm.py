"""Warm memory: without it, the rate of a turn would say little about the contender.

A virtual machine hands free memory back to its host within a second or two, and whoever touches it first
pays for that: on a disk, the first gigabyte took eight times as long as the second, also in processor time.
So a file of the size of the series is written while the sender starts, and removed when that is ready: its
pages go to the free list, from which the series' pages are taken. It must be in the same folder: the page
cache of a disk takes its pages in larger blocks than a RAM disk and programs do, and those blocks are handed
back; after a program had used as much memory, the first gigabyte still took five times as long.

And the disk must be quiet: the files of the turn before are gone, but their write-back and the freeing of
their blocks may be under way; `os.sync` waits for them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

BLOCK = bytes(2**22)
QUEUE_BLOCKS = 128
"""Blocks beyond the bytes of the series: for the queues of both sides."""


@contextlib.contextmanager
def warm(folder: Path, nbytes: int) -> Iterator[Callable[[], None]]:
    """Quiet the disk, and hold as much memory as the file of a series takes.

    Args:
        folder: of that file.
        nbytes: its size; 0: there is none.

    Yields:
        A function that releases the memory: to be called right before the series.
    """
    os.sync()
    file = folder / "warm"
    try:
        if nbytes:
            with file.open("wb", buffering=0) as stream:
                for _ in range(nbytes // len(BLOCK) + QUEUE_BLOCKS):
                    stream.write(BLOCK)
        yield lambda: file.unlink(missing_ok=True)
    finally:
        file.unlink(missing_ok=True)
