"""Frames that wait or are in work, in the hands of a worker or of nobody: what the schedule deals with."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from penstock.processing.distributor.frames.account import Account, Indices

PATIENCE = 10.0
"""Seconds that a worker has more than for its frames: they may wait there for others of their batch."""
SMOOTH = 0.3
"""Weight of the newest bunch in a worker's seconds per frame."""


class Way(Enum):
    """How the pixels of frames get to a worker."""

    MEMORY = "it reads them in the receiver's shared memory"
    FILE = "it reads them in their file"
    VALUE = "they are sent"


class Departure(msgspec.Struct):
    """A worker that was gone, and what became of the frames that it had in work."""

    number: int
    """Number of the worker."""
    at: float
    """Time at which it was noticed, by the caller's clock."""
    frames: int = 0
    waiting: int = 0
    """Number of frames that nobody has yet."""
    seconds: float = 0.0
    """Time in seconds from then until the last of them was with another worker."""


class Item(msgspec.Struct):
    """A frame that waits or is in work."""

    index: int
    content: Any
    """How to get its pixels: nothing to the schedule."""
    nbytes: int
    """Bytes of header and blobs."""
    shared: bool = False
    """True if it lies in shared memory, so that it takes no bytes on the way to a worker that can read it."""
    located: Any = None
    """Place of its blobs in a file, so that a worker of this machine can read it there; `None`: nowhere."""
    deaths: int = 0
    """Workers that have died with it."""
    departure: Departure | None = None
    """Departure of the worker that had it, until another one has it."""
    channels: tuple[float | None, ...] = ()
    """Values of the channels that a step needs, in their order."""


class Bunch(msgspec.Struct, frozen=True, eq=False):
    """Frames that were given to a worker together."""

    number: int
    series: int
    worker: int
    items: tuple[Item, ...]
    indices: Indices
    way: Way
    alone: bool = False
    given: float = 0.0
    """Time at which it was given, by the caller's clock."""

    def apart(self, *places: Container[int]) -> list[tuple[tuple[Item, ...], Indices]]:
        """Return the frames at some places, those at others, and so on, with their indices; those at no such
        place are first."""
        which = [
            next((k for k, each in enumerate(places, 1) if at in each), 0) for at in range(len(self.items))
        ]
        return [
            (
                tuple(item for item, each in zip(self.items, which, strict=True) if each == k),
                self.indices[np.array(which) == k],
            )
            for k in range(len(places) + 1)
        ]


class Settled(msgspec.Struct, frozen=True):
    """What a worker's answer means for the frames of a bunch."""

    final: tuple[Item, ...]
    """Done or failed."""
    unread: tuple[Item, ...]
    """Taken back by the receiver: pending again."""


class Left(msgspec.Struct, frozen=True):
    """What a worker that is gone has left, of one series."""

    series: int
    again: tuple[Item, ...]
    lost: tuple[Item, ...]


class Worker:
    """A worker that takes frames.

    Args:
        number: of the caller's own.
        shares: whether it can read the shared memory.
        batch: frames that it wants together.
        is_here: whether it is on this machine for certain: who shares the memory is, too.
    """

    def __init__(self, number: int, shares: bool, batch: int, is_here: bool = False) -> None:
        self.number = number
        self.shares = shares
        self.batch = batch
        self.is_here = is_here
        self.unopened: set[int] = set()
        """Series of which it could not open a file."""
        self.seconds: float | None = None
        """Seconds per frame; `None` before its first bunch, which has one frame."""
        self.frames = 0
        """Processed so far."""
        self.work: dict[int, Bunch] = {}
        self.held: dict[int, Bunch] = {}
        """Bunches in work, and those in accumulated values that it has, by number."""
        self.held_frames = self.held_bytes = 0
        """Frames that keep memory until they are handed over, and their bytes."""
        self.since = 0.0
        """Time at which it began with the first of its bunches in work."""

    def way(self, series: int, item: Item) -> Way:
        """Return how it gets a frame of a series."""
        if item.shared and self.shares:
            return Way.MEMORY
        reads = (self.is_here or self.shares) and series not in self.unopened
        return Way.FILE if reads and item.located is not None else Way.VALUE

    def is_hanging(self, now: float, frame_seconds: float) -> bool:
        """Return whether it has taken much longer for its bunch than `frame_seconds` for each frame, and
        has not ended itself, as it does if its class lets it."""
        bunch = next(iter(self.work.values()), None)
        return bunch is not None and now - self.since > frame_seconds * len(bunch.items) + PATIENCE

    def took(self, seconds: float) -> None:
        """Take the seconds per frame of one more bunch into account."""
        before = self.seconds
        self.seconds = seconds if before is None else SMOOTH * seconds + (1 - SMOOTH) * before

    def hold(self, bunch: Bunch) -> None:
        """Keep a bunch whose accumulated values it has."""
        self.held[bunch.number] = bunch
        self._count(bunch, 1)

    def release(self, number: int) -> Bunch:
        """Return such a bunch, and forget it."""
        bunch = self.held.pop(number)
        self._count(bunch, -1)
        return bunch

    def _count(self, bunch: Bunch, sign: int) -> None:
        """Count the memory that held frames take: those of a file take none."""
        taken = [item.nbytes for item in bunch.items if item.content is not None]
        self.held_frames += sign * len(taken)
        self.held_bytes += sign * sum(taken)


class Queue:
    """The frames of one series that wait, and its account."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.fresh: deque[Item] = deque()
        self.early: dict[int, Item] = {}
        """Frames that wait for values of channels, by index, in the order in which they came."""
        self.alone: deque[Item] = deque()
        """Frames that a worker has died with."""
        self.rest: deque[Item] = deque()
        """Frames that come from the file: they take no memory, and so wait for all that do."""

    def again(self, items: Sequence[Item]) -> None:
        """Take frames back: those that a worker has died with are tried alone, and what was tried most often
        comes first, so that it is over soon."""
        self.fresh.extendleft(reversed([item for item in items if not item.deaths]))
        tried = (*self.alone, *(item for item in items if item.deaths))
        self.alone = deque(sorted(tried, key=lambda item: (-item.deaths, item.index)))

    def __len__(self) -> int:
        return len(self.fresh) + len(self.early) + len(self.alone) + len(self.rest)
