"""The client of a streamer's remote interface: blocking, for any thread, with named refusals."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread, current_thread
from typing import TypeVar

import msgspec
import zmq

from penstock.streamer.camera.driver import Checked, Description, Prepared, StreamerStatus
from penstock.streamer.camera.features import Feature
from penstock.streamer.camera.settings import Settings, Value
from penstock.streamer.remote import protocol
from penstock.streamer.remote.request_client import (
    TICK_MS,
    RequestClient,
    StreamerRefused,
    StreamerUnavailable,
)

__all__ = [
    "Checked",
    "Description",
    "Feature",
    "Prepared",
    "StreamerClient",
    "StreamerRefused",
    "StreamerStatus",
    "StreamerUnavailable",
]

log = logging.getLogger(__name__)
T = TypeVar("T")

LISTING = 10.0
"""Seconds in which a camera has to list its features."""
RENEW_EVERY = 1.0
"""Seconds between two renewals of a subscription, and until a restarted streamer is found."""


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
        self._requests = RequestClient(control, timeout)
        self._lock = Lock()
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

    def list_features(self) -> list[Feature]:
        """Return the features of a camera that has its own; many take a few seconds."""
        return self._ask(protocol.ListFeatures(id=self._id()), list[Feature], LISTING)

    def get_feature(self, name: str) -> Feature:
        """Return one feature."""
        return self._ask(protocol.GetFeature(id=self._id(), name=name), Feature)

    def set_feature(self, name: str, value: Value) -> Feature:
        """Set a feature, between series; return what the camera has made of it."""
        return self._ask(protocol.SetFeature(id=self._id(), name=name, value=value), Feature)

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
            self._requests.refuse_when_closed()
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
            self._requests.close()
        for thread in self._threads:
            if thread is not current_thread():
                thread.join()
        self._requests.destroy()

    def _id(self) -> int:
        return self._requests.next_id()

    def _ask(self, request: protocol.AnyRequest, kind: type[T], patience: float = 0.0) -> T:
        return self._requests.ask(request, kind, patience)

    def _follow(
        self, callback: Callable[[StreamerStatus | None], None], stale_after: float, ended: Event
    ) -> None:
        socket = self._requests.connect()
        heard, renewed, stale = time.monotonic(), 0.0, False
        try:
            while not ended.is_set() and not self._requests.closed.is_set():
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
