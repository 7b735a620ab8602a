"""The server of a receiver's HTTP API, which runs until a signal ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.http.api import create_app
from penstock.receiver.process.supervisor.supervisor import Supervisor
from penstock.service import server


def serve(name: str, config: ReceiverConfig, listener: socket.socket, ready: Callable[[], None]) -> int:
    """Run a receiver until SIGINT or SIGTERM; returns its exit status.

    Args:
        name: of the receiver.
        config: of the receiver.
        listener: a socket that is bound and listening.
        ready: called once requests are answered, and no other receiver of this name and data root runs.
    """
    supervisor = Supervisor(name, config)
    return server.serve(
        create_app(supervisor), listener, lambda: supervisor.waiting.when_over(ready), supervisor.end_waits
    )


def make(name: str, config: ReceiverConfig, ready: Callable[[], None]) -> uvicorn.Server:
    """Return the server of a receiver, not yet started."""
    supervisor = Supervisor(name, config)
    return server.make(
        create_app(supervisor), lambda: supervisor.waiting.when_over(ready), supervisor.end_waits
    )
