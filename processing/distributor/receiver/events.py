"""What is heard of a receiver, as the distributor's loop gets it from the thread that asks."""

from __future__ import annotations

from collections.abc import Callable
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
