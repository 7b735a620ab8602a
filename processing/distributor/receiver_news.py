"""What is heard of a receiver, as the distributor's loop gets it from the thread that asks."""

from __future__ import annotations

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
    """As .npy; `None` if it was not asked for, or there is none."""


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
    """To connect to."""
    shared: str
    """Path of its memory; "" if it has none."""


class Silent(msgspec.Struct, frozen=True):
    """The receiver does not answer (any more), or has no such entry; the sentence is "" once it does."""

    why: str


News: TypeAlias = Begun | Over | Forgotten | Running | Entry | Silent
