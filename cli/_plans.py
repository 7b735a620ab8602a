"""What `register` and `sardana-register` say of what they would change, or have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from penstock.stins.texts import plural

SIGNS = {"add": "+", "move": ">", "change": "~", "remove": "-", "none": "="}
"""Sign of what is done with an entry, at the beginning of its line."""


class Entry(Protocol):
    """An entry of a plan."""

    @property
    def action(self) -> str: ...


def values(of: tuple[str, ...]) -> str:
    """Return the values of a property."""
    return ", ".join(value or '""' for value in of) or '""'


def counted(changes: Sequence[Entry], written: bool) -> str:
    """Return how many entries are to be changed, or have been."""
    if written:
        return f"written: {plural(len(changes), 'entry', 'entries')}"
    counts = Counter(entry.action for entry in changes)
    words = ", ".join(f"{counts[action]} to {action}" for action in SIGNS if counts[action])
    return f"{words}; nothing has been written; add --write to do so"
