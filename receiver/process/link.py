"""The link between the HTTP process and its data process: their messages, and the data process' end.

One socket pair, one JSON message per datagram: the parent sends a `Setup`, then `Command`s; the data process
sends a `Snapshot` whenever something has changed. The parent's end is `supervisor.Supervisor`.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.live.request import FrameAnswer, Request
from penstock.receiver.models import PastSeries, Status
from penstock.receiver.process.stage_times import Measures
from penstock.service.datagrams import Datagrams
from penstock.stins.user_part import UserPart

if TYPE_CHECKING:
    from penstock.receiver.process.pipeline import Pipeline

HEARTBEAT = 0.5
"""Longest time in seconds between two snapshots, so that the parent notices a hanging process."""
ENDED_AT_ONCE = 5
"""Most ended series in one snapshot."""
GONE = "the receiver's HTTP process is gone"


class Setup(msgspec.Struct, frozen=True):
    """First message of the parent."""

    name: str
    config: ReceiverConfig
    """Configuration with the regions of interest that are in use."""
    ending: bool = False
    """True if it begins without taking series; see "drain"."""


class Command(msgspec.Struct, frozen=True):
    """A command of the parent."""

    number: int
    """Number of the command; a snapshot has the number of the last one carried out."""
    action: str
    """"stop", "reset", "rois", "expect", "forget", "tell" (what has happened so far), "drain" (take no new
    series, or some again), "quit", "leave" (the parent is gone, or ends and leaves its series to the next
    start), or "request" with its own answer."""
    reason: str = ""
    series: str = ""
    """Id of the series that "stop" leaves to its end message, "" to end the running series now; or of the one
    that "forget" is about."""
    failed: bool = False
    """True if the series has failed, or was aborted, for "stop"."""
    request: Request = Request()
    """What is requested, for "request"."""
    rois: dict[str, Rectangle] = {}
    """Regions of interest of the next series."""
    expected: UserPart | None = None
    """File and plan of the series, for "expect"."""
    seconds: float = 0.0
    """Seconds for which the series is expected, for "expect"; 0 for ever."""
    on: bool = True
    """True if no new series is to be taken, for "drain"."""


class Snapshot(msgspec.Struct, frozen=True):
    """The state of the data process, as sent to the parent."""

    status: Status
    handled: int
    """Number of the last command carried out."""
    answer: FrameAnswer = FrameAnswer(0)
    """Answer to the latest request for a frame or a fact."""
    measures: Measures = Measures()
    ended: tuple[PastSeries, ...] = ()
    """Series that have ended since the last snapshot."""
    more: bool = False
    """True if more have ended, which the next snapshots tell; the status is then ahead of what was told."""


class Link:
    """The data process' end of the link.

    Args:
        channel: socket of this end.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._datagrams = Datagrams(channel)
        self._told: bytes = b""
        self._told_at = 0.0
        self._version = 0
        self.handled = 0
        """Number of the last command carried out; set by the process that does so."""
        self.fileno = self._datagrams.fileno
        """Descriptor to watch: readable when there is a command."""

    def setup(self) -> Setup:
        """Wait for name and configuration, and return them."""
        return self._datagrams.wait(Setup)

    def commands(self) -> list[Command]:
        """Return the commands received meanwhile; "leave" once the parent is gone."""
        commands: list[Command] = []
        try:
            while (command := self._datagrams.receive(Command)) is not None:
                commands.append(command)
        except EOFError:
            commands.append(Command(self.handled, "leave", GONE))
        return commands

    def send(self, pipeline: Pipeline, now: float, *, fresh: bool = False) -> bool:
        """Send a snapshot if something has changed or the last one is old; return whether it was sent.

        Args:
            pipeline: pipeline to take the snapshot of.
            now: monotonic seconds.
            fresh: send it in any case.
        """
        status = pipeline.status(0)
        content = msgspec.json.encode(replace(status, cpu_seconds=0.0))
        ended = tuple(islice(pipeline.ended, ENDED_AT_ONCE))
        if not (fresh or ended) and content == self._told and now - self._told_at < HEARTBEAT:
            return False
        if content != self._told:
            self._version += 1
        told = replace(status, version=self._version)
        more = len(pipeline.ended) > len(ended)
        snapshot = Snapshot(told, self.handled, pipeline.answer, pipeline.measures(), ended, more)
        try:
            self._datagrams.send(snapshot, cut=True)
        except BlockingIOError:
            return False  # the parent is slow: it gets the next snapshot
        except ConnectionError:
            return False  # `commands` notices
        for _ in ended:
            pipeline.ended.popleft()
        self._told, self._told_at = content, now
        return True
