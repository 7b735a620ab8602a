"""The thread that asks a source for what is to be seen, and hands over only the newest snapshot.

It asks at most so many times per second, and for values only after the last ones were drawn. It never asks
for more than a share of the time: what answers is a pipeline that has other things to do. What is asked in
one step is in `questions`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from silx.gui import qt

from penstock.gui.live.results.sources.questions import Questions, ResultSource
from penstock.gui.live.results.sources.snapshot import Page, Snapshot, Wish
from penstock.gui.live.sources.source import Away, Refused
from penstock.gui.live.threads import WaitingThread

PATIENCE = 0.5
"""Seconds of drawing after which the status is asked for in between."""
FIRST_RETRY, LAST_RETRY = 0.25, 2.0
"""Seconds until a source that does not answer is asked again."""
SHARE, LARGE_SHARE = 3.0, 9.0
"""Seconds of rest per second that an answer took; of images, which are large."""

_log = logging.getLogger(__name__)


class ResultsFeed(WaitingThread):
    """Follows `source` with at most `rate` steps per second, from `start` to `ask_to_stop`.

    Args:
        source: the source.
        rate: most steps per second.
        now: seconds since 1970.
    """

    fresh: Any = qt.Signal()
    """`take` has something new; emitted from the thread, once until it was taken."""

    def __init__(
        self, source: ResultSource, rate: float = 10.0, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__("penstock-results")
        self._source = source
        self._period = 1 / rate
        self._now = now
        self._questions = Questions(source)  # this and what follows: the thread's
        self._retry = 0.0
        self._due = 0.0  # this and what follows: under the condition
        self._wish = Wish()
        self._told = True
        self._wanted = True
        self._drawn_by = 0.0
        self._slot = Snapshot(url=source.address, is_file=source.is_file)
        self._taken = True

    def start(self) -> None:
        """Begin to follow."""
        with self._condition:
            self._wake()

    def was_started(self) -> bool:
        """Return whether it has begun to follow."""
        return self._thread is not None

    def source(self) -> ResultSource:
        """Return the one that is followed."""
        return self._source

    def set_wanted(self, wanted: bool) -> None:
        """Set whether values are asked for; the status is followed in any case."""
        with self._condition:
            self._wanted = wanted
            self._condition.notify_all()

    def wish(self, wish: Wish) -> None:
        """Ask for this from now on."""
        with self._condition:
            if wish != self._wish:
                self._wish, self._told = wish, False
                self._drawn_by = 0.0
                self._condition.notify_all()

    def take(self) -> Snapshot:
        """Return the newest snapshot."""
        with self._condition:
            self._taken = True
            return self._slot

    def drawn(self) -> None:
        """Note that the last snapshot is on the screen: more may be asked for."""
        with self._condition:
            self._drawn_by = 0.0
            self._condition.notify_all()

    def _work(self) -> Callable[[], None] | None:
        now = time.monotonic()
        if now < (self._due if self._told else min(self._due, self._due_at_once())):
            return None
        wish, self._told = self._wish, True
        values = self._wanted and now >= self._drawn_by
        return lambda: self._step(wish, values=values)

    def _due_at_once(self) -> float:
        return self._due if self._retry else 0.0

    def _until_due(self) -> float | None:
        return max(0.0, self._due - time.monotonic())

    def _step(self, wish: Wish, *, values: bool) -> None:
        began, before = time.monotonic(), self._slot
        try:
            found = self._questions.ask(wish, before, values=values)
            self._retry = 0.0
        except (Away, Refused) as error:
            self._retry = min(LAST_RETRY, 2 * self._retry or FIRST_RETRY)
            away = isinstance(error, Away)
            since = (before.away_since or self._now()) if away else None
            found = replace(before, away_since=since, trouble=str(error))
        except Exception as error:
            _log.exception("the viewer's feed has ended")
            self.ask_to_stop()
            found = replace(before, fault=_fault(error))
        took = time.monotonic() - began
        rest = took * (LARGE_SHARE if wish.page is Page.PICTURE else SHARE)
        with self._condition:
            self._due = began + max(self._period, self._retry, took + rest)
            if found.shown is not before.shown and found.shown is not None:
                self._drawn_by = time.monotonic() + PATIENCE
            self._slot = found
            announce, self._taken = self._taken, False
        if announce:
            self.fresh.emit()


def _fault(error: Exception) -> str:
    return (
        f"the viewer's feed has ended ({type(error).__name__}: {error}); close the window, start it again, "
        "and report this with the text in the terminal"
    )
