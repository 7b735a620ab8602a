"""What is heard of a receiver, as the distributor's loop gets it from the thread that asks; and marks of
series that are over, by which a distributor that is started again leaves them closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TypeAlias

import msgspec


class Begun(msgspec.Struct, frozen=True):
    """What the receiver says of a series that has begun."""

    series: str
    file: str | None
    """Its raw file; `None` if there is none, or nothing is known."""
    detector: str
    """Path of the detector's group in it; "" if unknown."""
    started: float
    mask: bytes | None
    """Pixel mask as .npy; `None` if it was not asked for, or there is none."""


class Over(msgspec.Struct, frozen=True):
    """A series has ended, and its file is closed."""

    series: str
    file: str | None
    detector: str
    started: float
    ended: float
    frames: int
    """Frames that were planned, or that there were."""
    absent: tuple[tuple[int, int], ...]
    """First and last index of frames that the receiver does not have."""
    reason: str
    """Why it is incomplete, or ""."""


class Forgotten(msgspec.Struct, frozen=True):
    """The receiver does not know a series (any more): too many have ended since, or it was begun anew."""

    series: str


class Running(msgspec.Struct, frozen=True):
    """The series that the receiver has now."""

    series: str
    """Its id; "" if there is none."""
    file: str | None
    """Its raw file; `None` if there is none."""


class Entry(msgspec.Struct, frozen=True):
    """The receiver's forward entry for this pipeline, as it is now."""

    name: str
    endpoint: str
    """Endpoint to connect to."""
    shared: str
    """Path of its memory; "" if it has none."""


class Silent(msgspec.Struct, frozen=True):
    """The receiver does not answer (any more), or has no such entry; the sentence is "" once it does."""

    why: str


News: TypeAlias = Begun | Over | Forgotten | Running | Entry | Silent


SECONDS = 1.0
"""The receiver's word and its stream come by two ways: so long the one may be ahead of the other."""


class Unheard:
    """What is said of that series."""

    def __init__(self) -> None:
        self._running = Running("", None)
        self._since = 0.0

    def take(self, running: Running, now: float) -> None:
        """Take the receiver's word.

        Args:
            running: the series.
            now: monotonic seconds.
        """
        if running.series != self._running.series:
            self._since = now
        self._running = running

    def sentence(self, is_known: Callable[[str], bool], now: float) -> str:
        """Return what the pipeline waits for; "" if it knows the series.

        Args:
            is_known: tells of the id of a series whether the stream has told of it, or it is over.
            now: monotonic seconds.
        """
        series, file = self._running.series, self._running.file
        if not series or now - self._since < SECONDS or is_known(series):
            return ""
        rest = (
            f"its frames are taken from {file} then"
            if file is not None
            else "none of its frames is processed, since it is not written to a file"
        )
        return (
            f"waits for the end of series {series}, of whose start this pipeline was not told: {rest}, and "
            "live results begin with the next series"
        )


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
