"""The link between the HTTP process and the distributor: their messages, and the distributor's end.

One socket pair (SOCK_SEQPACKET), one JSON message per datagram, as between the two processes of a receiver:
the parent sends a `Setup`, then `Command`s; the distributor sends a `Snapshot` when something has changed,
and every `HEARTBEAT` seconds.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import msgspec

from penstock.processing.channels.recording import Places
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.models import Changed, Parameters, Series, Status
from penstock.processing.wire import Step
from penstock.service.datagrams import Datagrams

HEARTBEAT = 0.5
"""Longest time in seconds between two snapshots, so that the parent notices a hanging process."""
LEAST = 0.2
"""Shortest time in seconds between two, unless a command was carried out: counts change with every bunch."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """First message of the parent."""

    config: PipelineConfig
    steps: tuple[Step, ...]
    """Steps of the pipeline with the source texts, which the parent has read."""
    since: float
    """Start of the parent, in seconds since 1970: series that have ended since, and the last one before, are
    taken from their files if nobody has yet."""
    file: str = ""
    """Frames are those of this file, and not a receiver's."""
    recording: Places | None = None
    """Places of the values of channels; `None` if there are none."""
    parameters: Parameters | None = None
    """Parameters in use when an earlier distributor died; `None`: those of the configuration."""
    ending: bool = False
    """True if it begins without taking series; see "drain"."""
    over: bytes = b""
    """Marks of the series that earlier distributors have brought to their end: they stay closed."""
    shown: tuple[Series, ...] = ()
    """What is said of the last of these, the one that began last first."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the parent."""

    number: int
    """Number of the command, from 1; a snapshot has the number of the last one carried out."""
    action: str
    """"parameters", "stop" (series), "drain" (take no new series, or some again), "reset" (leave Error), or
    "quit"."""
    parameters: dict[str, Any] = {}
    """Parameters that change, for "parameters"."""
    series: str = ""
    """Id of the series, for "stop"; "" for all that are not over."""
    reason: str = ""
    """Reason in words, for "stop"."""
    on: bool = True
    """True if no new series is to be taken, for "drain"."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the distributor, as sent to the parent."""

    status: Status
    handled: int
    """Number of the last command that was carried out, or refused."""
    changed: Changed | None = None
    """What became of the last change of parameters."""
    finished: bool = False
    """True if all of a pipeline on a file is done, and the distributor ends."""
    hanging: tuple[int, ...] = ()
    """Process ids of the last workers on this machine that were given up: they do not end by themselves."""
    over: bytes = b""
    """Marks of series that have come to their end since the snapshot before."""


class Link:
    """The distributor's end.

    Args:
        channel: socket of this end.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._datagrams = Datagrams(channel)
        self._told = b""
        self._told_at = 0.0
        self._told_handled = 0
        self._version = 0
        self.handled = 0
        self.changed: Changed | None = None
        self.fileno = self._datagrams.fileno
        """Descriptor to watch: readable when there is a command."""

    def setup(self) -> Setup:
        """Wait for the first message, and return it."""
        return self._datagrams.wait(Setup)

    def commands(self) -> list[Command]:
        """Return the commands received meanwhile; "quit" once the parent is gone."""
        commands: list[Command] = []
        try:
            while (command := self._datagrams.receive(Command)) is not None:
                commands.append(command)
        except EOFError:
            commands.append(Command(number=self.handled, action="quit"))
        return commands

    def due(self, now: float) -> bool:
        """Return whether so much time has passed that a snapshot may be sent."""
        return now - self._told_at >= LEAST or self.handled != self._told_handled

    def send(
        self,
        status: Status,
        now: float,
        *,
        finished: bool = False,
        hanging: tuple[int, ...] = (),
        over: bytes = b"",
    ) -> bool:
        """Send a snapshot if something has changed or the last one is old; return whether it was sent.

        Args:
            status: without a version.
            now: monotonic seconds.
            finished: see `Snapshot`.
            hanging: see `Snapshot`.
            over: see `Snapshot`.
        """
        content = msgspec.json.encode((status, self.handled, self.changed, finished, hanging))
        if content == self._told and not over and now - self._told_at < HEARTBEAT:
            return False
        if content != self._told:
            self._version += 1
        told = replace(status, version=self._version)
        snapshot = Snapshot(
            status=told, handled=self.handled, changed=self.changed, finished=finished, hanging=hanging,
            over=over,
        )  # fmt: skip
        try:
            self._datagrams.send(snapshot, cut=True, wait=finished)
        except BlockingIOError:
            return False  # the parent is slow: it gets the next snapshot
        except ConnectionError:
            return False  # `commands` notices
        self._told, self._told_at, self._told_handled = content, now, self.handled
        return True
