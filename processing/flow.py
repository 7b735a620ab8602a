"""The distributor without its sockets: series begin and end, frames come and are given, workers answer.

`distributor.py` has the loop that calls this; what is called here is told what has happened, and says to
workers what follows.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.processing import parameters, wire
from penstock.processing.account import State
from penstock.processing.answers import Answers, absent_and_others
from penstock.processing.bunches import Bunch, Item
from penstock.processing.connections import Connections, Peer
from penstock.processing.link import Setup
from penstock.processing.models import Changed
from penstock.processing.receiver_watch import Begun as SaidToBegin
from penstock.processing.receiver_watch import Over
from penstock.processing.results.begun import Begun, Code
from penstock.processing.results.errors import ResultError
from penstock.processing.results.place import path_for
from penstock.processing.results.result_file import ResultFile
from penstock.processing.schedule import Schedule
from penstock.processing.series_run import Part, Phase, Run
from penstock.processing.shared_frames import SharedFrames, SharedMemoryError, StaleMemory
from penstock.processing.sources.file import FileFrames
from penstock.processing.staff import Member, Staff
from penstock.processing.store import Store
from penstock.processing.versions import Versions
from penstock.receiver.reader import ReaderError
from penstock.stins.messages import Header
from penstock.stins.shared import Layout, Reference

log = logging.getLogger(__name__)

PAST = 20
"""Series that are over and still in the status."""
FINISHERS = 3
"""Workers that may die while they make the results of the series as a whole."""


class Flow:
    """All series of one pipeline, and its workers.

    Args:
        setup: from the parent.
        connections: to workers.
    """

    def __init__(self, setup: Setup, connections: Connections) -> None:
        config = setup.config
        self.setup = setup
        self.config = config
        given = parameters.joined([step.parameters for step in config.steps])
        known = setup.parameters
        self.versions = Versions(
            given if known is None else known.values, 1 if known is None else known.version
        )
        self.schedule = Schedule(retry=config.retry)
        self.staff = Staff(
            connections, self.schedule, self.versions, config.name, setup.steps, config.hand_over_seconds
        )
        self.staff.begun = self._begun
        self.answers = Answers(self.schedule, config.errors, self.fail, self.break_off)
        self.runs: dict[str, Run] = {}
        """Series that are not over, by id, in the order in which they began."""
        self.past: deque[Run] = deque(maxlen=PAST)
        """Those that are, the newest first."""
        self.error = ""
        """Why the pipeline is in Error; a sentence."""
        self.from_frame = 0
        """First frame with the parameters in use, of the newest series."""
        self.ask: Callable[[str, Sequence[str] | None], None] = lambda _series, _channels: None
        """Asks the receiver about a series that has begun."""
        self._overs: dict[str, Over] = {}
        """Series that are over, as the receiver says, of which the stream has said nothing yet."""
        self.is_leaving = False
        """Whether no more frames are given to workers."""
        self._numbers = 0
        self._codes = tuple(
            Code(each.name, each.module, each.file, each.source, each.sha256) for each in setup.steps
        )

    # -- series ----------------------------------------------------------------------------------------

    def began(self, header: Header, metadata: bytes) -> None:
        """A start message has come."""
        name = header.series or f"series-{self._numbers + 1}"
        for other in self.runs.values():
            if other.name != name:
                other.stream_is_over = True
        run = self.runs.get(name)
        if run is None:
            run = self.runs[name] = Run(name, self.schedule, header.frames)
            if self.error:
                run.broken = self.error
                run.said.append(f"it began while the pipeline was in Error: {self.error}")
            run.over = self._overs.pop(name, None)
            channels = None if b'"pixel_mask"' in metadata else tuple(header.channels or ())
            self.ask(name, channels)
        else:  # the receiver was killed, and is back
            run.take_back()
            if run.phase is Phase.ENDED:
                run.phase, run.end = Phase.LIVE, None
        self._add(run, self._part(header, metadata))

    def _part(self, header: Header, metadata: bytes) -> Part:
        self._numbers += 1
        part = Part(self._numbers, header, metadata)
        if (shared := header.shared) is not None:
            try:
                part.memory = SharedFrames(shared.path, shared.nonce)
                part.layout = Layout(shared.slots, shared.slot_bytes)
            except SharedMemoryError as error:
                log.warning("%s", error)
        return part

    def _add(self, run: Run, part: Part) -> None:
        run.add(part)
        self.answers.runs[part.number] = run
        if run.phase is Phase.LIVE:
            self.staff.say_all(*self._message(run, part))

    def known(self, run: Run, said: SaidToBegin) -> None:
        """The receiver has said where a series is kept that has begun: workers are told of it."""
        if run.phase is not Phase.BEGINNING:
            return
        run.file, run.mask, run.phase = said.file, said.mask, Phase.LIVE
        if not run.broken:
            try:
                self._open_results(run, said)
            except ResultError as error:
                if error.kind == "finished":  # by an earlier distributor, up to its end
                    run.phase = Phase.OVER
                    return
                self.break_off(run, str(error))
        if not run.broken:
            for part in run.parts:
                self.staff.say_all(*self._message(run, part))

    def _open_results(self, run: Run, said: SaidToBegin) -> None:
        raw = None if said.file is None else Path(said.file)
        path = path_for(raw, self.config.name, self.config.results_root, run.name)
        if path is None:
            return
        file = None
        if path.exists():
            try:
                file = ResultFile.resume(path, run.name)
            except ResultError as error:
                is_other = error.kind in ("name_taken", "not_a_result_file")
                if not is_other and not (error.kind == "finished" and self.setup.file):
                    raise
        if file is not None:
            run.was_resumed = True
            run.account.restore(file.states)
            self._forget_final(run)
        else:
            begun = Begun(
                series=run.name, planned=run.account.planned, pipeline=self.config.name, steps=self._codes,
                version=version("penstock"), version_of_parameters=self.versions.version,
                parameters=self.versions.values, raw=raw, detector=said.detector,
                started=said.started or time.time(),
            )  # fmt: skip
            file = ResultFile.create(path, begun, overwrite=self.config.overwrite)
        run.store = Store(file)

    def _forget_final(self, run: Run) -> None:
        """Forget frames that have come before it was known that an earlier distributor had done them."""
        for number in run.numbers:
            self.answers.release(number, self.schedule.forget_final(number))

    def is_over(self, over: Over) -> None:
        """The receiver has closed a series' file; what is missing is taken from it."""
        run = self.runs.get(over.series)
        if run is not None:
            run.over = over
            if run.phase is Phase.BEGINNING:
                self.known(run, SaidToBegin(over.series, over.file, over.detector, over.started, run.mask))
        elif all(over.series != past.name for past in self.past):
            self._missed(over)

    def _missed(self, over: Over) -> None:
        """Take a series from its file of which nothing has come by the stream."""
        path = path_for(
            None if over.file is None else Path(over.file), self.config.name, self.config.results_root,
            over.series,
        )  # fmt: skip
        if over.file is None and (path is None or not path.exists()):
            self._overs[over.series] = over  # its start message may still come
            while len(self._overs) > PAST:
                del self._overs[next(iter(self._overs))]
            return
        planned, mask, metadata = over.frames, None, b"{}"
        header, frames = Header(filename=over.file or "", series=over.series, frames=over.frames), None
        if over.file is not None:
            try:
                frames = FileFrames(over.file)
            except ReaderError as error:
                log.error("series %s: %s", over.series, error)
                if path is None or not path.exists():
                    return
            else:
                planned, header = frames.planned, frames.header
                mask = None if frames.mask is None else _npy(frames.mask)
                metadata = msgspec.json.encode(frames.metadata)
        run = self.runs[over.series] = Run(over.series, self.schedule, planned)
        run.frames, run.over, run.stream_is_over = frames, over, True
        if self.error:
            run.broken = self.error
            run.said.append(f"the pipeline is in Error: {self.error}")
        self._add(run, self._part(msgspec.structs.replace(header, shared=None), metadata))
        run.stream_is_over = True
        self.known(run, SaidToBegin(over.series, over.file, over.detector, over.started, mask))

    def process_file(self, path: str) -> None:
        """Process the frames of a file; those that it does not have are absent."""
        try:
            with FileFrames(path) as frames:
                name, planned, group = frames.header.series or Path(path).stem, frames.planned, frames.group
        except ReaderError as error:
            self.fail(str(error))
            return
        everything = ((0, planned - 1),) if planned else ()
        self._missed(Over(name, path, group, 0.0, 0.0, planned, everything, ""))

    def _message(self, run: Run, part: Part) -> tuple[wire.Begin, list[Any]]:
        parts: list[Any] = [part.metadata]
        if run.mask is not None:
            parts.append(run.mask)
        return wire.Begin(series=part.number, header=part.header), parts

    def _begun(self) -> Iterator[tuple[wire.Begin, list[Any]]]:
        for run in self.runs.values():
            if run.phase not in (Phase.BEGINNING, Phase.OVER):
                for part in run.parts:
                    yield self._message(run, part)

    # -- frames ----------------------------------------------------------------------------------------

    def referenced(self, references: Sequence[Reference]) -> None:
        """References to frames have come, of the series that began last."""
        run = self.latest
        if run is None:
            return
        items = [
            Item(each.frame, each, each.header_bytes + sum(each.blob_bytes), True) for each in references
        ]
        unwanted = run.come(items)
        memory = run.parts[-1].memory
        if unwanted and memory is not None:
            memory.free([item.content.slot for item in unwanted])

    def by_value(self, index: int, parts: list[Any]) -> None:
        """A frame has come by value, of the series that began last."""
        run = self.latest
        if run is None:
            return
        nbytes = sum(map(len, parts))
        if not run.come([Item(index, parts, nbytes)]):
            self.answers.value_bytes += nbytes

    @property
    def latest(self) -> Run | None:
        """The series that began last."""
        return next(reversed(self.runs.values()), None)

    @property
    def is_full(self) -> bool:
        """Whether no more frames are to be read by value: the receiver drops and counts them."""
        return self.answers.value_bytes >= self.config.queue_mb * 1e6

    def give(self, now: float) -> None:
        """Give frames to workers that have room."""
        if self.is_leaving:
            return
        held_back = {
            number for run in self.runs.values() if run.phase is Phase.BEGINNING for number in run.numbers
        }
        while (bunch := self.schedule.next(now, held_back)) is not None:
            run = self.answers.runs[bunch.series]
            part = run.part(bunch.series)
            if part.is_stale and any(item.shared for item in bunch.items):
                run.take_back()
                unread = [place for place, item in enumerate(bunch.items) if item.shared]
                self.schedule.settle(bunch, unread=unread)
                continue
            run.next_frame = max(run.next_frame, int(bunch.indices.max()) + 1)
            self._send(run, part, bunch)

    def _send(self, run: Run, part: Part, bunch: Bunch) -> None:
        member = self.staff.members[bunch.worker]
        if not bunch.by_value:
            references = tuple(item.content for item in bunch.items)
            self.staff.say(
                member,
                wire.Work(series=bunch.series, bunch=bunch.number, references=references, alone=bunch.alone),
            )
            return
        counts: list[int] = []
        parts: list[Any] = []
        bad: dict[int, str] = {}
        for place, item in enumerate(bunch.items):
            try:
                found = self._content(run, part, item)
            except StaleMemory:
                self.schedule.settle(bunch, unread=range(len(bunch.items)))
                run.take_back()
                return
            except (ReaderError, SharedMemoryError) as error:
                bad[place] = str(error)
                continue
            counts.append(len(found))
            parts += found
        if bad:
            self._without(run, bunch, bad)
            return
        self.staff.say(
            member,
            wire.Work(
                series=bunch.series, bunch=bunch.number, indices=tuple(bunch.indices.tolist()),
                parts=tuple(counts), alone=bunch.alone,
            ),
            parts,
        )  # fmt: skip

    def _without(self, run: Run, bunch: Bunch, bad: Mapping[int, str]) -> None:
        """Let frames fail that cannot be read, and queue the others of their bunch again."""
        others = [place for place in range(len(bunch.items)) if place not in bad]
        settled = self.schedule.settle(bunch, failed=bad, unread=others)
        self.schedule.come(bunch.series, settled.unread)
        self.answers.release(bunch.series, settled.final)
        try:
            run.store.settled(bunch, 0, "distributor", self.versions.version, bad, others, False)
        except ResultError as error:
            self.break_off(run, str(error))

    def _content(self, run: Run, part: Part, item: Item) -> list[Any]:
        if item.shared:
            assert part.memory is not None and part.layout is not None
            header, blobs = part.memory.frame(part.layout, item.content)
            return [header, *blobs]
        if item.content is not None:
            return list(item.content)
        assert run.frames is not None
        return run.frames.parts(item.index)

    # -- workers ---------------------------------------------------------------------------------------

    def message(self, peer: Peer, parts: Sequence[Any], now: float) -> None:
        """Take a message of a worker."""
        try:
            message = wire.from_worker(parts[0])
            if isinstance(message, wire.Hello):
                self.staff.hello(peer, message)
                return
            if (member := self.staff.of(peer)) is None:
                if isinstance(message, wire.Done):
                    self.schedule.owned(0, message.series, message.bunch)  # which counts it
                return
            self._take(member, message, parts[1:], now)
        except wire.WireError as error:
            log.error("a worker sends what is not understood: %s", error)
            self.gone(peer)

    def _take(self, member: Member, message: wire.MessageOfWorker, parts: Sequence[Any], now: float) -> None:
        match message:
            case wire.Done():
                self.answers.done(member, message, parts, now)
                self._relieve(member)
            case wire.HandedOver():
                self.answers.handed_over(member, message, parts)
            case wire.Ready():
                self.staff.ready_for(member, message)
            case wire.Refused():
                self.staff.refused(member, message)
            case wire.Finished():
                self.answers.finished(member, message, parts)
            case wire.Bye():
                self.gone(member.peer, said_so=True)

    def gone(self, peer: Peer, *, said_so: bool = False) -> None:
        """A worker is gone: what it had is given to others."""
        member = self.staff.leave(peer, said_so=said_so)
        if member is None:
            return
        self.answers.left(member, self.schedule.leave(member.number))
        for run in self.runs.values():
            if run.finisher == member.number:
                run.finisher = None

    def _relieve(self, member: Member) -> None:
        """Ask a worker to hand over if its share of the memory is half full of frames that it holds."""
        worker = self.schedule.workers.get(member.number)
        if worker is None or not worker.held:
            return
        share = 2 * max(1, len(self.schedule.workers))
        for number in {bunch.series for bunch in worker.held.values()} - member.asked:
            layout = self.answers.part(number).layout
            if (layout is not None and worker.held_frames * share > layout.slots) or (
                layout is None and worker.held_bytes * share > self.config.queue_mb * 1e6
            ):
                self._hand_over(member, number)

    def _hand_over(self, member: Member, number: int) -> None:
        member.asked.add(number)
        self.staff.say(member, wire.HandOver(series=number))

    def hanging(self, now: float) -> None:
        """Give workers up that take too long."""
        if self.config.frame_seconds is None:
            return
        for number in self.schedule.hanging(now, self.config.frame_seconds):
            member = self.staff.members[number]
            why = f"worker {member.name} took more than {self.config.frame_seconds:g} s for a frame"
            log.warning("%s", why)
            self.staff.say(member, wire.Stop(why=f"{why} (frame_seconds)"))
            self.gone(member.peer)

    # -- the end ---------------------------------------------------------------------------------------

    def step(self) -> None:
        """Let every series go on to its next phase if what it waits for is there."""
        for run in list(self.runs.values()):
            if run.phase is Phase.LIVE and (
                run.end is not None or (run.over is not None and not run.expects_more)
            ):
                run.phase = Phase.ENDED
                run.take_back()
            if run.phase is Phase.ENDED and run.over is not None:
                self._settle(run)
            if run.phase is Phase.REST:
                run.fill()
                if self.schedule_is_idle(run):
                    self._collect(run)
                if run.is_settled:
                    self._finish(run)
            if run.phase is Phase.FINISHING:
                self._await_finish(run)
            if run.phase is Phase.OVER:
                self._forget(run)

    def schedule_is_idle(self, run: Run) -> bool:
        """Whether only frames that are held keep a series from its end."""
        counts = run.account.counts
        return bool(counts.held) and not counts.queued and not counts.in_work

    def _settle(self, run: Run) -> None:
        pairs = run.settle()
        try:
            absent_and_others(run, pairs)
        except ResultError as error:
            self.break_off(run, str(error))

    def _collect(self, run: Run) -> None:
        for worker in self.schedule.workers.values():
            member = self.staff.members[worker.number]
            for number in {bunch.series for bunch in worker.held.values()} & set(run.numbers):
                if number not in member.asked:
                    self._hand_over(member, number)

    def _finish(self, run: Run) -> None:
        """Let one worker make the results of the series as a whole."""
        if run.broken or not run.account.counts.done or run.finish_attempts >= FINISHERS:
            if run.finish_attempts >= FINISHERS:
                run.said.append(f"finish was not done: {FINISHERS} workers have died in it")
            self._complete(run)
            return
        run.phase = Phase.FINISHING

    def _await_finish(self, run: Run) -> None:
        if run.finisher == 0:
            self._complete(run)
        elif run.finisher is None and run.finish_attempts >= FINISHERS:
            self._finish(run)
        elif run.finisher is None and (ready := self.staff.ready):
            member = min(ready, key=lambda each: len(self.schedule.workers[each.number].work))
            run.finisher = member.number
            run.finish_attempts += 1
            totals = run.store.totals
            values = [np.ascontiguousarray(value) for value in totals.values]
            self.staff.say(member, wire.Finish(series=run.number, arrays=totals.arrays), values)

    def _complete(self, run: Run) -> None:
        try:
            reason = run.finish()
        except ResultError as error:
            run.phase = Phase.OVER
            run.said.append(str(error))
            self.fail(str(error))
        else:
            if reason:
                run.said = [reason]

    def _forget(self, run: Run) -> None:
        for number in run.numbers:
            self.staff.say_all(wire.End(series=number))
            self.answers.release(number, self.schedule.drop(number))
            self.schedule.end(number)
            del self.answers.runs[number]
        run.close()
        del self.runs[run.name]
        self.past.appendleft(run)

    def break_off(self, run: Run, why: str) -> None:
        """Process no more of a series; what is not final is dropped."""
        if run.broken:
            return
        log.error("series %s: %s", run.name, why)
        run.broken = why
        run.said.append(why)
        for number in run.numbers:
            gone = self.schedule.drop(number)
            self.answers.release(number, gone)
            with contextlib.suppress(ResultError):  # that may be the reason
                indices = np.fromiter((item.index for item in gone), np.int64, len(gone))
                run.store.final(np.sort(indices), State.DROPPED)

    def fail(self, why: str) -> None:
        """Be in Error: frames are dropped, and can be processed from the file later."""
        if self.error:
            return
        self.error = why
        for run in self.runs.values():
            self.break_off(run, why)

    def change(self, values: Mapping[str, Any]) -> None:
        """Let the workers prepare parameters."""
        self.staff.configure(dict(values))

    def changed(self) -> Changed | None:
        """Return what became of a change of parameters, once that is known; then they are in use."""
        change = self.versions.settled()
        if change is None:
            return None
        names = {member.number: member.name for member in self.staff.members.values()}
        said = [names[number] for number in change.acknowledged if number in names]
        refused = {names.get(number, "a worker that is gone"): why for number, why in change.refused.items()}
        taken = self.versions.version == change.version
        if taken:
            self.staff.say_all(wire.Use(version=change.version))
            latest = self.latest
            self.from_frame = 0 if latest is None else latest.next_frame
            for run in self.runs.values():
                try:
                    run.store.parameters(change.version, change.values, run.next_frame)
                except ResultError as error:
                    self.break_off(run, str(error))
        return Changed(
            taken=taken, version=self.versions.version, from_frame=self.from_frame, acknowledged=said,
            refused=refused,
        )  # fmt: skip

    def reset(self) -> None:
        """Leave Error, from the next series on."""
        self.error = ""
        self.answers.reset()

    def leave(self) -> None:
        """Give no more frames, and let workers end their bunches, hand over and leave."""
        self.is_leaving = True
        for member in self.staff.members.values():
            self.staff.say(member, wire.Stop())

    def close(self) -> None:
        """Close everything as it is."""
        for run in self.runs.values():
            run.close()


def _npy(mask: np.ndarray[Any, Any]) -> bytes:
    file = BytesIO()
    np.save(file, mask, allow_pickle=False)
    return file.getvalue()
