"""Restarts of the receiver in a series that was then resumed, and what they have cost, in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.stins.texts import plural

MOST_GAPS = 4
"""Most gaps that are told one by one."""


class Interruption(msgspec.Struct, frozen=True):
    """A kill or an end of the receiver during a series that was then resumed."""

    first: int
    """First index unknown to the file."""
    highest: int
    """Highest index known to the file."""
    was_left: bool = False
    """True if the receiver was asked to end, and left the series to the next start."""


def told(kills: Sequence[Interruption], account: Account) -> list[str]:
    """Return, in one sentence at most, how many frames the kills have cost.

    These are at least the frames missing between the first index unknown to the file and the first frame that
    arrived after the kill; each is told once, at the first kill that may have cost it. A frame that was under
    way, but arrived behind others, may be missing at a higher index.

    Args:
        kills: in the order in which they happened.
        account: the closed account of the series.
    """
    if not kills:
        return []
    statuses = account.statuses(account.highest + 1)
    gaps: list[tuple[int, int]] = []  # first index, number of missing frames
    after = 0
    for kill in kills:
        first, after = max(kill.first, after), max(kill.highest + 1, after)
        while after < len(statuses) and statuses[after] == FrameStatus.MISSING:
            after += 1
        missing = np.flatnonzero(statuses[first:after] == FrameStatus.MISSING)
        if len(missing):
            gaps.append((first + int(missing[0]), len(missing)))
    which = [_lost(gaps)] if gaps else []
    if kills[-1].highest + 1 >= len(statuses):
        which.append("no frame came after that")
    elif not gaps:
        is_whole = account.planned is not None and not account.counts().missing
        which.append("no frame was lost" if is_whole else "which frames that cost is not known")
    return [f"the receiver was {_restarted(kills)} in the series: {', '.join(which)}"]


def _restarted(kills: Sequence[Interruption]) -> str:
    killed = sum(not kill.was_left for kill in kills)
    times = f" {len(kills)} times" if len(kills) > 1 else ""
    if killed == len(kills):
        return f"killed and restarted{times}"
    return f"restarted{times}" + (f" ({killed} of them after a kill)" if killed else "")


def _lost(gaps: Sequence[tuple[int, int]]) -> str:
    parts = [f"{plural(count, 'frame')} from index {first} on" for first, count in gaps[:MOST_GAPS]]
    if rest := sum(count for _, count in gaps[MOST_GAPS:]):
        parts.append(f"{plural(rest, 'frame')} at higher ones")
    listed = ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]
    is_one = sum(count for _, count in gaps) == 1
    return f"at least {listed} {'was' if is_one else 'were'} lost"
