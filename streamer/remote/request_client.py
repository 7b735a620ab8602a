"""Requests to a ROUTER socket, and their answers: blocking, for any thread.

The clients of a streamer and of a light streamer are made of it.
"""

from __future__ import annotations

import itertools
import math
import time
from threading import Condition, Event
from typing import TypeVar

import msgspec
import zmq

from penstock.stins.addresses import is_ipv6
from penstock.streamer.remote import protocol

T = TypeVar("T")

TICK_MS = 50


class StreamerUnavailable(Exception):
    """No answer in time: the streamer is not running, not reachable, or stuck."""


class StreamerRefused(Exception):
    """The streamer refused the request; `kind` is for programs, `message` for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class RequestClient:
    """Requests to one streamer. Each call has a socket of its own, so that calls can overtake each other.

    Args:
        control: the streamer's control endpoint.
        timeout: seconds that each call waits for its answer.
        server: what answers there, for sentences.
        unavailable, refused: what is raised.
    """

    def __init__(
        self,
        control: str,
        timeout: float,
        server: str = "streamer",
        unavailable: type[StreamerUnavailable] = StreamerUnavailable,
        refused: type[StreamerRefused] = StreamerRefused,
    ) -> None:
        self.control = control
        self.closed = Event()
        self._timeout = timeout
        self._server = server
        self._unavailable, self._refused = unavailable, refused
        self._context = zmq.Context()
        self._idle: list[zmq.Socket[bytes]] = []
        self._lock = Condition()
        self._asking = 0
        self._ids = itertools.count(1)

    def next_id(self) -> int:
        """Return the id of another request."""
        return next(self._ids)

    def ask(self, request: protocol.Request, kind: type[T], patience: float = 0.0) -> T:
        """Send a request; return its answer.

        Args:
            patience: seconds to wait if the answer may take longer than `timeout`.

        Raises:
            StreamerUnavailable, StreamerRefused: or what the constructor was given for them.
        """
        socket = self._take_socket()
        reusable = False
        try:
            socket.send(msgspec.json.encode(request), zmq.NOBLOCK)
            answer = self._await(socket, request, max(patience, self._timeout))
            reusable = True
        except zmq.Again:
            raise self._unavailable(self._silent(request, self._timeout)) from None
        finally:
            self._give_socket(socket, reusable=reusable)
        if answer.refused is not None:
            raise self._refused(answer.refused.kind, answer.refused.message)
        try:
            return msgspec.json.decode(answer.ok, type=kind)
        except msgspec.DecodeError as error:
            raise self._unavailable(
                f"the {self._server} at {self.control} sent an answer unknown to this version: {error}"
            ) from error

    def _await(self, socket: zmq.Socket[bytes], request: protocol.Request, limit: float) -> protocol.Answer:
        deadline = time.monotonic() + limit
        while True:
            left = max(0.0, deadline - time.monotonic())
            if not socket.poll(min(TICK_MS, math.ceil(left * 1000))):
                self.refuse_when_closed()
                if left:
                    continue
                raise self._unavailable(self._silent(request, limit))
            try:
                answer = msgspec.json.decode(socket.recv(), type=protocol.Answer)
            except msgspec.DecodeError as error:
                raise self._unavailable(
                    f"the server at {self.control} is not a {self._server}: {error}"
                ) from error
            if answer.id == request.id:
                return answer

    def _silent(self, request: protocol.Request, limit: float) -> str:
        return (
            f"the {self._server} at {self.control} did not answer {type(request).__name__.lower()} "
            f"in {limit:g} s: its process is not running, or hangs, or waits for the detector"
        )

    def _take_socket(self) -> zmq.Socket[bytes]:
        with self._lock:
            self.refuse_when_closed()
            socket = self._idle.pop() if self._idle else self.connect()
            self._asking += 1
            return socket

    def refuse_when_closed(self) -> None:
        """Raise StreamerUnavailable if `close` was called."""
        if self.closed.is_set():
            raise self._unavailable(f"the client of {self.control} is closed")

    def _give_socket(self, socket: zmq.Socket[bytes], *, reusable: bool) -> None:
        with self._lock:
            # A socket whose answer may still arrive is not used for another request.
            if reusable:
                self._idle.append(socket)
            else:
                socket.close(0)
            self._asking -= 1
            self._lock.notify_all()

    def connect(self) -> zmq.Socket[bytes]:
        """Return a socket that is connected to the streamer; the caller closes it."""
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.IPV6, is_ipv6(self.control))
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        socket.connect(self.control)
        return socket

    def close(self) -> None:
        """End the calls under way, and refuse others."""
        with self._lock:
            self.closed.set()
            self._lock.wait_for(lambda: not self._asking, timeout=1.0)

    def destroy(self) -> None:
        """Close all sockets; called after `close`."""
        with self._lock:
            for socket in self._idle:
                socket.close(0)
            self._idle.clear()
        self._context.destroy(0)
