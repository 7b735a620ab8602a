"""What can be wrong with a message."""

from __future__ import annotations


class WireError(Exception):
    """A message cannot be decoded; the sentence says why."""
