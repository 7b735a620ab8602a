"""What the receiver says of its series: asked over HTTP by a thread, so that the distributor never waits.

The stream says what comes; the receiver says where it is kept, that a series has ended and its file is
closed, and what it does not have. So a series is known even if nothing of it has come by the stream. What the
distributor waits for is asked by the id of its series, and the answer is always one of three: it runs, it has
ended, or it is forgotten; so no series waits for ever, however many follow.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections import deque
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from penstock.processing.config import forward_entry
from penstock.processing.distributor.receiver.events import Entry, News, Running, Silent
from penstock.processing.distributor.receiver.status import Word
from penstock.receiver.client import NoAnswer, ReceiverClient
from penstock.receiver.models import Status
from penstock.stins.addresses import host_port

log = logging.getLogger(__name__)

LEAST_SECONDS = 0.1
"""Shortest time in seconds between two looks at the status of a receiver."""
SERIES_SECONDS = 1.0
"""The same within a series, of which nothing is to be learned but its end: the stream tells of that, too,
unless the receiver is killed."""
WAIT_SECONDS = 0.5
"""Longest time for which the receiver keeps a question that has no new answer: questions of the distributor
wait so long, and come when a series begins, which is news."""
AGAIN_SECONDS = 0.5
"""Seconds after which a receiver that does not answer is asked again."""
TIMEOUT = 2.0


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
        over: marks of series that are over for an earlier distributor, and are not told.
    """

    def __init__(self, url: str, consumer: str, since: float, over: bytes = b"") -> None:
        self.url = url
        self._consumer = consumer
        self._entry: Entry | None = None
        self._client = ReceiverClient(url, TIMEOUT)
        self._word = Word(self._client, since, over)
        self._news: deque[News] = deque()
        self._questions: deque[_Question] = deque()
        self._ending: deque[str] = deque()  # ids of series whose end is asked for, from the loop
        self._awaited: dict[str, None] = {}  # the same in the thread, until it is known
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

    def ask_end(self, series: str) -> None:
        """Ask for the end of a series of which the stream brings no more; `Over` answers once it has ended,
        told or not, or `Forgotten`."""
        self._ending.append(series)
        self.look()

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
                self._answer()
                status = self._client.status(seen, 0.0 if seen is None else wait)
                seen, series = status.version, status.series
                is_active = series is not None and series.active
                is_within = is_active and not self._ends
                wait = 0.0 if is_within else LEAST_SECONDS if is_active else WAIT_SECONDS
                self._ends = self._ends and is_active
                now = None if series is None else (series.id, series.active)
                if now != before or not self._word.has_looked:
                    for over in self._word.ended(status):
                        self._say(over)
                        self._awaited.pop(over.series, None)
                    is_running = series is not None and series.active and series.taken
                    found = series if is_running else None
                    self._say(Running("", None) if found is None else Running(found.id, found.filename))
                    before = now
                self._ask_for_ends(series.id if series is not None and series.active else None)
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

    def _answer(self) -> None:
        while self._questions and not self._closing:
            question = self._questions[0]  # which stays if there is no answer
            self._say(self._word.begun(question.series, question.channels))
            self._questions.popleft()

    def _ask_for_ends(self, running: str | None) -> None:
        """Ask for the ends that the distributor waits for, but not for that of the series that runs, as the
        status says."""
        while self._ending:
            self._awaited[self._ending.popleft()] = None
        for series in [each for each in self._awaited if each != running]:
            if self._questions or self._closing:
                return  # frames wait for those; the ends are asked for soon
            if (end := self._word.over(series)) is not None:
                self._say(end)
                del self._awaited[series]

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
        if why := forward_entry.why_elsewhere(self.url, found):
            return why
        entry = Entry(found.name, _reachable(found.endpoint, self.url), found.shared or "")
        if entry != self._entry:
            self._entry = entry
            self._say(entry)
        return ""


def _reachable(endpoint: str, url: str) -> str:
    """Return an endpoint to connect to: one that is bound to all addresses is reached as the HTTP API is."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    if endpoint.startswith("tcp://") and host in ("0.0.0.0", "[::]", "*"):
        return f"tcp://{host_port(urlsplit(url).hostname or '127.0.0.1', int(port))}"
    return endpoint
