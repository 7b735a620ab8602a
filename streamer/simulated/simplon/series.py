"""One armed series: it takes triggers and sends frames, each at its time."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from threading import Condition, Event, Thread
from typing import Protocol
from uuid import uuid4

from penstock.streamer.simulated.simplon import stream_v1, stream_v2
from penstock.streamer.simulated.simplon.pixels import Picture, Pictures
from penstock.streamer.simulated.simplon.settings import Settings
from penstock.streamer.simulated.triggers import TOLERANCE, Edge

SOFTWARE = ("ints", "inte")
"""Trigger modes in which a command triggers."""
GATED = ("inte", "exte", "extg", "eies")
"""Trigger modes in which the exposure is not count_time."""


class MessageStream(Protocol):
    """The stream of a control unit."""

    def send(self, parts: Sequence[bytes]) -> None: ...


class Series:
    """A series from arm to the end message; `ended` is called once, from the thread of the series."""

    def __init__(
        self, number: int, settings: Settings, pictures: Pictures, stream: MessageStream,
        monitor: Callable[[int, int, Picture], None], ended: Callable[[], None], *, stays_armed: bool = False,
    ) -> None:  # fmt: skip
        self.number, self.unique = number, uuid4().hex.upper()[:26]
        self._settings, self._pictures, self._stream = settings, pictures, stream
        self._monitor, self._ended, self._stays_armed = monitor, ended, stays_armed
        self._mode = settings["trigger_mode"]
        gated = self._mode in GATED
        self._per_trigger = 1 if gated else settings["nimages"]
        self._triggers = settings.frames if gated else settings["ntrigger"]
        self._gates = settings["nexpi"] if self._mode == "extg" else 1
        self._count, self._period = settings["count_time"], settings["frame_time"]
        self._cbor = settings.api == "1.8.0" and settings.get("stream", "config", "format") == "cbor"
        self._readout = settings["detector_readout_time"]
        self._trigger_queue: queue.SimpleQueue[tuple[float, float | None] | None] = queue.SimpleQueue()
        """Length of each trigger in seconds, and its time if it is an edge; `None` ends the series."""
        self._busy = False
        self._free_at, self._delay = -math.inf, math.inf
        self._opened: float | None = None
        """Time of the edge that began the image of mode eies; edges to skip until the one that ends it."""
        self._between = 0
        self._done = Condition()
        self._taken = 0
        """Number of triggers whose frames have been sent."""
        self._closed = False
        """True once the end message has been sent."""
        self._stop, self._abort, self._silent = Event(), Event(), False
        self._armed_at = datetime.now(UTC)
        self.frames = 0
        self._first: tuple[float, datetime] | None = None
        """Begin of the first image: by the clock of all others, and its date."""
        self._thread = Thread(target=self._run, name=f"series {number}", daemon=True)

    def start(self) -> None:
        """Send the start message, and begin to take triggers."""
        self._stream.send(
            stream_v2.start(self._settings, self.number, self.unique, self._armed_at) if self._cbor
            else stream_v1.start(self._settings, self.number)
        )  # fmt: skip
        self._thread.start()

    def trigger(self, seconds: float | None = None) -> bool:
        """Trigger by command, for `seconds` if the mode needs a length; return once the frames are sent.

        Returns:
            Whether the trigger was accepted: not while frames are being exposed.
        """
        with self._done:
            if self._busy or self.over:
                return False
            self._busy, before = True, self._taken
            self._settings.state = "acquire"
        self._trigger_queue.put((self._count if seconds is None else seconds, None))
        with self._done:
            self._done.wait_for(lambda: self._taken > before or self._closed)
        return True

    def edge(self, edge: Edge) -> bool:
        """Take an edge at the trigger input; return whether it was accepted.

        Whether the detector was still busy is decided by the time of the edge, not by when a loaded computer
        handled it.
        """
        with self._done:
            if self.over or edge.moment < self._free_at - TOLERANCE:
                return False
            if self._mode == "eies":
                return self._interval(edge.moment)
            gated = self._mode in ("exte", "extg")
            length = edge.gate if gated else (self._per_trigger - 1) * self._period + self._count
            self._free_at = edge.moment + length + self._readout
            self._settings.state = "acquire"
        self._trigger_queue.put((edge.gate, edge.moment))
        return True

    def _interval(self, moment: float) -> bool:
        """Take an edge of mode eies: it ends an image and begins the next one, without a gap."""
        self._free_at = moment + self._readout
        self._settings.state = "acquire"
        if self._opened is None:
            self._opened, self._between = moment, self._settings["ntriggers_skipped"]
        elif self._between:
            self._between -= 1
        else:
            self._trigger_queue.put((moment - self._opened, moment))
            self._opened, self._between = moment, self._settings["ntriggers_skipped"]
        return True

    @property
    def over(self) -> bool:
        """True once no more triggers are taken."""
        return self._stop.is_set()

    def finish(self, *, at_once: bool, silently: bool = False) -> None:
        """End after the running frame, or at once, and wait for the end; `silently`: no end message."""
        self._silent = silently
        if at_once:
            self._abort.set()
        self._stop.set()
        self._trigger_queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        gates, summed = 0, 0.0
        last = self._triggers * self._gates - 1
        for number in range(last + 1):
            trigger = self._trigger_queue.get()
            if trigger is None or self._stop.is_set():
                break
            seconds, moment = trigger
            gates, summed = gates + 1, summed + seconds
            if gates == self._gates:
                self._expose(summed, self._begin(moment))
                gates, summed = 0, 0.0
            if self._stop.is_set() or number == last:
                break  # `trigger` returns once the box is idle
            with self._done:
                self._busy = False
                self._taken += 1
                if self._mode in SOFTWARE:
                    self._settings.state = "ready"
                self._done.notify_all()
        if self._stays_armed and not self._stop.is_set():
            self._rest()
        self._stop.set()
        if not self._silent:
            self._stream.send(
                stream_v2.end(self.number, self.unique) if self._cbor else stream_v1.end(self.number)
            )
        self._ended()
        with self._done:
            self._closed = True
            self._done.notify_all()

    def _rest(self) -> None:
        """Stay armed after the last frame, without taking triggers, until the box is disarmed."""
        with self._done:
            self._taken += 1  # the frames of the last trigger have been sent
            self._free_at = math.inf
            self._settings.state = "ready"
            self._done.notify_all()
        while not self._stop.is_set():
            self._trigger_queue.get()

    def _begin(self, moment: float | None) -> float:
        """Return the time at which the exposure begins on our clock; the intervals between edges are kept."""
        now = time.monotonic()
        if moment is None:
            return now
        self._delay = min(self._delay, now - moment)
        return moment + self._delay

    def _expose(self, count: float, first: float) -> None:
        if self._mode not in GATED:
            count = self._count
        elif self._mode == "eies":  # the edge is that of its end
            first -= count
        for number in range(self._per_trigger):
            due = first + number * self._period + count
            while (left := due - time.monotonic()) > 0 and not self._abort.wait(left):
                pass
            if self._abort.is_set():
                return
            self._frame(due - count, int(count * 1e9))
            if self._stop.is_set():
                return

    def _frame(self, moment: float, length: int) -> None:
        if self._first is None:
            self._first = moment, datetime.now(UTC) - timedelta(seconds=time.monotonic() - moment)
        # Since the first image: SIMPLON API 1.8, p. 46, and the recording of an EIGER 1M.
        begun = int((moment - self._first[0]) * 1e9)
        picture, times = self._pictures[self.frames], (begun, begun + length, length)
        if self._cbor:
            parts = stream_v2.image(
                self._settings, self.number, self.unique, self._first[1], self.frames, picture, times
            )
        else:
            parts = stream_v1.image(self._settings, self.number, self.frames, picture, times)
        self._stream.send(parts)
        self._monitor(self.number, self.frames, picture)
        self.frames += 1
