"""How fast a file system takes frames: into one file, and into several at the same time.

Blocks are random bytes, which no file system can compress.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from penstock.receiver.config import cores
from penstock.receiver.files.stores.disk.blob_writes import pwrite_all

Verdict = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """The result of one trial."""

    name: str
    value: str
    verdict: Verdict
    """bad: Penstock's promises do not hold here; note: they do, and this is worth knowing."""
    meaning: str
    """What it means for Penstock."""

    def summary(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        return asdict(self)


BLOCK = 2 * 2**20
"""Bytes per block: a frame of one million 16-bit pixels."""
LONGEST = 5.0
"""Seconds after which the writing of one file ends."""
FILES = (1, 2, 4, 8)
"""Numbers of files that are compared."""
LEAST_BLOCKS = 4
"""Fewest blocks of each of several files: 8 MB."""
ROUNDS = 3
SECONDS = 6.0
"""Seconds after which no further round of all numbers of files begins."""
NEARLY = 0.9
"""Share of the best rate that is as good as the best: rates vary by a few percent."""


def one_file(here: Path, most: int) -> Finding:
    """Measure the rate of writing to one file, with and without the sync at the end.

    Args:
        here: folder for the file.
        most: bytes to write at most.
    """
    if most < BLOCK:
        return Finding("writing", "not tried: no space", "bad", "free some space")
    block, written = os.urandom(BLOCK), 0
    try:
        with (here / "rate").open("wb", buffering=0) as file:
            began = time.perf_counter()
            while written + BLOCK <= most and time.perf_counter() - began < LONGEST:
                written += file.write(block)
            cached = time.perf_counter() - began
            os.fdatasync(file.fileno())
            synced = time.perf_counter() - began
    except OSError as error:
        return Finding("writing", f"ends after {written / 1e6:.0f} MB", "bad", f"{error.strerror}")
    finally:
        (here / "rate").unlink(missing_ok=True)
    fast, true = written / cached / 1e6, written / synced / 1e6
    return Finding(
        "writing", f"{fast:,.0f} MB/s, {true:,.0f} MB/s onto the disk ({written / 1e6:.0f} MB)", "good",
        f"{true * 1e6 / BLOCK:,.0f} frames of 2 MB per second can be sustained, by this one trial",
    )  # fmt: skip


# -- several files -------------------------------------------------------------------------------


def several_files(
    here: Path, most: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> Finding:
    """Measure the rates of writing the same bytes to one file and to several at the same time.

    Args:
        here: folder for the files.
        most: bytes to write at most before they are removed.
        progress: called with the number of measurements done, and of all.
    """
    counts, blocks = shares(most)
    if not counts:
        least = FILES[1] * LEAST_BLOCKS * BLOCK
        return Finding(
            "several files", f"not tried: {most / 1e6:.0f} MB is too little for two", "note",
            f"it takes --write-mb {-(-least // 10**6)}, and ten times as much free space",
        )  # fmt: skip
    data = [os.urandom(BLOCK) for _ in range(max(counts))]
    found: dict[int, list[float]] = {count: [] for count in counts}
    total, done, began = ROUNDS * len(counts), 0, time.perf_counter()
    try:
        for _ in range(ROUNDS):  # in turns: what disturbs one number of files disturbs the others, too
            for count in counts:
                progress(done, total)
                found[count].append(_rate(here, count, blocks, data))
                done += 1
            if time.perf_counter() - began > SECONDS:
                break
    except OSError as error:
        return Finding("several files", f"fails after {done} of {total} trials", "bad", f"{error.strerror}")
    finally:
        progress(total, total)
    rates = {count: statistics.median(each) for count, each in found.items()}
    files = fewest(rates)
    value = ", ".join(f"{count}: {_text(rate)}" for count, rate in rates.items()) + " GB/s"
    if files == 1:
        return Finding("several files", value, "good", "one file is as fast as several")
    few = f"; this one has {cores.usable()}: keep one file" if cores.usable() < cores.needed(2) else ""
    return Finding(
        "several files", value, "note",
        f"set files: {files} in the receiver's entry, if the writing holds series up and its host has "
        f"{cores.needed(files)} cores{few}",
    )  # fmt: skip


def shares(most: int) -> tuple[Sequence[int], int]:
    """Return the numbers of files among which so many bytes can be shared, and how many blocks they share;
    nothing, and 0, if two files would be too small.

    Args:
        most: bytes to write at most.
    """
    counts = [count for count in FILES if most // BLOCK >= count * LEAST_BLOCKS]
    if len(counts) < 2:
        return [], 0
    return counts, most // BLOCK // counts[-1] * counts[-1]


def fewest(rates: Mapping[int, float]) -> int:
    """Return the smallest number of files that is nearly as fast as the fastest.

    Args:
        rates: rate by number of files; one at least.
    """
    best = max(rates.values())
    return min(count for count, rate in rates.items() if rate >= NEARLY * best)


def _rate(here: Path, count: int, blocks: int, data: Sequence[bytes]) -> float:
    """Return the rate in GB/s of writing so many blocks onto the disk, to so many new files, which are then
    removed."""
    paths = [here / f"several-{number}" for number in range(count)]
    each = blocks // count

    def write(number: int, descriptor: int) -> None:
        for block in range(each):
            pwrite_all(descriptor, data[(number + block) % len(data)], block * BLOCK)
        os.fdatasync(descriptor)  # otherwise memory would be measured, and not the disk

    with ExitStack() as stack:
        descriptors = []
        for path in paths:
            stack.callback(path.unlink, missing_ok=True)
            descriptors.append(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            stack.callback(os.close, descriptors[-1])
        with ThreadPoolExecutor(count) as pool:
            began = time.perf_counter()
            for _ in pool.map(write, range(count), descriptors):
                pass
            seconds = time.perf_counter() - began
    return blocks * BLOCK / seconds / 1e9


def _text(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"
