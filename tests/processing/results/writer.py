"""A distributor that only writes results, as a process of its own that can be killed.

Run with: FOLDER FRAMES. It says "begun", then writes a frame at a time, goes on for ever with further files
when one is finished, and is ended by a signal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from penstock.processing.results.layout import DONE
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from tests.processing.results import made

LATE = Array(name="late", dtype="<i8", shape=(1, 3))
LATE_FROM = 500


def main(folder: Path, frames: int) -> None:
    """Write one series."""
    results = made.created(folder, frames)
    print("begun", flush=True)
    total = np.zeros(4, np.uint64)
    for index in range(frames):
        one = np.array([index])
        results.rows(made.CURVE, one, made.curves(one))
        results.rows(made.BRIGHT, one, one)
        if index >= LATE_FROM:
            results.rows(LATE, one, np.full((1, 3), index))
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
    made.finish(results, frames)
    ResultFile.close(results)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
