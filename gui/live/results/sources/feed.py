"""The thread that asks a source for the results that are to be seen.

It asks at most so many times per second, and for values only after the last ones were drawn. It never asks
for more than a share of the time: what answers is a pipeline that has other things to do. What is asked in
one step is in `questions`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.gui.live.results.sources.questions import Questions, ResultSource
from penstock.gui.live.results.sources.snapshot import Page, Snapshot, Wish
from penstock.gui.live.sources.following import PATIENCE, SnapshotFeed, next_retry, unanswered
from penstock.gui.live.sources.source import NoAnswer

SHARE, LARGE_SHARE = 3.0, 9.0
"""Seconds of rest per second that an answer took; of images, which are large."""


class ResultsFeed(SnapshotFeed):
    """Follows `source` with at most `rate` steps per second, from `start` to `ask_to_stop`.

    Args:
        source: the source.
        rate: most steps per second.
        now: seconds since 1970.
    """

    def __init__(
        self, source: ResultSource, rate: float = 10.0, now: Callable[[], float] = time.time
    ) -> None:
        slot = Snapshot(url=source.address, is_file=source.is_file)
        super().__init__("penstock-results", slot, rate)
        self._now = now
        self._questions = Questions(source)  # this and what follows: the thread's
        self._retry = 0.0
        self._due = 0.0  # this and what follows: under the condition
        self._wish = Wish()
        self._told = True
        self._drawn_by = 0.0

    def wish(self, wish: Wish) -> None:
        """Ask for this from now on."""
        with self._condition:
            if wish != self._wish:
                self._wish, self._told = wish, False
                self._drawn_by = 0.0
                self._condition.notify_all()

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
        is_drawn = now >= self._drawn_by
        return lambda: self._step(wish, values=lambda: is_drawn and self._wanted)

    def _due_at_once(self) -> float:
        return self._due if self._retry else 0.0

    def _until_due(self) -> float | None:
        return max(0.0, self._due - time.monotonic())

    def _step(self, wish: Wish, *, values: Callable[[], bool]) -> None:
        began, before = time.monotonic(), self._slot
        try:
            found = self._questions.ask(wish, before, values=values)
            self._retry = 0.0
        except NoAnswer as error:
            self._retry = next_retry(self._retry)
            found = unanswered(before, error, self._now())
        except Exception as error:
            self._end(error)
            return
        took = time.monotonic() - began
        rest = took * (LARGE_SHARE if wish.page is Page.PICTURE else SHARE)
        with self._condition:
            self._due = began + max(1 / self._rate, self._retry, took + rest)
            if found.shown is not before.shown and found.shown is not None:
                self._drawn_by = time.monotonic() + PATIENCE
        self._put(found)
