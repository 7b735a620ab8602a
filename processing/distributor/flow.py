"""The distributor without its sockets: workers come, answer and go; the other files say what follows.

`series/series_list.py`: how series begin; `dispatch.py`: bunches for workers; `series/answers.py`: results;
`series/ending.py`: the rest of a series, and its end. `distributor.py` has the loop that calls this.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.processing import wire
from penstock.processing.distributor.connections import LOCAL_PORT, Connections, Peer
from penstock.processing.distributor.dispatch import Dispatch
from penstock.processing.distributor.frames.bunches import Departure
from penstock.processing.distributor.frames.lost_workers import DEPARTURES
from penstock.processing.distributor.frames.schedule import ATTEMPTS, Schedule
from penstock.processing.distributor.link import Setup
from penstock.processing.distributor.receiver.events import Unheard
from penstock.processing.distributor.series.ending import Ending
from penstock.processing.distributor.series.run import storing
from penstock.processing.distributor.series.series_list import SeriesList
from penstock.processing.distributor.versions import Versions
from penstock.processing.distributor.workers import Member, Workers
from penstock.processing.models import Changed
from penstock.processing.results.errors import ResultError

log = logging.getLogger(__name__)

REMEMBERED = 32
"""Workers that took too long whose process ids are told."""


class Flow:
    """All series of one pipeline, and its workers.

    Args:
        setup: from the parent.
        connections: to workers.
    """

    def __init__(self, setup: Setup, connections: Connections) -> None:
        config = setup.config
        self.config = config
        self._is_on_file = bool(setup.file)
        known = setup.parameters
        self.versions = Versions(
            config.parameters if known is None else known.values, 1 if known is None else known.version
        )
        self.schedule = Schedule(retry=config.retry)
        self.workers = Workers(connections, self.schedule, self.versions, config, setup.steps)
        self.series = SeriesList(setup, self.schedule, self.workers)
        self.dispatch = Dispatch(self.series)
        self.ending = Ending(self.series)
        self.unheard = Unheard()
        """The receiver's running series, if nothing of it is live."""
        self.from_frame = 0
        """First frame with the parameters in use, of the newest series."""
        self.departed: deque[tuple[Member, float, Departure]] = deque(maxlen=DEPARTURES)
        """The last workers that were gone, when that was noticed (seconds since 1970), and their frames."""
        self.given_up: deque[int] = deque(maxlen=REMEMBERED)
        """Process ids of the last workers on this machine that took too long."""
        self._answers = self.series.answers
        self._refusal = ""

    def message(self, peer: Peer, parts: Sequence[Any], now: float) -> None:
        """Take a message of a worker."""
        try:
            message = wire.from_worker(parts[0])
            if isinstance(message, wire.Hello):
                self._hello(peer, message)
                return
            if (member := self.workers.of(peer)) is None:
                if isinstance(message, wire.Done):
                    self.schedule.owned(0, message.series, message.bunch)  # which counts it
                return
            self._take(member, message, parts[1:], now)
        except wire.WireError as error:
            log.error("a worker sends what is not understood: %s", error)
            self.gone(peer)

    def _hello(self, peer: Peer, message: wire.Hello) -> None:
        """Take a worker. One that was here has lost its connection: its frames are with others, and what it
        has done of them is stray."""
        if (former := self.workers.former(message)) is not None:
            if (member := self.workers.members.get(former)) is not None:
                self.gone(member.peer)  # the old connection has ended on its side, and soon will on this one
            self.schedule.lost_workers.late(former, message.done)
        self.workers.hello(peer, message)

    def _take(self, member: Member, message: wire.MessageOfWorker, parts: Sequence[Any], now: float) -> None:
        match message:
            case wire.Done():
                self._answers.done(member, message, parts, now)
                self._relieve(member)
            case wire.Started():
                if message.shares:
                    self.workers.shares(member)
                self._answers.started(member, message, parts, now)
            case wire.HandedOver():
                self._answers.handed_over(member, message, parts)
            case wire.Ready():
                self.workers.ready_for(member, message)
            case wire.Refused():
                self.workers.refused(member, message)
                if message.what == "start":
                    self._answers.refused(message)
                else:
                    self._say_once(member, message.why)
                    self._give_up(message.why)
            case wire.Finished():
                self._answers.finished(member, message, parts)
            case wire.Bye():
                self.gone(member.peer, said_so=True)

    def _say_once(self, member: Member, why: str) -> None:
        """Log why a worker refuses, unless another one has said the same. Of a pipeline without workers on
        other machines the parent says it, and ends."""
        if self.config.listen and why != self._refusal:
            log.error("worker %s: %s", member.name, why)
        self._refusal = why

    def _give_up(self, why: str) -> None:
        """End a pipeline on a file if every worker refuses its code: there will be no others."""
        refused = sum(member.state == "refused" for member in self.workers.members.values())
        if self._is_on_file and not self.config.listen and refused >= self.config.workers:
            for run in self.series.runs.values():
                run.is_refused = True
            self.series.fail(f"no worker takes its class and parameters: {why}")

    def gone(self, peer: Peer, *, said_so: bool = False) -> None:
        """A worker is gone: what it had is given to others."""
        member = self.workers.leave(peer, said_so=said_so)
        if member is None:
            return
        noticed = time.time()
        left = self.schedule.leave(member.number, died=not said_so, now=time.monotonic())
        lost = self.schedule.lost_workers.last
        if lost and lost[-1].number == member.number:
            self.departed.append((member, noticed, lost[-1]))
        self._answers.left(member, left)
        for run in self.series.runs.values():
            if run.finisher == member.number:
                run.finisher = None
            if not run.broken and any(self.schedule.is_deadly(number) for number in run.numbers):
                run.is_refused = True
                self.series.break_off(
                    run,
                    f"{ATTEMPTS} workers in a row have died while they started the class, none has begun; "
                    "the log says how they ended: look at what its start() does",
                )

    def _relieve(self, member: Member) -> None:
        """Ask a worker to hand over if its share of the memory is half full of frames that it holds."""
        worker = self.schedule.workers.get(member.number)
        if worker is None or not worker.held:
            return
        share = 2 * max(1, len(self.schedule.workers))
        for number in {bunch.series for bunch in worker.held.values()} - member.asked:
            layout = self._answers.part(number).layout
            if (layout is not None and worker.held_frames * share > layout.slots) or (
                layout is None and worker.held_bytes * share > self.config.queue_mb * 1e6
            ):
                self.ending.hand_over(member, number)

    def hanging(self, now: float) -> None:
        """Give workers up that take too long."""
        if self.config.frame_seconds is None:
            return
        for number in self.schedule.hanging(now, self.config.frame_seconds):
            member = self.workers.members[number]
            why = f"worker {member.name} took more than {self.config.frame_seconds:g} s for a frame"
            log.warning("%s", why)
            self.workers.say(member, wire.Stop(why=f"{why} (frame_seconds)"))
            if member.peer.port == LOCAL_PORT:
                self.given_up.append(member.pid)
            self.gone(member.peer)

    def refuses(self, values: Mapping[str, Any]) -> str:
        """Return why a result file cannot have these parameters, in a sentence; "" if all can."""
        for run in self.series.runs.values():
            try:
                run.store.file.check_parameters(self.versions.values | dict(values))
            except ResultError as error:
                return str(error)
        return ""

    def change(self, values: Mapping[str, Any]) -> None:
        """Let the workers prepare parameters."""
        self.workers.configure(dict(values))

    def changed(self) -> Changed | None:
        """Return what became of a change of parameters, once that is known; then they are in use."""
        change = self.versions.settled()
        if change is None:
            return None
        names = {member.number: member.name for member in self.workers.members.values()}
        said = [names[number] for number in change.acknowledged if number in names]
        refused = {names.get(number, "a worker that is gone"): why for number, why in change.refused.items()}
        taken = self.versions.number == change.number
        if taken:
            self.workers.say_all(wire.Use(version=change.number))
            latest = self.series.latest
            self.from_frame = 0 if latest is None else latest.next_frame
            for run in self.series.runs.values():
                with storing(run, self.series.break_off):
                    run.store.file.parameters(change.version, change.values, run.next_frame)
        return Changed(
            taken=taken, version=self.versions.version, from_frame=self.from_frame, acknowledged=said,
            refused=refused,
        )  # fmt: skip

    def leave(self) -> None:
        """Give no more frames, and let workers end their bunches, hand over and leave."""
        self.dispatch.is_over = True
        for member in self.workers.members.values():
            self.workers.say(member, wire.Stop())
