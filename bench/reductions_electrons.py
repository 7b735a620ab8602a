"""Electron counting beside stempy's: processor time per frame of 576², and the positions of both.

stempy 3.6 is in an environment of its own, which `make judges` makes; both run in one process.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.in_child import beside
from penstock.bench.in_worker import InWorker, parts_of
from penstock.bench.reductions import Figure, Progress, median_ratio

SHAPE, FRAMES, ELECTRONS = (576, 576), 200, 0.006
"""A frame of the 4D Camera; how many; share of the pixels that are hit."""
BACKGROUND, XRAY = 20.0, 2000.0
BAR = 5.0
"""How many times as fast ours is at least."""
OURS, THEIRS = "Penstock's worker", "stempy"


def measure(rounds: int, progress: Progress) -> Iterator[Figure]:
    """Measure in a child process, which imports stempy."""
    progress(f"electrons, {rounds} rounds of {FRAMES} frames")
    values = beside("stempy", __name__, rounds)
    yield Figure(
        part="electrons", text="576², uint16, with dark: times as fast as electron_count_frame",
        found=median_ratio(values[THEIRS], values[OURS]), bar=BAR, least=True, values=values,
    )  # fmt: skip


def frames(number: int) -> np.ndarray[Any, Any]:
    """Return frames of noise and electrons."""
    rng = np.random.default_rng(31)
    found = rng.poisson(3, (number, *SHAPE)).astype(np.uint16)
    found[rng.random(found.shape) < ELECTRONS] += 60
    return found


def both(packages: str, rounds: int) -> dict[str, list[float]]:
    """Return processor time per frame in µs of both, by round.

    Raises:
        RuntimeError: they do not find the same.
    """
    sys.path.append(packages)  # behind ours
    from stempy.image import electron_count_frame

    images, dark = frames(FRAMES), np.full(SHAPE, 2.0, np.float32)
    keys = {"darkreference": dark, "background_threshold": BACKGROUND, "xray_threshold": XRAY}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dark.npy")
        np.save(path, dark)
        parameters = {"dark": str(path), "background": BACKGROUND, "xray": XRAY}
        ours = InWorker("electrons", parameters, SHAPE, "uint16")
    parts = parts_of(images)
    found: dict[str, list[float]] = {OURS: [], THEIRS: []}
    ours.process(parts[:2])
    for _ in range(rounds):
        begun = time.process_time()
        counts, events = sorted(ours.process(parts), key=lambda array: array.size)
        between = time.process_time()
        theirs = [electron_count_frame(image, **keys).data[0, 0] for image in images]
        ended = time.process_time()
        if not np.array_equal(events, np.concatenate(theirs)) or counts.sum() != len(events):
            raise RuntimeError("Penstock and stempy do not find the same electrons")
        found[OURS].append((between - begun) / FRAMES * 1e6)
        found[THEIRS].append((ended - between) / FRAMES * 1e6)
    return found


if __name__ == "__main__":
    print(json.dumps(both(sys.argv[1], int(sys.argv[2]))))
