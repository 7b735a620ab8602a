"""What both windows do with a source: one thread asks it, and hands over only the newest snapshot.

One writer, one slot: `fresh` is emitted when the slot has something new and the last snapshot was taken. So a
slow screen shows less, at no cost for this process or the source.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from silx.gui import qt

from penstock.gui.live.sources.source import Away, NoAnswer
from penstock.gui.live.threads import WaitingThread

FIRST_RETRY = 0.25
"""Seconds."""
LAST_RETRY = 2.0
"""Longest time in seconds until a source that is back is noticed."""
PATIENCE = 0.5
"""Seconds of drawing after which the status is requested in between."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What is known of a source: whether it answers; what was received is added to it."""

    url: str = ""
    """The source's address: a URL, or the path of a file."""
    is_file: bool = False
    """True if the source is a file."""
    status: Any = None
    """The last that was received, also while the source is away; `None` before the first."""
    away_since: float | None = None
    """Seconds since 1970 (UTC); `None` while the source answers."""
    trouble: str = ""
    """One sentence: why it is away, or why it refuses to answer; "" while it answers."""
    kind: str = ""
    """Short stable name of what it refuses, if it does; see `Refused`."""
    fault: str = ""
    """One sentence: the feed has ended because of an internal error."""


K = TypeVar("K", bound=Known)


def unanswered(before: K, error: NoAnswer, now: float) -> K:
    """Return what is known after a question without an answer.

    Args:
        before: what was known before.
        error: why there is none.
        now: seconds since 1970.
    """
    since = (before.away_since or now) if isinstance(error, Away) else None
    return replace(before, away_since=since, trouble=str(error), kind=getattr(error, "kind", ""))


def next_retry(retry: float) -> float:
    """Return the seconds to leave a source alone that has not answered, after those before."""
    return min(LAST_RETRY, 2 * retry or FIRST_RETRY)


class SnapshotFeed(WaitingThread):
    """Follows a source, from `start` to `ask_to_stop`.

    Args:
        name: name of the thread.
        slot: what is known before the first answer.
        rate: most steps per second.
    """

    fresh: Any = qt.Signal()
    """`take` has something new; emitted from the thread, once until it was taken."""

    def __init__(self, name: str, slot: Known, rate: float, parent: qt.QObject | None = None) -> None:
        super().__init__(name, parent)
        self._rate = rate  # this and what follows: under the condition
        self._slot: Any = slot
        self._taken = True
        self._wanted = True

    def start(self) -> None:
        """Begin to follow."""
        with self._condition:
            self._wake()

    def was_started(self) -> bool:
        """Return whether it has begun to follow; a feed is started once."""
        return self._thread is not None

    def set_wanted(self, wanted: bool) -> None:
        """Set whether something is asked for to be drawn; the status is followed in any case."""
        with self._condition:
            self._wanted = wanted
            self._condition.notify_all()

    def take(self) -> Any:
        """Return the newest snapshot."""
        with self._condition:
            self._taken = True
            return self._slot

    def _fits(self, snapshot: Known) -> bool:
        """Return whether a snapshot is of what is followed now, under the condition."""
        return True

    def _put(self, snapshot: Known) -> None:
        with self._condition:
            if not self._fits(snapshot):
                return
            self._slot = snapshot
            announce, self._taken = self._taken and not self._stopping, False
        if announce:
            self.fresh.emit()

    def _end(self, error: Exception) -> None:
        """End because of an internal error, and have the window say so."""
        _log.error("the viewer's feed has ended", exc_info=error)
        why = (
            f"the viewer's feed has ended ({type(error).__name__}: {error}); close the window, start it "
            "again, and report this with the text in the terminal"
        )
        self._put(replace(self._slot, fault=why))
        self.ask_to_stop()
