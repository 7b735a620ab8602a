"""Serves the HTTP API on a socket, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from penstock.receiver.api import create_app
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.service import ReceiverService

GRACE_SECONDS = 2
"""Time for requests that wait (long polls) when the receiver ends."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises the signal anew after the shutdown; a receiver that was asked to end has
        # ended well, so it exits with 0.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def serve(name: str, config: ReceiverConfig, listener: socket.socket, ready: Callable[[], None]) -> int:
    """Run a receiver until SIGINT or SIGTERM; returns its exit status.

    Args:
        listener: bound and listening.
        ready: called once requests are answered.
    """
    app = create_app(ReceiverService(name, config))
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_SECONDS, log_config=None
    )
    server = _Server(settings, ready)
    asyncio.run(server.serve(sockets=[listener]))
    return 0 if server.started else 1
