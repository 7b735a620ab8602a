"""The quick run: the contenders beside each other, and the bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from penstock.bench.contenders import BARE, NAIVE, PENSTOCK_RECEIVER, RECEIVE_LIMIT, WRITE_LIMIT
from penstock.bench.load import Case
from penstock.bench.results import Measurement
from penstock.bench.turns import in_turn

SIZES = (20_000, 200_000, 2_000_000, 20_000_000)
FRAMES = {20_000: 30_000, 200_000: 8_000, 2_000_000: 1_000, 20_000_000: 100}
"""Frames of a series as fast as possible: a second or two, and 2 GB at most."""
NAIVE_FRAMES = {20_000: 3_000, 200_000: 2_000, 2_000_000: 400, 20_000_000: 60}
"""The naive loop is slow: it gets fewer."""


def cases(frame_bytes: int, frames: int, naive_frames: int, *, limits: bool = True) -> list[Case]:
    """Return all contenders, writing, with frames of one size; the receiver's rivals are next to it.

    The receiver has two turns: with the number of frames announced, and without.

    Args:
        limits: whether to include the compiled limits.
    """
    ours = Case(contender=PENSTOCK_RECEIVER, frame_bytes=frame_bytes, frames=frames)
    found = [
        replace(ours, contender=NAIVE, frames=naive_frames),
        replace(ours, contender=BARE),
        replace(ours, announced=False),
        ours,
    ]
    if limits:
        found.append(replace(ours, contender=WRITE_LIMIT))
        found.append(replace(ours, storage="live"))
        found.append(replace(ours, contender=RECEIVE_LIMIT, storage="live"))
    return found


def compare(
    folder: Path, rounds: int, progress: Callable[[str], None], sizes: Sequence[int] = SIZES,
    limit: Path | None = None,
) -> list[Measurement]:  # fmt: skip
    """Measure all sizes; files go into `folder` and are removed again.

    Args:
        rounds: how often each contender has its turn.
        progress: called with what is being measured.
        limit: the compiled limit; without it no limits are measured.

    Raises:
        ProcessFailed: a contender or a generator did not start, or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    measured = []
    for size in sizes:
        competing = cases(size, FRAMES[size], NAIVE_FRAMES[size], limits=limit is not None)

        def announce(case: Case, number: int) -> None:
            progress(f"{case.frame_bytes / 1000:g} kB, round {number} of {rounds}: {case.contender}")

        runs = in_turn(competing, rounds, lambda case: folder, limit, announce)
        measured += [Measurement(case=case, runs=done) for case, done in zip(competing, runs, strict=True)]
    return measured
