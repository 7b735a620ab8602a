"""The streamer's remote interface: a ROUTER socket that answers typed JSON requests.

One loop serves all clients and never waits for the camera or for a receiver: slow work is done by the
engine's own threads, and its answer is sent when it is ready. A client that sends nonsense gets a named
refusal, and other clients are not affected.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import msgspec
import zmq

from penstock.stins.addresses import is_ipv6
from penstock.streamer.camera.driver import Driver, Refused
from penstock.streamer.remote import protocol

log = logging.getLogger(__name__)

MAX_SUBSCRIBERS = 64
LEAST_PUBLISH_INTERVAL = 0.02
"""Shortest time between two snapshots, in seconds."""
REQUESTS_AT_ONCE = 100
"""Requests that are answered before snapshots, the parent and the end are served."""
MAX_UNANSWERED = 256
"""Most slow requests under way; further ones are refused."""


class RemoteServer:
    """The server of one engine; `serve` is the process' main loop.

    `wake` may be called from any thread and from a signal handler; the engine's `changed` calls it too.
    """

    def __init__(self, endpoint: str) -> None:
        """Bind `endpoint`.

        Raises:
            OSError: the address is in use or not one of this machine.
        """
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 200)
        self._socket.setsockopt(zmq.IPV6, is_ipv6(endpoint))
        self._socket.setsockopt(zmq.MAXMSGSIZE, protocol.MAX_REQUEST_BYTES)
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise OSError(
                error.errno, f"cannot bind the control socket to {endpoint}: {error.strerror}"
            ) from error
        self.endpoint: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._decoder: msgspec.json.Decoder[protocol.AnyRequest] = msgspec.json.Decoder(protocol.AnyRequest)
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._outbox: deque[tuple[bytes, int, Future[Any]]] = deque()
        self._unanswered = 0
        self._subscribers: dict[bytes, float] = {}
        self._dirty = False
        self._published = 0.0
        self._ending = False
        self._handlers: Mapping[type, Callable[[Driver, Any], Any]] = {
            protocol.Describe: lambda engine, _: engine.describe(),
            protocol.Set: lambda engine, request: engine.set(request.values),
            protocol.Check: lambda engine, request: engine.check(request.settings),
            protocol.Prepare: lambda engine, request: engine.prepare(request.settings),
            protocol.Announce: lambda engine, _: engine.announce(),
            protocol.Start: lambda engine, _: engine.start(),
            protocol.Trigger: lambda engine, _: engine.trigger(),
            protocol.Stop: lambda engine, request: engine.stop(request.cause),
            protocol.Abort: lambda engine, request: engine.abort(request.cause),
            protocol.Cancel: lambda engine, _: engine.cancel(),
            protocol.Reset: lambda engine, _: engine.reset(),
            protocol.Status: lambda engine, _: engine.status(),
            protocol.ListFeatures: lambda engine, _: engine.with_features(lambda unit: unit.list_features()),
            protocol.GetFeature: lambda engine, request: engine.with_features(
                lambda unit: unit.get_feature(request.name)
            ),
            protocol.SetFeature: lambda engine, request: engine.with_features(
                lambda unit: unit.set_feature(request.name, request.value), changes=True
            ),
            protocol.Shutdown: lambda engine, _: self.stop(),
        }

    def changed(self) -> None:
        """Send a snapshot soon: the engine's status has changed."""
        if not self._dirty:
            self._dirty = True
            self.wake()

    def stop(self) -> None:
        """Make `serve` return."""
        self._ending = True
        self.wake()

    def wake(self) -> None:
        """Wake the loop; without effect once the server is closed."""
        if self._wake < 0:
            return
        with suppress(BlockingIOError):  # the pipe is full of wake-ups already
            os.write(self._wake, b"\0")

    def serve(self, engine: Driver, lifeline: int | None = None) -> None:
        """Answer until `stop`, a shutdown request, or the end of file on `lifeline`."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._woken, zmq.POLLIN)
        if lifeline is not None:
            poller.register(lifeline, zmq.POLLIN)
        while not self._ending:
            ready = dict(poller.poll(int(self._next_publish() * 1000) + 1))
            if self._woken in ready:
                os.read(self._woken, 65536)
            if lifeline is not None and lifeline in ready and not os.read(lifeline, 4096):
                log.info("the process that started this one has closed its pipe or has ended; ending")
                break
            for _ in range(REQUESTS_AT_ONCE):
                if not self._receive(engine):
                    break
            self._answer_finished()
            self._publish(engine)

    def close(self, engine: Driver | None = None) -> None:
        """Send a last snapshot to the subscribers and close the socket."""
        if engine is not None:
            self._dirty = True
            self._published = 0.0
            self._answer_finished()
            self._publish(engine)
        self._context.destroy()
        os.close(self._woken)
        # A signal may still call `wake`, and the file descriptor may soon belong to another file.
        wake, self._wake = self._wake, -1
        os.close(wake)

    # Requests ---------------------------------------------------------------------------------

    def _receive(self, engine: Driver) -> bool:
        try:
            identity, *parts = self._socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return False
        try:
            request = self._parse(parts)
        except Refused as refused:
            self._refuse(identity, _id_of(parts), refused)
            return True
        try:
            self._handle(engine, identity, request)
        except Refused as refused:
            self._refuse(identity, request.id, refused)
        except Exception as error:  # an internal error: this caller is told, and the next one is served
            log.exception("request %s failed", type(request).__name__)
            self._refuse(
                identity, request.id, Refused("internal", f"streamer: {type(error).__name__}: {error}")
            )
        return True

    def _parse(self, parts: list[bytes]) -> protocol.AnyRequest:
        if len(parts) != 1:
            raise Refused("bad_request", f"a request has one part, this has {len(parts)}")
        try:
            return self._decoder.decode(parts[0])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused("bad_request", f"not a request of this streamer: {error}") from None

    def _handle(self, engine: Driver, identity: bytes, request: protocol.AnyRequest) -> None:
        if isinstance(request, protocol.Subscribe):
            if identity not in self._subscribers and len(self._subscribers) >= MAX_SUBSCRIBERS:
                raise Refused("too_many", f"{MAX_SUBSCRIBERS} clients subscribe already")
            self._subscribers[identity] = time.monotonic() + protocol.LEASE
            self._answer(identity, request.id, engine.status())
        elif isinstance(request, protocol.Unsubscribe):
            self._subscribers.pop(identity, None)
            self._answer(identity, request.id, None)
        else:
            if self._unanswered >= MAX_UNANSWERED:
                raise Refused("too_many", f"{MAX_UNANSWERED} requests wait for an answer already")
            result = self._handlers[type(request)](engine, request)
            if isinstance(result, Future):
                self._answer_later(identity, request.id, result)
            else:
                self._answer(identity, request.id, result)

    def _answer_later(self, identity: bytes, ident: int, future: Future[Any]) -> None:
        self._unanswered += 1

        def done(finished: Future[Any]) -> None:
            self._outbox.append((identity, ident, finished))
            self.wake()

        future.add_done_callback(done)

    def _answer_finished(self) -> None:
        while self._outbox:
            identity, ident, future = self._outbox.popleft()
            self._unanswered -= 1
            error = future.exception()
            if error is None:
                self._answer(identity, ident, future.result())
            elif isinstance(error, Refused):
                self._refuse(identity, ident, error)
            else:
                self._refuse(
                    identity, ident, Refused("internal", f"streamer: {type(error).__name__}: {error}")
                )

    def _answer(self, identity: bytes, ident: int, result: Any) -> None:
        self._send(identity, protocol.Answer(id=ident, ok=msgspec.Raw(msgspec.json.encode(result))))

    def _refuse(self, identity: bytes, ident: int, refused: Refused) -> None:
        self._send(
            identity, protocol.Answer(id=ident, refused=protocol.Refusal(refused.kind, refused.message))
        )

    def _send(self, identity: bytes, answer: protocol.Answer) -> None:
        # A ROUTER drops messages that its peer does not receive, and never waits.
        self._socket.send_multipart([identity, msgspec.json.encode(answer)], zmq.NOBLOCK)

    # Snapshots --------------------------------------------------------------------------------

    def _next_publish(self) -> float:
        wait = LEAST_PUBLISH_INTERVAL if self._dirty else protocol.PUBLISH_EVERY
        return max(0.0, self._published + wait - time.monotonic())

    def _publish(self, engine: Driver) -> None:
        if self._next_publish() > 0:
            return
        # Cleared before the snapshot is made, so that a change meanwhile is not lost.
        self._dirty = False
        self._published = time.monotonic()
        self._subscribers = {
            who: until for who, until in self._subscribers.items() if until > self._published
        }
        if self._subscribers:
            ok = msgspec.Raw(msgspec.json.encode(engine.status()))
            for identity in self._subscribers:
                self._send(identity, protocol.Answer(id=0, ok=ok))


class _OnlyId(msgspec.Struct):
    id: protocol.Ident = 0


def _id_of(parts: list[bytes]) -> int:
    """Return the id of a request that cannot be parsed, so that its sender can match the refusal."""

    try:
        return msgspec.json.decode(parts[0], type=_OnlyId).id if parts else 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0
