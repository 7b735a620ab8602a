"""How a bar shows what has become of the frames: which parts it has, how wide, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from penstock.gui.model.series.account import FATES, WRONG, Account

Range: TypeAlias = tuple[int, int, str]
"""First and last frame, and their status."""
SLIVER = 2
"""Least pixels of a loss: one missing frame of a million has to be seen."""
MEANING: Mapping[str, str] = {
    "stored": "in the file",
    "delivered": "for live view and consumers only, as requested",
    "partial": "in the file, with modules missing or corrupt",
    "missing": "triggered or sent, but not received",
    "corrupt": "arrived corrupt, and is not in the file",
    "discarded": "marked by the detector as not to be written",
    "not_triggered": "the series ended before it was due",
    "pending": "still to come",
}


@dataclass(frozen=True)
class Segment:
    """One part of the bar."""

    fate: str
    """Key of `account.FATES`."""
    count: int
    """Frames."""
    left: int
    """First pixel."""
    width: int
    """Pixels."""
    frames: tuple[int, int] | None = None
    """First and last frame of a loss that stands at its place, of one or several ranges that are too close to
    be drawn apart; `None` where only the number is known."""

    @property
    def loss(self) -> bool:
        """True if these frames are not in the file as they should be."""
        return self.fate in WRONG

    def words(self) -> str:
        """Return what a tool tip says."""
        if self.frames is None:
            return f"{FATES[self.fate][1]} {self.count:,}: {MEANING[self.fate]}"
        first, last = self.frames
        which = f"frame {first:,}" if first == last else f"frames {first:,} to {last:,}"
        if self.count <= last - first:
            which = f"{self.count:,} of the {which}"
        return f"{which} {FATES[self.fate][1]}: {MEANING[self.fate]}"


def visible_fates(account: Account) -> dict[str, int]:
    """Frames by fate, in the order of the bar; of a series without an end nothing is pending."""
    left_out = ("pending", "not_triggered") if account.endless else ()
    return {fate: account.fates.get(fate, 0) for fate in FATES if fate not in left_out}


def legend(account: Account) -> list[tuple[str, str, int]]:
    """Return status, word and frames of each part: those with frames, and always the stored and the pending
    ones."""
    always = {"stored", "pending"}
    if account.endless:
        always = {"delivered" if account.fates["delivered"] else "stored"}
    return [
        (fate, FATES[fate][1], count)
        for fate, count in visible_fates(account).items()
        if count or fate in always
    ]


def in_words(account: Account) -> str:
    """Return the legend as a sentence, for a screen reader."""
    return ", ".join(f"{word} {count:,}" for _, word, count in legend(account))


def segments(account: Account, width: int, lost: Sequence[Range] = ()) -> list[Segment]:
    """Return the parts of a bar of `width` pixels, from left to right; losses are never too thin.

    Args:
        account: frames by status.
        width: pixels.
        lost: first and last frame of each range of one status, in order, as far as they are known: these
            stand at their place in the series, over the others. Without them all parts stand one after the
            other.
    """
    counts = {fate: count for fate, count in visible_fates(account).items() if count > 0}
    if not counts or width <= 0:
        return []
    wrong = tuple((fate, count) for fate, count in counts.items() if fate in WRONG)
    placed, at_place = _at_their_place(tuple(lost), wrong, account.planned, width)
    for first, last, fate in placed:
        counts[fate] -= last - first + 1
    parts = _in_a_row({fate: count for fate, count in counts.items() if count > 0}, width)
    if placed:
        parts = _around(parts, placed, account.planned, width)
    return [*parts, *at_place]


def _in_a_row(counts: Mapping[str, int], width: int) -> list[Segment]:
    least = {fate: SLIVER if fate in WRONG else 1 for fate in counts}
    widths: dict[str, float] = {}
    free, frames = float(width), sum(counts.values())
    # Whatever would be too thin gets its least width first, and the others share what is left.
    for fate in sorted(counts, key=lambda fate: counts[fate]):
        widths[fate] = max(float(least[fate]), free * counts[fate] / frames)
        free -= widths[fate]
        frames -= counts[fate]
    parts: list[Segment] = []
    edge = 0.0
    for fate, count in counts.items():
        left = round(edge)
        edge += widths[fate]
        parts.append(Segment(fate, count, left, max(1, round(edge) - left)))
    return parts


def _around(parts: Sequence[Segment], placed: Sequence[Range], planned: int, width: int) -> list[Segment]:
    """Return the parts of a row with room for what stands at its place among them."""
    others = planned - sum(last - first + 1 for first, last, _ in placed)
    starts = [0, *accumulate(part.width for part in parts)]
    edges, before, frame = [], 0, iter(placed)
    one = next(frame, None)
    for start in starts:
        index = others * start / width
        while one is not None and one[0] <= index + before:
            before += one[1] - one[0] + 1
            one = next(frame, None)
        edges.append(min(width, round(width * (index + before) / planned)))
    edges[0], edges[-1] = 0, width
    return [
        replace(part, left=min(left, width - 1), width=max(1, right - left))
        for part, left, right in zip(parts, edges, edges[1:], strict=False)
    ]


@lru_cache(maxsize=8)  # of a long list, which only losses change, while other frames are counted all the time
def _at_their_place(
    lost: tuple[Range, ...], counts: tuple[tuple[str, int], ...], planned: int, width: int
) -> tuple[tuple[Range, ...], tuple[Segment, ...]]:
    """Return the ranges that can be drawn, and their parts of the bar.

    No more are drawn than are counted: list and counts may be of two moments.
    """
    left, placed, parts = dict(counts), list[Range](), list[Segment]()
    for first, last, fate in lost:
        last = min(last, first + left.get(fate, 0) - 1)
        if not first <= last < planned:
            continue
        left[fate] -= last - first + 1
        placed.append((first, last, fate))
        start = round(width * first / planned)
        wide = max(SLIVER, round(width * (last + 1) / planned) - start)
        part = Segment(fate, last - first + 1, min(start, width - wide), wide, (first, last))
        if parts and parts[-1].fate == fate and part.left <= parts[-1].left + parts[-1].width:
            part = _joined(parts.pop(), part)
        parts.append(part)
    return tuple(placed), tuple(parts)


def _joined(one: Segment, other: Segment) -> Segment:
    assert one.frames is not None and other.frames is not None
    right = max(one.left + one.width, other.left + other.width)
    frames = (one.frames[0], other.frames[1])
    return Segment(one.fate, one.count + other.count, one.left, right - one.left, frames)
