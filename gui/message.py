"""What a state banner says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """The state banner's text."""

    kind: str
    """Key of `theme.Theme.state`."""
    title: str
    """One word, in capitals."""
    text: str
    """One sentence or two: what it is and, where something is wrong, what to do."""
