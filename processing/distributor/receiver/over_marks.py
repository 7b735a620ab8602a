"""Marks of series that are over, by which a distributor that is started again leaves them closed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

BYTES = 8
"""Bytes of a mark: all of them together fit into one message."""
REMEMBERED = 2_000
"""More than a receiver tells of (1,000)."""


def mark_of(series: str, started: float) -> bytes:
    """Return the mark of a series: its id may be used again, at another time.

    Args:
        series: its id.
        started: when it began, as the receiver says, in seconds since 1970.
    """
    return blake2b(f"{started!r} {series}".encode(), digest_size=BYTES).digest()


class OverMarks:
    """The marks of the last series that are over.

    Args:
        joined: those that are known already, one behind the other.
    """

    def __init__(self, joined: bytes = b"") -> None:
        self._marks: dict[bytes, None] = {}
        self.add(joined)

    def add(self, joined: bytes) -> None:
        """Take marks, one behind the other."""
        for at in range(0, len(joined), BYTES):
            self._marks[joined[at : at + BYTES]] = None
        while len(self._marks) > REMEMBERED:
            del self._marks[next(iter(self._marks))]

    def has(self, marks: Iterable[bytes]) -> bool:
        """Return whether one of these is known."""
        return any(mark in self._marks for mark in marks)

    @property
    def joined(self) -> bytes:
        """All of them, one behind the other, the oldest first."""
        return b"".join(self._marks)
