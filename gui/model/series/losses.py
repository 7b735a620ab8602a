"""The lost frames of a series: the receiver is asked, since the device knows only how many."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.gui.model.series.fate_bar import Range
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import LostFrames

EVERY = 2.0
"""Seconds between two requests: what is lost is counted at once, and its place may come a moment later."""
SHARE = 0.05
"""Share of the time that requests may take: their answers are long where every other frame is lost."""
RANGES = 10_000
"""Ranges in one answer."""
BUSY = "busy"
"""Kind of a refusal after which the same is asked again."""

_log = logging.getLogger(__name__)


class Receiver(Protocol):
    """The part of `ReceiverClient` that is used here."""

    def lost_frames(self, first: int = 0, limit: int = 1000, series: str | None = None) -> LostFrames: ...


@dataclass(frozen=True)
class Lost:
    """The lost frames of one series."""

    series: str
    """Its id."""
    ranges: tuple[Range, ...]
    """In order; of a running series, those lost so far."""


NOTHING_ASKED = Lost("", ())


@dataclass(frozen=True)
class _Wish:
    url: str
    series: str
    lost: int
    running: bool


class Losses:
    """Asks once for each number of lost frames, at most every `EVERY` seconds; for any thread.

    Args:
        receiver: makes the client of the receiver at an address.
        begin: does a call in a thread of its own; it may take seconds.
        found: called with each answer, from that thread.
        clock: monotonic seconds.
    """

    def __init__(
        self, receiver: Callable[[str], Receiver], begin: Callable[[Callable[[], object]], None],
        found: Callable[[Lost], None], clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._receiver = receiver
        self._begin = begin
        self._found = found
        self._clock = clock
        self._lock = threading.Lock()
        self._wish: _Wish | None = None  # this and what follows: under the lock
        self._answered: _Wish | None = None
        self._asking = self._stopped = False
        self._due = 0.0
        self._timer: threading.Timer | None = None

    def follow(self, url: str, series: str, lost: int, *, running: bool) -> None:
        """Say what is known now; the receiver is asked where that is something new.

        Args:
            url: of the receiver; "" where none is known.
            series: id of the series; "" where there is none.
            lost: how many of its frames are lost.
            running: whether more may be.
        """
        with self._lock:
            wish = _Wish(url, series, lost, running)
            self._wish = wish if url and series and lost else None
            self._ask_when_due()

    def stop(self) -> None:
        """Ask no more."""
        with self._lock:
            self._stopped, self._wish = True, None
            if self._timer is not None:
                self._timer.cancel()

    def _ask_when_due(self) -> None:
        """Have the receiver asked, now or later, unless that is under way or was done."""
        if self._wish in (None, self._answered) or self._asking or self._stopped:
            return
        self._asking = True
        if (seconds := self._due - self._clock()) > 0:
            self._timer = threading.Timer(seconds, lambda: self._begin(self._ask))
            self._timer.daemon = True
            self._timer.start()
        else:
            self._begin(self._ask)

    def _ask(self) -> None:
        with self._lock:
            wish = self._wish
        begun, answered, again = self._clock(), wish, EVERY
        try:
            if wish is not None and (lost := self._all(wish)) is not None:
                self._found(lost)
        except ReceiverRefused as refusal:
            if refusal.kind == BUSY:
                answered, again = None, refusal.retry_after or EVERY
            _log.info("%s: %s", wish.series if wish is not None else "", refusal)
        except ReceiverUnavailable as error:
            answered = None
            _log.info("%s", error)
        finally:
            with self._lock:
                self._asking = False
                self._answered = answered or self._answered
                now = self._clock()
                self._due = now + max(again, (now - begun) / SHARE)
                self._ask_when_due()

    def _all(self, wish: _Wish) -> Lost | None:
        """Return all ranges; `None` if another series has come meanwhile."""
        receiver, found = self._receiver(wish.url), list[Range]()
        first: int | None = 0
        while first is not None:
            answer = receiver.lost_frames(first, limit=RANGES, series=wish.series)
            found += [(each.first, each.last, each.fate) for each in answer.ranges]
            first = answer.next
            with self._lock:
                if self._wish is None or self._wish.series != wish.series:
                    return None
        return Lost(wish.series, tuple(found))
