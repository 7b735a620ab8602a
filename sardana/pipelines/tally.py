"""The frames of a scan that have no value, and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from penstock.processing.models import FINAL
from penstock.stins.texts import plural

STATES = dict(enumerate(FINAL, 1))
"""Names of the final states by their code."""
MOST_RANGES = 10
"""Ranges of numbers that a sentence has at most."""


class Tally:
    """Counts the frames of a scan, of all its series: a frame's number is that of its point.

    Args:
        pipeline: its name, as it begins the sentence.
    """

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._before = 0  # frames of earlier series
        self._frames = 0  # of this one
        self._states: dict[str, list[int]] = {}
        self._late: list[int] = []
        self._why_late = ""
        self._without: dict[str, list[int]] = {}
        self._there: list[str] = []

    def name(self, pipeline: str) -> None:
        """Its name is known by now."""
        self._pipeline = pipeline

    def next_series(self) -> None:
        """The next frames are those of another series."""
        self._before, self._frames = self._before + self._frames, 0

    def expect(self, frames: int) -> None:
        """Note the number of frames of this series that have been started."""
        self._frames = frames

    def state(self, frame: int, code: int) -> None:
        """A frame has ended, with this code; those that are done are not counted."""
        if (name := STATES[code]) != "done":
            self._states.setdefault(name, []).append(self._before + frame)

    def without(self, frame: int, result: str, there: Iterable[str]) -> None:
        """A frame is done and has no result of this name; `there` are those of the series."""
        self._without.setdefault(result, []).append(self._before + frame)
        self._there = list(there)

    def late(self, frame: int, why: str) -> None:
        """A frame was given up."""
        self._late.append(self._before + frame)
        self._why_late = why

    def text(self, seconds: float) -> str:
        """Return a line for frames without any result and one for each result that frames lack; "" if every
        frame has its value.

        Args:
            seconds: after which frames were given up.
        """
        frames = plural(self._before + self._frames, "frame")
        lacking = len(self._late) + sum(map(len, self._states.values()))
        said = []
        if lacking:
            parts = [f"{_ranges(numbers)} {name}" for name, numbers in self._states.items()]
            if self._late:
                why = f": {self._why_late}" if self._why_late else ""
                parts.append(f"{_ranges(self._late)} pending {seconds:g} s after the last frame{why}")
            said.append(f"{lacking} of {frames} without a result: {'; '.join(parts)}")
        for name, numbers in self._without.items():
            there = ", ".join(self._there) or "none"
            said.append(
                f"{len(numbers)} of {frames} done without {name} ({_ranges(numbers)}); results of "
                f"the series: {there}"
            )
        return "\n".join(f"{self._pipeline}: {each}" for each in said)


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as "3, 7 to 9"."""
    found = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        found.append(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}")
    if len(found) > MOST_RANGES:
        return f"{', '.join(found[:MOST_RANGES])} and others"
    return ", ".join(found)
