"""Colours of regions: seen on every colour map, and the same in picture, list and curve."""

from __future__ import annotations

PALETTE = ("#ff9f1c", "#3fc1ff", "#b388ff", "#ff6b6b", "#9be564", "#ffe14d", "#4de3c1")


def colour(place: int) -> str:
    """Of the region at this place in the list."""
    return PALETTE[place % len(PALETTE)]
