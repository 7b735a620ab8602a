"""A distributor that only writes results, as a process of its own that can be killed.

Run with: FOLDER FRAMES [unplanned] [endless]. It writes frame after frame and says "running" after the first.
With "unplanned" nobody knows how many there will be, and each hundredth frame brings a new name: the file is
made anew all the time. With "endless" it writes the same rows again until it is killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from penstock.processing.results.layout import DONE
from penstock.processing.wire import Array
from tests.processing.results import made

LATE = Array(name="late", dtype="<i8", shape=(1, 3))
LATE_FROM = 500
NEWS = 100
"""Frames from one new name to the next."""


def main(folder: Path, frames: int, unplanned: bool, endless: bool) -> None:
    """Write one series."""
    results = made.created(folder, None if unplanned else frames)
    total = np.zeros(4, np.uint64)
    for index in range(frames):
        one = np.array([index])
        results.rows(made.CURVE, one, made.curves(one))
        results.rows(made.BRIGHT, one, one)
        if index >= LATE_FROM:
            results.rows(LATE, one, np.full((1, 3), index))
        if unplanned and index % NEWS == 0:
            results.rows(Array(name=f"news_{index}", dtype="<i8", shape=(1,)), one, one)
        total += np.uint64(index)
        if index % 10 == 9:  # ten frames are held, and done once they are in the sum
            mean = Array(name="mean", dtype="<u8", shape=(4,), kind="mean", n=index + 1)
            held = np.arange(index - 9, index + 1)
            results.version(held, 1)
            results.accumulated([mean], [total], held)
        if index == 0:
            print("running", flush=True)
    left = np.arange(frames - frames % 10, frames)
    results.status(left, DONE)
    while endless:
        made.fill(results, 0, frames)
    made.finish(results, frames)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "unplanned" in sys.argv, "endless" in sys.argv)
