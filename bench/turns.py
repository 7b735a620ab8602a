"""Turns: the contenders take the same series one after the other, so that a busy machine slows all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.bench import contenders
from penstock.bench.load import Case, Run


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
        progress: called before each turn with its case and the number of the round, from 1.

    Returns:
        The runs of each case.
    """
    runs: list[list[Run]] = [[] for _ in cases]
    for number in range(1, rounds + 1):
        for case, done in zip(cases, runs, strict=True):
            progress(case, number)
            done.append(contenders.take(case, folders(case), limit))
    return runs
