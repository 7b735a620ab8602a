"""The thread that follows a source and hands over only the newest snapshot.

One writer, one slot: `fresh` is emitted when the slot has something new and the last snapshot was taken, and
a frame is requested only after the previous one has been drawn. So a slow screen shows fewer frames, at no
cost for this process or the receiver.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import Any

from silx.gui import qt

from penstock.gui.live.sources.follower import Follower, Snapshot
from penstock.gui.live.sources.source import Part, Source

LONG_POLL = 0.5
"""Seconds that a status request may wait for a change: bounds how long `stop` can take."""
PATIENCE = 0.5
"""Seconds of drawing after which the status is requested in between."""

_log = logging.getLogger(__name__)


class Feed(qt.QObject):
    """Follows `source` with at most `rate` steps per second, from `start` to `stop`.

    Args:
        source: the source; `None` if not known yet, see `set_source`.
        rate: most steps, and so frames, per second.
    """

    fresh = qt.Signal()
    """`take` has something new; emitted from the feed's thread, once until it was taken."""

    def __init__(self, source: Source | None, rate: float = 10.0, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._follower = None if source is None else Follower(source)
        self._thread = threading.Thread(target=self._run, name="penstock-feed", daemon=True)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._began = 0.0
        self._rate = rate  # this and what follows: under the lock
        self._part = Part()
        self._part_told = True
        self._next: tuple[Source | None] | None = None
        self._slot = _nothing_of(source)
        self._taken = True
        self._drawn = True
        self._wanted = True

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def was_started(self) -> bool:
        """Return whether `start` was called; a feed is started once."""
        return self._thread.ident is not None

    def ask_to_stop(self) -> None:
        """End the thread after the request under way, without waiting for it."""
        self._stopping.set()
        self._wake.set()

    def stop(self) -> None:
        """End the thread and wait for it: as long as the request under way may take."""
        self.ask_to_stop()
        if self._thread.is_alive():
            self._thread.join()

    def set_source(self, source: Source | None) -> None:
        """Follow another source, or none, from the next step on; what was seen of the last is forgotten."""
        with self._lock:
            self._source = source
            self._next = (source,)
            self._slot = _nothing_of(source)
            self._drawn = True
        self._wake.set()

    def source(self) -> Source | None:
        """Return the one that is followed."""
        with self._lock:
            return self._source

    def is_running(self) -> bool:
        """Return whether the thread lives."""
        return self._thread.is_alive()

    def rate(self) -> float:
        """Steps, and so frames, a second at most."""
        with self._lock:
            return self._rate

    def set_rate(self, rate: float) -> None:
        """Steps, and so frames, a second at most."""
        if rate <= 0:
            raise ValueError(f"feed: a rate of {rate:g} Hz shows nothing; give one above 0")
        with self._lock:
            self._rate = rate
        self._wake.set()

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
        with self._lock:
            return self._part

    def _ask_for(self, **changes: Any) -> None:
        with self._lock:
            self._part, self._part_told = replace(self._part, **changes), False
        self._wake.set()

    def set_wanted(self, wanted: bool) -> None:
        """Set whether frames are requested; the status is followed in any case."""
        with self._lock:
            self._wanted = wanted
        self._wake.set()

    def take(self) -> Snapshot:
        """Return the newest snapshot."""
        with self._lock:
            self._taken = True
            return self._slot

    def drawn(self) -> None:
        """Note that the frame of the last snapshot is on the screen: the next one may be requested."""
        with self._lock:
            self._drawn = True
        self._wake.set()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._step()
                self._wait()
        except Exception as error:
            _log.exception("the viewer's feed has ended")
            with self._lock:
                last = self._slot
            self._put(
                replace(
                    last,
                    fault=f"the viewer's feed has ended ({type(error).__name__}: {error}); "
                    "close the window, start it again, and report this with the text in the terminal",
                )
            )

    def _step(self) -> None:
        self._began = time.monotonic()
        with self._lock:
            want_frame = self._wanted and self._drawn
            following, self._next = self._next, None
            part = None if self._part_told and following is None else self._part
            self._part_told = True
        if following is not None:
            self._follower = None if following[0] is None else Follower(following[0])
        follower = self._follower
        if follower is None:
            return
        if part is not None:
            follower.ask_for(part)
        if follower.step(wait=LONG_POLL, want_frame=want_frame):
            self._put(follower.snapshot)

    def _wait(self) -> None:
        """Wait until the next step is due: after one period, or once the frame under way has been drawn."""
        while not self._stopping.is_set():
            self._wake.clear()
            with self._lock:
                period = 1 / self._rate
                drawing = self._wanted and not self._drawn
                if self._next is not None:
                    return
            retry = LONG_POLL if self._follower is None else self._follower.retry
            due = self._began + max(period, retry) + (PATIENCE if drawing else 0.0)
            left = due - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(left)

    def _put(self, snapshot: Snapshot) -> None:
        with self._lock:
            if self._next is not None:
                return  # of a source that is no longer followed
            if snapshot.frame is not self._slot.frame:
                self._drawn = False
            self._slot = snapshot
            announce, self._taken = self._taken, False
        if announce and not self._stopping.is_set():
            self.fresh.emit()


def _nothing_of(source: Source | None) -> Snapshot:
    return Snapshot() if source is None else Snapshot(url=source.address, is_file=source.is_file)
