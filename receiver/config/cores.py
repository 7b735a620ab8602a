"""The processor cores that a receiver needs for its files."""

from __future__ import annotations

import os

OTHERS = 2
"""Cores for the loop and ZeroMQ's thread. Without one more for the thread that allocates ahead, frames of 0.2
and 2 MB came 10 and 20 % slower with it than without."""


def needed(files: int) -> int:
    """Return how many cores are in use when a series is written to so many files as fast as they take it: of
    several each has a thread that allocates and one that writes, and a single one is written by the loop."""
    return OTHERS + (2 * files if files > 1 else 1)


def usable() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def too_few(name: str, files: int) -> str:
    """Return that a receiver has fewer cores than its files need, in a sentence; "" if it has enough.

    Args:
        name: name of the receiver.
        files: number of files of a series; a single one is written with however few.
    """
    here = usable()
    if files == 1 or here >= needed(files):
        return ""
    return (
        f"{name}: files is {files}, for which the receiver should have {needed(files)} cores, and it may use "
        f"{here}: fewer files, or one, may be faster"
    )
