"""What the processors that come with Penstock cost: parts with bars, each compared within one run.

A part is a module with `measure(rounds, progress)`, which yields figures; it is one line in `PARTS`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

Progress = Callable[[str], None]

PARTS = {
    "azimuthal": "penstock.bench.reductions_azimuthal",
    "channels": "penstock.bench.reductions_channels",
    "epics": "penstock.bench.reductions_epics",
    "electrons": "penstock.bench.reductions_electrons",
    "pvapy": "penstock.bench.reductions_pvapy",
}
"""Modules by the name of the part."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One bar, with what was measured for it."""

    part: str
    text: str
    """What is compared, in words."""
    found: float
    """Median of the rounds."""
    bar: float
    least: bool = False
    """Whether the bar is the least, not the most."""
    unit: str = ""
    """"µs", or "" for a ratio."""
    values: dict[str, list[float]]
    """What was measured, by contender, one entry per round; in µs per frame if nothing else is said."""

    @property
    def reached(self) -> bool:
        """Whether the bar is reached."""
        return self.found >= self.bar if self.least else self.found <= self.bar


class NotMeasured(Exception):
    """A part cannot be measured here; the sentence says why, and the remedy."""


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median of the ratios of each round."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


def measured(names: Sequence[str], rounds: int, progress: Progress) -> Iterator[Figure | NotMeasured]:
    """Measure parts one after the other.

    Args:
        names: of the parts.
        rounds: how often each is measured.
        progress: is told what is measured.

    Yields:
        Figures; in place of a part that cannot be measured, why.
    """
    for name in names:
        progress(name)
        try:
            yield from import_module(PARTS[name]).measure(rounds, progress)
        except NotMeasured as error:
            yield error
