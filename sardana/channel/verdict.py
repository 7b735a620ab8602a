"""How a series ended, and what that means for the scan: nothing, a warning, or a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.sardana.channel.detector import Verdict
from penstock.stins.texts import plural

BY_ARRIVAL: Final = "arrival"
"""IndexSource of a detector that counts its frames as they arrive."""
MOST_NAMED: Final = 10
"""Ranges of indices that a warning names."""


@dataclass(frozen=True)
class Assessment:
    """Assessment of one series; both texts are "" when everything is there."""

    fault: str = ""
    warning: str = ""


def assess(
    verdict: Verdict, acquired: int, channel: str, file: str, index_source: str, *, hardware: bool
) -> Assessment:
    """Judge a series that nobody has stopped.

    Args:
        verdict: how it ended.
        acquired: frames that the hardware has delivered.
        channel: its name, for the warning.
        file: of the series.
        index_source: how the detector knows the index of a frame.
        hardware: whether electrical signals triggered it, some of which may have been lost.
    """
    if verdict.complete:
        return Assessment()
    counts = verdict.counts
    never = (counts.get("missing") or 0) + (counts.get("not_triggered") or 0)
    damaged = (counts.get("corrupt") or 0) + (counts.get("partial") or 0) + (counts.get("pending") or 0)
    # What the hardware delivered and the file lacks was lost by Penstock or the disk, not by a trigger.
    # And without a single frame no trigger arrived: there is no scan.
    if not hardware or not acquired or damaged or never != verdict.planned - acquired:
        return Assessment(fault=verdict.sentence)
    return Assessment(warning=_missing(verdict, never, channel, file, index_source))


def _missing(verdict: Verdict, never: int, channel: str, file: str, index_source: str) -> str:
    verb = "is" if never == 1 else "are"
    first = f"{channel}: {never:,} of {plural(verdict.planned, 'frame')} {verb} not in {file}"
    if index_source == BY_ARRIVAL:
        return (
            f"{first}: this detector counts frames as they arrive and does not know which triggers it "
            "missed, so the indices of the frames after a lost trigger are uncertain"
        )
    ranges = [f"{start}" if start == end else f"{start} to {end}" for start, end, _ in _merged(verdict)]
    more = f" and {len(ranges) - MOST_NAMED} more" if len(ranges) > MOST_NAMED else ""
    word = "index" if never == 1 else "indices"
    return f"{first}: {word} {', '.join(ranges[:MOST_NAMED])}{more} missing"


def _merged(verdict: Verdict) -> list[tuple[int, int, str]]:
    """Return ranges that touch as one, whatever their fates."""
    merged: list[tuple[int, int, str]] = []
    for first, last, fate in verdict.lost:
        if merged and merged[-1][1] == first - 1:
            merged[-1] = (merged[-1][0], last, fate)
        else:
            merged.append((first, last, fate))
    return merged
