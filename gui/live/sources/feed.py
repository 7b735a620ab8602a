"""The thread that follows a source of frames.

A frame is requested only after the previous one has been drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from silx.gui import qt

from penstock.gui.live.sources.follower import Follower, Snapshot
from penstock.gui.live.sources.following import PATIENCE, SnapshotFeed
from penstock.gui.live.sources.source import Part, Source

LONG_POLL = 0.5
"""Seconds that a status request may wait for a change: bounds how long `stop` can take."""


class Feed(SnapshotFeed):
    """Follows `source` with at most `rate` steps per second, from `start` to `stop`.

    Args:
        source: the source; `None` if not known yet, see `set_source`.
        rate: most steps, and so frames, per second.
    """

    def __init__(self, source: Source | None, rate: float = 10.0, parent: qt.QObject | None = None) -> None:
        super().__init__("penstock-feed", _nothing_of(source), rate, parent)
        self._follower = None if source is None else Follower(source)
        self._source = source  # this and what follows: under the condition
        self._part = Part()
        self._part_told = True
        self._next: tuple[Source | None] | None = None
        self._began = 0.0
        self._drawn = True

    def set_source(self, source: Source | None) -> None:
        """Follow another source, or none, from the next step on; what was seen of the last is forgotten."""
        with self._condition:
            self._source = source
            self._next = (source,)
            self._slot = _nothing_of(source)
            self._drawn = True
            self._condition.notify_all()

    def source(self) -> Source | None:
        """Return the one that is followed."""
        with self._condition:
            return self._source

    def rate(self) -> float:
        """Steps, and so frames, a second at most."""
        with self._condition:
            return self._rate

    def set_rate(self, rate: float) -> None:
        """Steps, and so frames, a second at most."""
        if rate <= 0:
            raise ValueError(f"feed: a rate of {rate:g} Hz shows nothing; give one above 0")
        with self._condition:
            self._rate = rate
            self._condition.notify_all()

    def set_block(self, value: int) -> None:
        """Transfer the greatest of `value` x `value` pixels only, for a slow network; 1: all pixels."""
        if value < 1:
            raise ValueError(f"feed: blocks of {value} pixels are not possible; give 1 or more")
        self._ask_for(block=value)

    def set_channel(self, name: str | None) -> None:
        """Show one channel of the frames, such as a threshold; `None`: all of them."""
        self._ask_for(channel=name)

    def part(self) -> Part:
        """What of a frame is transferred."""
        with self._condition:
            return self._part

    def _ask_for(self, **changes: Any) -> None:
        with self._condition:
            self._part, self._part_told = replace(self._part, **changes), False
            self._condition.notify_all()

    def drawn(self) -> None:
        """Note that the frame of the last snapshot is on the screen: the next one may be requested."""
        with self._condition:
            self._drawn = True
            self._condition.notify_all()

    def _work(self) -> Callable[[], None] | None:
        if self._until_due() > 0:
            return None
        self._began = time.monotonic()
        want_frame = self._wanted and self._drawn
        following, self._next = self._next, None
        part = None if self._part_told and following is None else self._part
        self._part_told = True
        return lambda: self._step(following, part, want_frame=want_frame)

    def _until_due(self) -> float:
        """Return the seconds of the period that are left, or until the frame under way should be drawn."""
        if self._next is not None:
            return 0.0
        drawing = self._wanted and not self._drawn
        retry = LONG_POLL if self._follower is None else self._follower.retry
        due = self._began + max(1 / self._rate, retry) + (PATIENCE if drawing else 0.0)
        return max(0.0, due - time.monotonic())

    def _step(self, following: tuple[Source | None] | None, part: Part | None, *, want_frame: bool) -> None:
        if following is not None:
            self._follower = None if following[0] is None else Follower(following[0])
        follower = self._follower
        if follower is None:
            return
        if part is not None:
            follower.ask_for(part)
        try:
            changed = follower.step(wait=LONG_POLL, want_frame=want_frame)
        except Exception as error:
            self._end(error)
            return
        if changed:
            self._put(follower.snapshot)

    def _fits(self, snapshot: Any) -> bool:
        if self._next is not None:
            return False  # of a source that is no longer followed
        self._drawn = self._drawn and snapshot.frame is self._slot.frame
        return True


def _nothing_of(source: Source | None) -> Snapshot:
    return Snapshot() if source is None else Snapshot(url=source.address, is_file=source.is_file)
