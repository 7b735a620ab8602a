"""The link between the HTTP process and its data process: their messages, and the data process' end.

One socket pair, one JSON message per datagram: the parent sends a `Setup`, then `Command`s; the data process
sends a `Snapshot` whenever something has changed. The parent's end is `supervisor.Supervisor`.
"""

from __future__ import annotations

import logging
import socket
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.live.request import FrameAnswer, Request
from penstock.receiver.models import PastSeries, Status
from penstock.receiver.process.stage_times import Measures
from penstock.stins.texts import quoted
from penstock.stins.user_part import UserPart

if TYPE_CHECKING:
    from penstock.receiver.process.pipeline import Pipeline

log = logging.getLogger(__name__)

HEARTBEAT = 0.5
"""Longest time in seconds between two snapshots, so that the parent notices a hanging process."""
LONGEST = 2**17
"""Most bytes of a message: by default, a datagram of Linux holds 208 kB."""
ENDED_AT_ONCE = 5
"""Most ended series in one snapshot."""
MOST_CHARACTERS, MOST_ENTRIES = 200, 50
"""Limits of texts and lists in a snapshot that would be too long; within these it always fits."""
GONE = "the receiver's HTTP process is gone"


class Setup(msgspec.Struct, frozen=True):
    """First message of the parent."""

    name: str
    config: ReceiverConfig
    """With the regions of interest that are in use."""


class Command(msgspec.Struct, frozen=True):
    """A command of the parent."""

    number: int
    """Number of the command; a snapshot has the number of the last one carried out."""
    action: str
    """"stop", "reset", "rois", "expect", "forget", "quit", "leave" (the parent is gone), or "request", which
    has its own answer."""
    reason: str = ""
    series: str = ""
    """Id of the series that "stop" leaves to its end message, "" to end the running series now; or of the one
    that "forget" is about."""
    failed: bool = False
    """For "stop": the series has failed, or was aborted."""
    request: Request = Request()
    """What is requested, for "request"."""
    rois: dict[str, Rectangle] = {}
    """Regions of interest of the next series."""
    expected: UserPart | None = None
    """For "expect": file and plan of the series."""
    seconds: float = 0.0
    """For "expect": for how long; 0 for ever."""


class Snapshot(msgspec.Struct, frozen=True):
    """The state of the data process, as sent to the parent."""

    status: Status
    handled: int
    """Number of the last command carried out."""
    answer: FrameAnswer = FrameAnswer(0)
    """Answer to the latest request for a frame or a fact."""
    measures: Measures = Measures()
    ended: tuple[PastSeries, ...] = ()
    """Series that have ended since the last snapshot; if there are many, the rest follows with the next."""


class Link:
    """The data process' end of the link.

    Args:
        channel: socket of this end.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._socket = channel
        self._told: bytes = b""
        self._told_at = 0.0
        self._version = 0
        # The kernel counts its own overhead as well, at most half of a datagram.
        self._longest = min(LONGEST, channel.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2)
        self._cut_logged = False
        self.handled = 0
        """Number of the last command carried out; set by the process that does so."""
        self.fileno = channel.fileno()
        """Descriptor to watch: readable when there is a command."""

    def setup(self) -> Setup:
        """Wait for name and configuration, and return them."""
        return msgspec.json.decode(self._socket.recv(2**20), type=Setup)

    def commands(self) -> list[Command]:
        """Return the commands received meanwhile; "leave" once the parent is gone."""
        commands: list[Command] = []
        while True:
            try:
                message = self._socket.recv(LONGEST, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return commands
            except ConnectionError:
                message = b""
            if not message:
                return [*commands, Command(self.handled, "leave", GONE)]
            commands.append(msgspec.json.decode(message, type=Command))

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
        snapshot = Snapshot(told, self.handled, pipeline.answer, pipeline.measures(), ended)
        try:
            self._socket.send(self._encoded(snapshot), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False  # the parent is slow: it gets the next snapshot
        except ConnectionError:
            return False  # `commands` notices
        for _ in ended:
            pipeline.ended.popleft()
        self._told, self._told_at = content, now
        return True

    def _encoded(self, snapshot: Snapshot) -> bytes:
        """Return a snapshot as one datagram; if it is too long, its texts and lists are cut."""
        message = msgspec.json.encode(snapshot)
        if len(message) <= self._longest:
            return message
        if not self._cut_logged:
            self._cut_logged = True
            log.warning(
                "a snapshot of %d bytes was cut to texts of %d characters and lists of %d entries",
                len(message), MOST_CHARACTERS, MOST_ENTRIES,
            )  # fmt: skip
        return msgspec.json.encode(_cut(snapshot))


def _cut(value: Any) -> Any:
    """Return a value as built-in types, its texts and lists cut to the limits."""
    match value:
        case str():
            return quoted(value, MOST_CHARACTERS)
        case list() | tuple():
            return [_cut(item) for item in value[:MOST_ENTRIES]]
        case dict():
            kept = islice(value.items(), MOST_ENTRIES)
            return {quoted(key, MOST_CHARACTERS): _cut(item) for key, item in kept}
        case msgspec.Struct():
            names = value.__struct_fields__
        case _ if is_dataclass(value):
            names = tuple(field.name for field in fields(value))
        case _:
            return value
    return {name: _cut(getattr(value, name)) for name in names}
