"""The contenders beside each other: same frames, same folder, in turn, so that a busy machine slows all.

Ratios are taken within a round and their median is quoted. Rates of one contender alone say more about
the machine than about the contender.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from penstock.bench import contenders
from penstock.bench.contenders import Load, Run


@dataclass(frozen=True, kw_only=True)
class Case:
    """One frame size and what is asked of it."""

    frame_bytes: int
    frames: int
    """For the receiver and the limits."""
    naive_frames: int
    """The naive writer is slow: it gets fewer."""
    bar: float
    """Least ratio of the receiver's frame rate to the naive writer's."""


CASES = (
    Case(frame_bytes=20_000, frames=40_000, naive_frames=4_000, bar=5.0),
    Case(frame_bytes=200_000, frames=6_000, naive_frames=1_500, bar=2.0),
)
LARGE_CASES = (
    Case(frame_bytes=2_000_000, frames=600, naive_frames=300, bar=1.0),
    Case(frame_bytes=20_000_000, frames=60, naive_frames=40, bar=1.0),
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case, all rounds, by contender."""

    case: Case
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def ratio(self, other: str) -> float | None:
        """Median, over the rounds, of the receiver's frame rate to another contender's."""
        theirs = self.runs.get(other)
        if not theirs:
            return None
        pairs = zip(self.runs["penstock"], theirs, strict=True)
        return statistics.median(ours.rate / their.rate for ours, their in pairs)

    @property
    def reached(self) -> bool:
        """Whether the bar was reached."""
        ratio = self.ratio("naive")
        return ratio is not None and ratio >= self.case.bar


def compare(
    folder: Path,
    rounds: int,
    progress: Callable[[str], None],
    cases: tuple[Case, ...] = CASES,
    limit: Path | None = None,
) -> Iterator[Result]:
    """Run all cases; files go into `folder` and are removed again.

    Args:
        rounds: how often each contender has its turn.
        progress: told what runs now.
        limit: the compiled limit; without it there are no limits.

    Raises:
        ProcessFailed: a contender or a generator did not start, or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for case in cases:
        load = Load(frame_bytes=case.frame_bytes, frames=case.frames)
        few = Load(frame_bytes=case.frame_bytes, frames=case.naive_frames)
        turns: dict[str, Callable[[], Run]] = {
            "penstock": partial(contenders.receiver, folder, load),
            "naive": partial(contenders.naive, folder, few),
        }
        if limit is not None:
            turns["C: receive, pwrite"] = partial(contenders.limit, limit, folder, load)
            turns["C: receive only"] = partial(contenders.limit, limit, None, load)
        result = Result(case=case, runs={name: [] for name in turns})
        progress(f"{case.frame_bytes / 1000:g} kB, warming up")
        contenders.receiver(folder, load)  # the first touch of memory and of the page cache is not counted
        for number in range(1, rounds + 1):
            for name, turn in turns.items():
                progress(f"{case.frame_bytes / 1000:g} kB, round {number} of {rounds}: {name}")
                result.runs[name].append(turn())
        yield result
