"""Turns: the same conditions for whoever comes next.

A turn begins with a quiet disk and warm memory. What the turn before has written is gone, but its
write-back and the freeing of its blocks may be under way: `os.sync` waits for them. And a virtual machine
hands free memory back to its host within seconds; whoever touches it first pays three times the cost of
the copy, which says nothing about the contender. So a file of the size of the series is written and
removed right before, in the same folder: its pages go to the free list, from which the series' pages come.
Anonymous memory would not do: the page cache of a disk takes its pages in other sizes, and a first gigabyte
took eight times as long as the second after a file, five times after as much anonymous memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.bench import contenders
from penstock.bench.load import Case, Run

BLOCK = bytes(2**22)
QUEUE_BLOCKS = 128
"""Blocks beyond the bytes of the series: for the queues of both sides."""


def prepare(folder: Path, case: Case) -> None:
    """Quiet the disk, then touch as much memory as the file of a series takes, and give it back."""
    os.sync()
    if case.storage == "live":
        return
    file = folder / "warm"
    try:
        with file.open("wb", buffering=0) as stream:
            for _ in range(case.nbytes // len(BLOCK) + QUEUE_BLOCKS):
                stream.write(BLOCK)
    finally:
        file.unlink(missing_ok=True)  # before the kernel begins to write it back


def in_turn(
    cases: Sequence[Case], rounds: int, folders: Callable[[Case], Path], limit: Path | None,
    progress: Callable[[Case, int], None],
) -> list[list[Run]]:  # fmt: skip
    """Let each case have its turn, `rounds` times over: a busy machine slows all of them.

    Args:
        cases: who competes.
        rounds: turns of each.
        folders: where a case writes.
        limit: the compiled limit.
        progress: told, before each turn, whose it is and of which round, from 1.

    Returns:
        The runs of each case.
    """
    runs: list[list[Run]] = [[] for _ in cases]
    for number in range(1, rounds + 1):
        for case, done in zip(cases, runs, strict=True):
            progress(case, number)
            prepare(folders(case), case)
            done.append(contenders.take(case, folders(case), limit))
    return runs
