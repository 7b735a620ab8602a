"""How a bar shows what has become of the frames: which parts it has, how wide, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.gui.model.account import FATES, WRONG, Account

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
    """First and last frame of a loss that stands at its place; `None` where only the number is known."""

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
        lost: first and last frame of each range of one status, if they are known: these stand at their place
            in the series, over the others. Without them all parts stand one after the other.
    """
    counts = {fate: count for fate, count in visible_fates(account).items() if count > 0}
    if not counts or width <= 0:
        return []
    placed = (
        [each for each in lost if each[2] in WRONG and counts.get(each[2])] if account.planned > 0 else []
    )
    for first, last, fate in placed:
        counts[fate] -= last - first + 1
    if any(count < 0 for count in counts.values()):  # of another series, or of another moment
        return segments(account, width)
    parts = _in_a_row({fate: count for fate, count in counts.items() if count > 0}, width)
    return parts + [_at_its_place(each, account, width) for each in placed]


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


def _at_its_place(lost: Range, account: Account, width: int) -> Segment:
    first, last, fate = lost
    left = round(width * first / account.planned)
    wide = max(SLIVER, round(width * (last + 1) / account.planned) - left)
    return Segment(fate, last - first + 1, min(left, width - wide), wide, (first, last))
