"""The workers of a distributor: who they are, what they were told, and whether they are ready for frames.

| state | waits for |
|---|---|
| starting | `Ready`: it loads the code, or prepares parameters that have changed meanwhile |
| ready | frames |
| refused | another distributor: its code or parameters are refused, and so will be those of others |
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from penstock.processing import wire
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.connections import LOCAL_PORT, Connections, Peer
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.versions import Versions
from penstock.processing.models import WorkerState
from penstock.stins.messages import SharedMemory

log = logging.getLogger(__name__)


class Member(msgspec.Struct):
    """One worker."""

    number: int
    peer: Peer
    name: str
    host: str
    pid: int
    state: WorkerState = "starting"
    last_error: str = ""
    shares: bool = False
    ordered: bool = False
    batch: int = 1
    has_loaded: bool = False
    """True if it has the code, and uses the parameters that came with it."""
    spoiled: set[int] = msgspec.field(default_factory=set)
    """Bunches of which frames have failed here, but are in its accumulated values."""
    preparation: str = ""
    """What `start` of its classes does, for people; "" if nobody has said so."""
    asked: set[int] = msgspec.field(default_factory=set)
    """Series whose accumulated values it is handing over, since it was asked to."""


class Workers:
    """All workers.

    Args:
        connections: to them.
        schedule: is told who is ready and who is gone.
        versions: of the parameters.
        config: of the pipeline.
        steps: what workers run.
    """

    def __init__(
        self, connections: Connections, schedule: Schedule, versions: Versions, config: PipelineConfig,
        steps: Sequence[wire.Step],
    ) -> None:  # fmt: skip
        self.connections = connections
        self.schedule = schedule
        self.versions = versions
        self.members: dict[int, Member] = {}
        self.deaths = 0
        """Workers that were gone without saying goodbye."""
        self.finishes = True
        """True if a class makes results of the series as a whole, as far as a worker has said."""
        self.shared: Callable[[], SharedMemory | None] = lambda: None
        """Returns the memory that a new worker is to try."""
        self.begun: Callable[[], Iterable[tuple[wire.Begin, Sequence[Any]]]] = lambda: ()
        """Returns the series that have begun, for a worker that is new."""
        self.needs: Callable[[tuple[str, ...]], None] = lambda _names: None
        """Is told by each new worker which channels its frames need."""
        self.channels: tuple[str, ...] = ()
        """Names of the pipeline's channels."""
        self._config = config
        self._steps = tuple(steps)
        self._numbers: dict[Peer, int] = {}
        self._mark = os.urandom(8).hex()
        """Mark that tells workers of this distributor from those of an earlier one."""
        self._latest = 0

    @property
    def ready(self) -> list[Member]:
        """Workers that take frames."""
        return [member for member in self.members.values() if member.state == "ready"]

    @property
    def why_nobody_is_ready(self) -> str:
        """Why no worker can check new parameters, and the remedy; a sentence."""
        if any(member.state == "refused" for member in self.members.values()):
            return (
                "no worker takes the class with the parameters of the pipeline's file, as the status says: "
                "mend the file or the class, and start the pipeline again"
            )
        return "no worker is there that could check them: start one, then try again"

    def of(self, peer: Peer) -> Member | None:
        """Return the worker of a connection."""
        number = self._numbers.get(peer)
        return None if number is None else self.members.get(number)

    def say(self, member: Member, message: wire.MessageOfDistributor, parts: Sequence[Any] = ()) -> None:
        """Send a message; if the worker is gone, `Connections.gone` tells."""
        self.connections.send(member.peer, [wire.encode(message), *parts])
        if isinstance(message, wire.Begin):
            self.schedule.prepares(member.number, message.series)

    def say_all(self, message: wire.MessageOfDistributor, parts: Sequence[Any] = ()) -> None:
        """Send a message to all that are ready."""
        first = wire.encode(message)
        for member in self.ready:
            self.connections.send(member.peer, [first, *parts])
            if isinstance(message, wire.Begin):
                self.schedule.prepares(member.number, message.series)

    def former(self, message: wire.Hello) -> int | None:
        """Return the number that a worker had before it lost its connection; `None` if it had none here."""
        mark, _, number = message.former.rpartition("-")
        return int(number) if mark == self._mark and number.isdecimal() else None

    def hello(self, peer: Peer, message: wire.Hello) -> None:
        """Take a new worker."""
        self._latest += 1
        member = Member(self._latest, peer, message.name, message.host, message.pid)
        why = ""
        steps = self._steps
        if message.wire != wire.WIRE:
            why = (
                f"worker {message.name} is of Penstock {message.penstock}, whose messages have version "
                f"{message.wire}, and here it is {wire.WIRE}: use the same release on both sides"
            )
        elif any(step.source for step in steps) and not self.connections.is_trusted(peer):
            why = (
                "source text is sent over loopback or an encrypted connection only: give pipeline and worker "
                "a key, or name the class as MODULE:CLASS and install it where the workers run"
            )
        if why:
            log.warning("worker %s on %s is not taken: %s", message.name, message.host, why)
            self.say(member, wire.Stop(why=why))
            return
        self.members[member.number] = member
        self._numbers[peer] = member.number
        welcome = wire.Welcome(
            pipeline=self._config.name, steps=steps, version=self.versions.number,
            parameters=self.versions.values, shared=self.shared(), channels=self.channels,
            hand_over_seconds=self._config.hand_over_seconds, frame_seconds=self._config.frame_seconds,
            mark=f"{self._mark}-{member.number}",
        )  # fmt: skip
        self.say(member, welcome)

    def ready_for(self, member: Member, message: wire.Ready) -> None:
        """A worker has loaded the code, or prepared parameters."""
        if member.state == "ready":
            self.versions.answered(member.number, message.version)
            return
        if not member.has_loaded:
            member.has_loaded, self.finishes = True, message.finishes
            self.needs(message.needs)
            member.shares, member.ordered, member.batch = message.shares, message.ordered, message.batch
            member.preparation = message.preparation
        else:
            self.say(member, wire.Use(version=message.version))
        if message.version != self.versions.number:
            # They have changed while it loaded the code: it takes frames once it has the new ones.
            latest = wire.Configure(version=self.versions.number, parameters=self.versions.values)
            self.say(member, latest)
            return
        member.state, member.last_error = "ready", ""
        for begin, parts in self.begun():
            self.say(member, begin, parts)
        if self.versions.change is not None:
            self.versions.asked(member.number)
            self._tell(member)
        self.schedule.ordered = self.schedule.ordered or member.ordered
        is_here = member.peer.port == LOCAL_PORT
        self.schedule.join(member.number, shares=member.shares, batch=member.batch, is_here=is_here)

    def shares(self, member: Member) -> None:
        """A worker has opened the shared memory, perhaps later than at `Welcome`."""
        member.shares = True
        if (worker := self.schedule.workers.get(member.number)) is not None:
            worker.shares = True

    def refused(self, member: Member, message: wire.Refused) -> None:
        """A worker has refused something."""
        if message.what == "parameters" and member.state == "ready":
            self.versions.answered(member.number, message.version, message.why)
            return
        member.last_error = message.why
        if message.what == "start":
            self.schedule.refused(member.number, message.series)
        else:
            member.state = "refused"

    def leave(self, peer: Peer, *, said_so: bool = False) -> Member | None:
        """Forget a worker; who calls gives its frames to others (`Schedule.leave`)."""
        number = self._numbers.pop(peer, None)
        if number is None:
            return None
        member = self.members.pop(number)
        self.versions.gone(number)
        if not said_so:
            self.deaths += 1
            log.warning("worker %s on %s (process %d) is gone", member.name, member.host, member.pid)
        return member

    def configure(self, values: dict[str, Any]) -> None:
        """Let all that are ready prepare parameters."""
        self.versions.begin(values, [member.number for member in self.ready])
        for member in self.ready:
            self._tell(member)

    def _tell(self, member: Member) -> None:
        change = self.versions.change
        assert change is not None
        self.say(member, wire.Configure(version=change.number, parameters=change.values))
