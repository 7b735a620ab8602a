"""What the receiver says of its series: asked over HTTP by a thread, so that the distributor never waits.

The stream says what comes; the receiver says where it is kept, that a series has ended and its file is
closed, and what it does not have. So a series is known even if nothing of it has come by the stream.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from io import BytesIO
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import msgspec
import numpy as np

from penstock.receiver.client import NoAnswer, ReceiverClient, ReceiverRefused
from penstock.receiver.models import Counts, LostRange, PastSeries, Series, Status
from penstock.stins.addresses import host_port

log = logging.getLogger(__name__)

LEAST_SECONDS = 0.1
"""Between two looks at the status of a receiver."""
SERIES_SECONDS = 0.5
"""The same within a series, of which nothing is to be learned but its end: the stream tells of that, too,
unless the receiver is killed."""
WAIT_SECONDS = 0.5
"""Longest time for which the receiver keeps a question that has no new answer: questions of the distributor
wait so long, and come when a series begins, which is news."""
AGAIN_SECONDS = 0.5
"""Before a receiver that does not answer is asked again."""
TIMEOUT = 2.0
FACTS_SECONDS = 10.0
"""Longest time until the status tells of a series that has begun."""
HISTORY = 100
"""Series of the receiver's past that are looked at."""
TOLD = 10 * HISTORY
"""Ids of series that are remembered as told: more than the receiver's past can have."""
ABSENT = ("missing", "corrupt", "not_triggered")
"""Fates of frames that the receiver does not have."""


class Begun(msgspec.Struct, frozen=True):
    """Answer to `Watch.ask`: what the receiver says of a series that has begun."""

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


News: TypeAlias = Begun | Over | Entry | Silent


class _Question(msgspec.Struct, frozen=True):
    series: str
    channels: tuple[str, ...] | None
    """Whose mask is asked for; `None`: no mask is."""


class Watch:
    """The thread.

    Args:
        url: of the receiver's HTTP API.
        consumer: name of its forward entry; "" for the first with shared memory that nobody holds.
        since: series that have ended before this time (seconds since 1970) are old; only the last of these is
            told.
    """

    def __init__(self, url: str, consumer: str, since: float) -> None:
        self.url = url
        self._consumer = consumer
        self._entry: Entry | None = None
        self._client = ReceiverClient(url, TIMEOUT)
        self._since = since
        self._news: deque[News] = deque()
        self._questions: deque[_Question] = deque()
        self._told: dict[str, None] = {}
        self._facts: dict[str, Series] = {}  # the last series that the receiver has told of, by id
        self._has_looked = False
        self._why = ""
        self._look = threading.Event()
        self._ends = False  # whether the stream has told of the end of the series that runs
        self._closing = False
        self._ours, self._theirs = socket.socketpair()
        for each in (self._ours, self._theirs):
            each.setblocking(False)
        self.fileno = self._ours.fileno()
        """Descriptor to watch: readable when there is news."""
        threading.Thread(target=self._run, name="receiver", daemon=True).start()

    def ask(self, series: str, channels: Sequence[str] | None) -> None:
        """Ask about a series that has begun; `Begun` answers.

        Args:
            series: its id.
            channels: names of its channels, whose masks are asked for, or none; `None`: no mask is needed.
        """
        self._questions.append(_Question(series, None if channels is None else tuple(channels)))
        self._look.set()

    def look(self) -> None:
        """Look at the receiver now: something has ended."""
        self._ends = True
        self._look.set()

    def news(self) -> list[News]:
        """Return what is new."""
        with contextlib.suppress(BlockingIOError):
            while self._ours.recv(4096):
                pass
        found = []
        while self._news:
            found.append(self._news.popleft())
        return found

    def close(self) -> None:
        """Let the thread end by itself; there is no news after that."""
        self._closing = True
        self._look.set()
        self._ours.close()

    # -- the thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._loop()
        finally:
            self._theirs.close()

    def _loop(self) -> None:
        seen: int | None = None
        before: tuple[str, bool] | None = None
        wait = 0.0
        while not self._closing:
            self._look.clear()
            try:
                while self._questions:
                    self._answer(self._questions[0])
                    self._questions.popleft()
                status = self._client.status(seen, 0.0 if seen is None else wait)
                seen, series = status.version, status.series
                is_active = series is not None and series.active
                is_within = is_active and not self._ends
                wait = 0.0 if is_within else LEAST_SECONDS if is_active else WAIT_SECONDS
                self._ends = self._ends and is_active
                now = None if series is None else (series.id, series.active)
                if now != before or not self._has_looked:
                    self._ended(status)
                    before = now
                self._say_silent(self._find_entry(status))
            except NoAnswer as error:
                seen, before = None, None
                self._say_silent(str(error))
                self._look.wait(AGAIN_SECONDS)
            except Exception as error:  # a receiver of another release, say: the loop has to live
                seen, before = None, None
                log.exception("the receiver at %s is not understood", self.url)
                self._say_silent(f"what the receiver at {self.url} says is not understood: {error}")
                self._look.wait(WAIT_SECONDS)
            else:
                self._look.wait(SERIES_SECONDS if is_within else LEAST_SECONDS)

    def _say(self, news: News) -> None:
        self._news.append(news)
        with contextlib.suppress(
            BlockingIOError, BrokenPipeError
        ):  # it is awake, or does not listen any more
            self._theirs.send(b"x")

    def _say_silent(self, why: str) -> None:
        if why != self._why:
            self._why = why
            self._say(Silent(why))

    def _find_entry(self, status: Status) -> str:
        """Tell of the forward entry if it is another one than before; return why there is none, or ""."""
        free = [each for each in status.consumers if each.shared and each.holder is None]
        wanted = self._consumer or (self._entry.name if self._entry is not None else "")
        found = next((each for each in status.consumers if each.name == wanted), None)
        if not wanted and free:
            found = free[0]
        if found is None:
            what = (
                f"no forward entry {wanted}" if wanted else "no forward entry with shared: true that is free"
            )
            names = ", ".join(each.name for each in status.consumers) or "none"
            return f"the receiver at {self.url} has {what} (it has: {names}); add one to its configuration"
        entry = Entry(found.name, _reachable(found.endpoint, self.url), found.shared or "")
        if entry != self._entry:
            self._entry = entry
            self._say(entry)
        return ""

    def _ended(self, status: Status) -> None:
        """Tell of series that have ended, the oldest first."""
        past = self._client.history(HISTORY)
        self._learn(status, past)
        if status.series is not None and not status.series.active:
            past = [PastSeries(series=status.series, counts=status.counts), *past]
        first = not self._has_looked
        newest = True
        new: dict[str, PastSeries] = {}  # the last series may stand in status and history
        for each in past:
            series = each.series
            if not series.taken or not series.id:
                continue
            is_old = series.ended < self._since and not (first and newest)
            newest = False
            if series.id in self._told:
                continue
            if is_old:
                self._told[series.id] = None
            else:
                new.setdefault(series.id, each)
        for each in reversed(new.values()):
            self._say(self._over(each.series, each.counts))
            self._told[each.series.id] = None  # not before: the receiver may not have answered
        while len(self._told) > TOLD:
            del self._told[next(iter(self._told))]
        self._has_looked = True

    def _over(self, series: Series, counts: Counts) -> Over:
        parts = (
            counts.stored, counts.partial, counts.delivered, counts.discarded, counts.corrupt,
            counts.missing, counts.not_triggered, counts.pending,
        )  # fmt: skip
        frames = counts.planned if counts.planned is not None else sum(parts)
        absent: list[tuple[int, int]] = []
        if counts.missing or counts.corrupt or counts.not_triggered:
            absent = [(lost.first, lost.last) for lost in self._lost(series) if lost.fate in ABSENT]
        return Over(
            series.id, series.filename, _group(series), series.started, series.ended, frames, tuple(absent),
            "" if series.complete else series.reason,
        )  # fmt: skip

    def _lost(self, series: Series) -> list[LostRange]:
        """Return the ranges of frames that were lost; of a series before the last one, the first hundred."""
        found: list[LostRange] = []
        first: int | None = 0
        try:
            while first is not None:
                answer = self._client.lost_frames(first, 10_000, series.id)
                found += answer.ranges
                first = answer.next
        except ReceiverRefused:
            return [LostRange(*each) for each in series.lost]
        return found

    def _answer(self, question: _Question) -> None:
        """Answer a question; the status tells of a new series within a moment."""
        due = time.monotonic() + FACTS_SECONDS
        seen: int | None = None
        # What was told of others is kept: asked for each anew, series that follow fast would fall behind the
        # history, which has a hundred.
        while (known := self._facts.get(question.series)) is None:
            status = self._client.status(seen, 0.0 if seen is None else AGAIN_SECONDS)
            seen = status.version
            self._learn(status, self._client.history(HISTORY))
            if time.monotonic() > due or self._closing:
                known = self._facts.get(question.series)
                break
        if known is None:
            self._say(Begun(question.series, None, "", 0.0, None))
            return
        mask = None if question.channels is None else self._mask(question.series, question.channels)
        self._say(Begun(question.series, known.filename, _group(known), known.started, mask))

    def _learn(self, status: Status, past: Sequence[PastSeries]) -> None:
        """Remember what is said of series, the newest last."""
        now = [] if status.series is None else [status.series]
        for series in (*(each.series for each in reversed(past)), *now):
            self._facts.pop(series.id, None)
            self._facts[series.id] = series
        while len(self._facts) > TOLD:
            del self._facts[next(iter(self._facts))]

    def _mask(self, series: str, channels: Sequence[str]) -> bytes | None:
        try:
            masks = [self._client.mask(channel, series) for channel in channels or (None,)]
        except ReceiverRefused:
            return None
        alike = all(np.array_equal(masks[0], mask) for mask in masks[1:])
        mask: Any = masks[0] if alike else np.stack(masks)
        file = BytesIO()
        np.save(file, mask, allow_pickle=False)
        return file.getvalue()


def _reachable(endpoint: str, url: str) -> str:
    """Return an endpoint to connect to: one that is bound to all addresses is reached as the HTTP API is."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    if endpoint.startswith("tcp://") and host in ("0.0.0.0", "[::]", "*"):
        return f"tcp://{host_port(urlsplit(url).hostname or '127.0.0.1', int(port))}"
    return endpoint


def _group(series: Series) -> str:
    """Return the path of the detector's group in the raw file."""
    return f"/{series.dataset.strip('/').rpartition('/')[0]}" if "/" in series.dataset else ""
