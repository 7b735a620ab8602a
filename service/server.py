"""The server of the HTTP API, which runs until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.service.listener import Listener, said

REQUEST_SECONDS = 10.0
"""Seconds, at most twice, in which a request has to be complete: idle connections cost memory."""
GRACE_SECONDS = 2
"""Seconds for waiting requests (long polls) when the service ends."""


class _Impatient(H11Protocol):
    """A connection that is closed if its request stays incomplete; waiting for an answer is allowed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watched: object = None
        self.loop.call_later(REQUEST_SECONDS, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        # The count is unchanged: no request was completed meanwhile.
        unfinished = (self.cycle,) if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) else None
        if unfinished is not None and unfinished == self._watched:
            self.transport.close()
            return
        self._watched = unfinished
        self.loop.call_later(REQUEST_SECONDS, self._look)


class Server(uvicorn.Server):
    """A server that a signal ends well."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(said)
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises the signal again after the shutdown; a service that was asked to end has
        # succeeded, so it exits with 0. Its second Ctrl-C would leave the file open.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.end)
        yield

    def end(self) -> None:
        """Let the service end."""
        self.should_exit = True
        self._ending()


def serve(
    app: Any, listener: socket.socket, ready: Callable[[], None], ending: Callable[[], None] = lambda: None
) -> int:
    """Run an API until SIGINT or SIGTERM; returns its exit status.

    Args:
        app: the API, an ASGI application.
        listener: a socket that is bound and listening; taken over.
        ready: called once requests are answered.
        ending: called when it is about to end, to answer requests that wait for news.
    """
    server = make(app, ready, ending)
    asyncio.run(server.serve(sockets=[Listener(listener)]))
    return 0 if server.started else 1


def make(app: Any, ready: Callable[[], None], ending: Callable[[], None] = lambda: None) -> Server:
    """Return the server of an API, not yet started."""
    settings = uvicorn.Config(
        app, http=_Impatient, log_level="warning", access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS, log_config=None,
    )  # fmt: skip
    return Server(settings, ready, ending)
