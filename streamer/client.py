"""The client of a streamer's remote interface: blocking, for any thread, with named refusals."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Mapping
from threading import Condition, Event, Thread, current_thread
from typing import TypeVar

import msgspec
import zmq

from penstock.stins.addresses import is_ipv6
from penstock.streamer import protocol
from penstock.streamer.protocol import Checked, Description, Prepared, StreamerStatus
from penstock.streamer.settings import Settings, Value

__all__ = [
    "Checked",
    "Description",
    "Prepared",
    "StreamerClient",
    "StreamerRefused",
    "StreamerStatus",
    "StreamerUnavailable",
]

log = logging.getLogger(__name__)
T = TypeVar("T")

RENEW_EVERY = 1.0
"""Seconds between two renewals of a subscription, and until a restarted streamer is found."""
TICK_MS = 50


class StreamerUnavailable(Exception):
    """No answer in time: the streamer is not running, not reachable, or stuck."""


class StreamerRefused(Exception):
    """The streamer refused the request; `kind` is for programs, `message` for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class StreamerClient:
    """A client of one streamer.

    Every method may be called from several threads at the same time: each call has its own socket, so that an
    Abort can overtake a Start that still waits for its answer.

    Args:
        control: the streamer's control endpoint.
        timeout: seconds that each call waits for its answer.

    Every method raises:
        StreamerUnavailable: no answer in time.
        StreamerRefused: refused, nothing changed.
    """

    def __init__(self, control: str, timeout: float = 2.0) -> None:
        self.control = control
        self._timeout = timeout
        self._context = zmq.Context()
        self._idle: list[zmq.Socket[bytes]] = []
        self._lock = Condition()
        self._asking = 0
        self._ids = itertools.count(1)
        self._closed = Event()
        self._threads: list[Thread] = []

    def describe(self) -> Description:
        """Return the camera's description with its last settings."""
        return self._ask(protocol.Describe(id=self._id()), Description)

    def set(self, values: Mapping[str, Value], patience: float = 0.0) -> Description:
        """Set the camera's own parameters; standard parameters are part of `Settings`.

        Args:
            values: values by parameter name.
            patience: seconds to wait if a detector's own box may need more than `timeout`; likewise below.
        """
        return self._ask(protocol.Set(id=self._id(), values=dict(values)), Description, patience)

    def check(self, settings: Settings) -> Checked:
        """Ask whether `prepare` would succeed, as far as known without the hardware; changes nothing."""
        return self._ask(protocol.Check(id=self._id(), settings=settings), Checked)

    def prepare(self, settings: Settings, patience: float = 0.0) -> Prepared:
        """Check everything and set the hardware up; nothing is sent."""
        return self._ask(protocol.Prepare(id=self._id(), settings=settings), Prepared, patience)

    def announce(self) -> None:
        """Send the start message of the prepared series."""
        self._ask(protocol.Announce(id=self._id()), type(None))

    def start(self, patience: float = 0.0) -> None:
        """Arm the hardware; return when triggers are taken."""
        self._ask(protocol.Start(id=self._id()), type(None), patience)

    def trigger(self) -> None:
        """Give a software trigger; refused if the detector is not waiting for one."""
        self._ask(protocol.Trigger(id=self._id()), type(None))

    def stop(self, cause: str = "") -> None:
        """End the series after the running frame and the queued ones; return at once.

        Args:
            cause: reason for the file.
        """
        self._ask(protocol.Stop(id=self._id(), cause=cause), type(None))

    def abort(self, cause: str = "") -> None:
        """End the series within a second, dropping queued frames; return at once.

        Args:
            cause: reason for the file.
        """
        self._ask(protocol.Abort(id=self._id(), cause=cause), type(None))

    def cancel(self) -> None:
        """Discard a series that has not been started."""
        self._ask(protocol.Cancel(id=self._id()), type(None))

    def reset(self, patience: float = 0.0) -> None:
        """Leave the state fault; a detector's own box is brought to idle."""
        self._ask(protocol.Reset(id=self._id()), type(None), patience)

    def shutdown(self) -> None:
        """End the streamer's process; a running series ends as a fault."""
        self._ask(protocol.Shutdown(id=self._id()), type(None))

    def status(self) -> StreamerStatus:
        """Return a snapshot of the streamer's status."""
        return self._ask(protocol.Status(id=self._id()), StreamerStatus)

    def subscribe(
        self, callback: Callable[[StreamerStatus | None], None], stale_after: float = 2.0
    ) -> Callable[[], None]:
        """Call `callback` with every snapshot, in a thread of the client's own.

        Snapshots arrive on every change (at most 50 per second) and at least twice per second;
        `callback(None)`
        is called once if none has arrived for `stale_after` seconds. Return a function that ends the
        subscription and, if called outside the callback, waits for its end.
        """
        ended = Event()
        thread = Thread(
            target=self._follow, args=(callback, stale_after, ended), name="streamer status", daemon=True
        )
        with self._lock:  # against a `close` in another thread, which waits for running threads
            self._refuse_when_closed()
            thread.start()
            self._threads.append(thread)

        def end() -> None:
            ended.set()
            if thread is not current_thread():
                thread.join()

        return end

    def close(self) -> None:
        """End the subscriptions and the calls under way, and close the sockets."""
        with self._lock:
            self._closed.set()
            self._lock.wait_for(lambda: not self._asking, timeout=1.0)
        for thread in self._threads:
            if thread is not current_thread():
                thread.join()
        with self._lock:
            for socket in self._idle:
                socket.close(0)
            self._idle.clear()
        self._context.destroy(0)

    def _id(self) -> int:
        return next(self._ids)

    def _ask(self, request: protocol.AnyRequest, kind: type[T], patience: float = 0.0) -> T:
        socket = self._take_socket()
        reusable = False
        try:
            socket.send(msgspec.json.encode(request), zmq.NOBLOCK)
            answer = self._await(socket, request, max(patience, self._timeout))
            reusable = True
        except zmq.Again:
            raise StreamerUnavailable(self._silent(request, self._timeout)) from None
        finally:
            self._give_socket(socket, reusable=reusable)
        if answer.refused is not None:
            raise StreamerRefused(answer.refused.kind, answer.refused.message)
        try:
            return msgspec.json.decode(answer.ok, type=kind)
        except msgspec.DecodeError as error:
            raise StreamerUnavailable(
                f"the streamer at {self.control} sent an answer unknown to this version: {error}"
            ) from error

    def _await(
        self, socket: zmq.Socket[bytes], request: protocol.AnyRequest, limit: float
    ) -> protocol.Answer:
        deadline = time.monotonic() + limit
        while True:
            left = max(0.0, deadline - time.monotonic())
            if not socket.poll(min(TICK_MS, math.ceil(left * 1000))):
                self._refuse_when_closed()
                if left:
                    continue
                raise StreamerUnavailable(self._silent(request, limit))
            try:
                answer = msgspec.json.decode(socket.recv(), type=protocol.Answer)
            except msgspec.DecodeError as error:
                raise StreamerUnavailable(
                    f"the server at {self.control} is not a streamer: {error}"
                ) from error
            if answer.id == request.id:
                return answer

    def _silent(self, request: protocol.AnyRequest, limit: float) -> str:
        return (
            f"the streamer at {self.control} did not answer {type(request).__name__.lower()} "
            f"in {limit:g} s; is its process running?"
        )

    def _take_socket(self) -> zmq.Socket[bytes]:
        with self._lock:
            self._refuse_when_closed()
            socket = self._idle.pop() if self._idle else self._connect()
            self._asking += 1
            return socket

    def _refuse_when_closed(self) -> None:
        if self._closed.is_set():
            raise StreamerUnavailable(f"the client of {self.control} is closed")

    def _give_socket(self, socket: zmq.Socket[bytes], *, reusable: bool) -> None:
        with self._lock:
            # A socket whose answer may still arrive is not used for another request.
            if reusable:
                self._idle.append(socket)
            else:
                socket.close(0)
            self._asking -= 1
            self._lock.notify_all()

    def _connect(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.IPV6, is_ipv6(self.control))
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        socket.connect(self.control)
        return socket

    def _follow(
        self, callback: Callable[[StreamerStatus | None], None], stale_after: float, ended: Event
    ) -> None:
        socket = self._connect()
        heard, renewed, stale = time.monotonic(), 0.0, False
        try:
            while not ended.is_set() and not self._closed.is_set():
                now = time.monotonic()
                if now - renewed >= RENEW_EVERY:
                    renewed = now
                    _try_send(socket, protocol.Subscribe(id=0))
                if socket.poll(TICK_MS):
                    part = socket.recv()
                    while socket.poll(0):  # a slow subscriber only gets the latest
                        part = socket.recv()
                    status = _snapshot(part)
                    if status is not None:
                        heard, stale = time.monotonic(), False
                        _call(callback, status)
                elif not stale and now - heard > stale_after:
                    stale = True
                    _call(callback, None)
            _try_send(socket, protocol.Unsubscribe(id=0))
        finally:
            socket.close(100)


def _try_send(socket: zmq.Socket[bytes], request: protocol.AnyRequest) -> None:
    try:
        socket.send(msgspec.json.encode(request), zmq.NOBLOCK)
    except zmq.Again:
        log.debug("streamer takes no request")


def _snapshot(part: bytes) -> StreamerStatus | None:
    try:
        answer = msgspec.json.decode(part, type=protocol.Answer)
        return msgspec.json.decode(answer.ok, type=StreamerStatus | None)
    except msgspec.DecodeError as error:
        log.error("not a snapshot of a streamer: %s", error)
        return None


def _call(callback: Callable[[StreamerStatus | None], None], status: StreamerStatus | None) -> None:
    try:
        callback(status)
    except Exception:  # the subscriber's mistake must not end its own updates
        log.exception("a subscriber of the streamer failed")
