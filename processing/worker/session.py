"""What a worker does with the messages of one distributor, from `Welcome` on.

They are taken one after the other, in the order in which they were sent: a bunch is processed before the next
message is looked at, unless a step wants several frames together and there are not enough yet. With the
connection the session is over, and everything in it is forgotten: its frames are given to other workers. The
next `Hello` says what it had done, which is counted there.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, TypeAlias

from penstock.processing import wire
from penstock.processing.processor import Processor
from penstock.processing.series import from_start
from penstock.processing.wire import descriptions
from penstock.processing.worker import loading, packing
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.frame_source import FrameSource
from penstock.processing.worker.frame_watch import FrameWatch
from penstock.processing.worker.loading import LoadingError
from penstock.processing.worker.packing import ResultError
from penstock.processing.worker.parameter_changes import ParameterChanges
from penstock.processing.worker.parameters import ParameterError
from penstock.processing.worker.running import Job, Run
from penstock.receiver.validity import raw_words
from penstock.stins.messages import Buffer

log = logging.getLogger(__name__)


class Waiting:
    """The frames, in the order in which they came.

    Args:
        batch: number of frames that are processed together.
        seconds: longest time that the first of them waits.
    """

    def __init__(self, batch: int, seconds: float) -> None:
        self._batch = batch
        self._seconds = seconds
        self._jobs: deque[tuple[Run, Job]] = deque()
        self.due: float | None = None
        """Monotonic time at which those that are here are processed; `None` if there are none."""

    def put(self, run: Run, jobs: Sequence[Job]) -> None:
        """Add frames of a series."""
        if not self._jobs:
            self.due = time.monotonic() + self._seconds
        self._jobs.extend((run, job) for job in jobs)

    def full(self) -> Iterator[tuple[Run, list[Job]]]:
        """Take the batches that are full."""
        while len(self._jobs) >= self._batch:
            yield self._take()
            self.due = time.monotonic() + self._seconds if self._jobs else None

    def all(self) -> Iterator[tuple[Run, list[Job]]]:
        """Take everything."""
        while self._jobs:
            yield self._take()
        self.due = None

    def _take(self) -> tuple[Run, list[Job]]:
        """Take one batch, of one series."""
        run, jobs = self._jobs[0][0], [self._jobs.popleft()[1]]
        while self._jobs and self._jobs[0][0] is run and len(jobs) < self._batch:
            jobs.append(self._jobs.popleft()[1])
        return run, jobs


Parts: TypeAlias = "list[Buffer]"


class State(Enum):
    """The state of a session, with what it waits for."""

    GREETED = auto()
    """Waits for `Welcome`."""
    WORKING = auto()
    """Waits for frames."""
    REFUSING = auto()
    """Waits for `Stop`, or another distributor: this one's code or parameters are refused."""
    LEFT = auto()
    """It is over: everything was handed over."""


class Session:
    """The messages of one distributor.

    Args:
        send: sends a message, with arrays as raw parts.
        is_trusted: whether nobody else can send through the connection, so that source text may be executed.
        wake: called in another thread when `take_prepared` has something to do; by default parameters are
            prepared at once, and nothing else is done until then.
    """

    def __init__(
        self, send: Callable[..., None], is_trusted: bool, wake: Callable[[], None] | None = None
    ) -> None:
        self.state = State.GREETED
        self.why = ""
        """Why the distributor has stopped this worker; a sentence, or "" if it is not the worker's fault."""
        self.refusal = ""
        """Why code or parameters are refused; a sentence, while the state is REFUSING."""
        self.is_trusted = is_trusted
        self.mark = ""
        """Mark by which the distributor knows this worker; "" before `Welcome`."""
        self.done: deque[int] = deque(maxlen=wire.CREDITS)
        """Numbers of the bunches that were answered last: of no others may the answer be under way."""
        self._send = send
        self._source = FrameSource()
        self._chain: Chain | None = None
        self._runs: dict[int, Run] = {}
        self._hand_over_seconds = 1.0
        self._waiting = Waiting(1, 0.0)
        self._unfinished: set[int] = set()
        """Numbers of bunches that are not answered yet."""
        self._wake = wake
        self._changes: ParameterChanges | None = None
        self._watch: FrameWatch | None = None

    def take(self, parts: Parts) -> None:
        """Take a message.

        Raises:
            WireError: it cannot be decoded, or cannot come now.
        """
        message = wire.from_distributor(parts[0])
        take = TABLE.get((self.state, type(message)))
        if take is None:
            raise wire.WireError(f"{type(message).__name__} cannot come now ({self.state.name.lower()})")
        take(self, message, parts[1:])

    def leave(self) -> None:
        """End what was begun, hand over and leave."""
        self._flush()
        for run in self._runs.values():
            if run.held_since is not None:
                self._hand_over(run)
        self._send(wire.Bye())
        self.state = State.LEFT
        self.forget()

    def forget(self) -> None:
        """Let user code end: nothing comes any more."""
        if self._watch is not None:
            self._watch.close()
        if self._chain is not None:
            self._chain.leave()

    @property
    def due(self) -> float | None:
        """Monotonic time at which `do_what_is_due` has something to do; `None` if nothing waits."""
        held = (run.held_since for run in self._runs.values())
        due = [since + self._hand_over_seconds for since in held if since is not None]
        if self._waiting.due is not None:
            due.append(self._waiting.due)
        return min(due, default=None)

    def do_what_is_due(self) -> None:
        """Process a batch that has waited long enough, hand over what was held long enough."""
        now = time.monotonic()
        if self._waiting.due is not None and now >= self._waiting.due:
            self._flush()
        for run in self._runs.values():
            if run.held_since is not None and now >= run.held_since + self._hand_over_seconds:
                self._hand_over(run)

    # -- messages --------------------------------------------------------------------------------------

    def _welcome(self, message: wire.Welcome, parts: Parts) -> None:
        self.mark = message.mark
        try:
            loading.check_source(message.steps, is_trusted=self.is_trusted)
            self._chain = chain = Chain(message.steps)
            loading.check_channels(chain.names, chain.needs, message.channels)
        except (LoadingError, ParameterError) as error:
            self._refuse("code", str(error))
            return
        try:
            chain.prepare(message.version, message.parameters)
            chain.use(message.version)
        except (ParameterError, Refusal) as error:
            self._refuse("parameters", str(error), message.version)
            return
        self._changes = ParameterChanges(chain, self._send, self._wake)
        self._hand_over_seconds = message.hand_over_seconds
        if message.frame_seconds is not None:
            self._watch = FrameWatch(message.frame_seconds, chain.files)
        self._waiting = Waiting(chain.batch, chain.batch_seconds)
        self.state = State.WORKING
        self._send(
            wire.Ready(
                version=message.version, parameters=chain.described, ordered=chain.ordered, batch=chain.batch,
                preparation=chain.preparation_text,
                needs=chain.needs,
                shares=self._source.opens(message.shared),
                finishes=chain.finishes,
            )
        )  # fmt: skip

    def _refuse(self, what: Any, why: str, number: int = 0) -> None:
        self._send(wire.Refused(what=what, why=why, version=number))
        self.state, self.refusal = State.REFUSING, why

    def _begin(self, message: wire.Begin, parts: Parts) -> None:
        chain, number = self._known_chain, message.series
        self._source.begin(number, message.header.shared)
        steps: list[Processor] = []
        try:
            series = from_start(message.header, parts)
            steps = chain.begin(number, series)
            plots, axes = descriptions.texts(chain.describe(steps))
        except (Refusal, ValueError) as error:
            self._runs[number] = run = Run(number, chain, steps, self._watch)
            self._break(run, str(error))
            return
        self._runs[number] = Run(number, chain, steps, self._watch)
        remark = " ".join(step._remark for step in steps if step._remark)
        notes = [raw_words.note(series.metadata, series.header.type)]
        notes += [note for step in steps for note in step._notes]
        started = wire.Started(
            series=number, plots=plots, shares=self._source.shares(number), remark=remark,
            notes=tuple(filter(None, dict.fromkeys(notes))),
        )  # fmt: skip
        self._send(started, axes)

    def _break(self, run: Run, why: str) -> None:
        run.broken = why
        self._send(wire.Refused(what="start", why=why, series=run.number))

    def _work(self, message: wire.Work, parts: Parts) -> None:
        chain, run = self._known_chain, self._known_run(message.series)
        if isinstance(jobs := self._source.jobs(message, parts), wire.Done):
            self._send(jobs)
            return
        self._unfinished.add(message.bunch)
        if chain.batch == 1:
            for job in jobs:
                self._process(run, [job])
        else:
            self._waiting.put(run, jobs)
            for each, batch in self._waiting.full():
                self._process(each, batch)
            if message.alone or len(self._unfinished) >= wire.CREDITS:
                self._flush()
        if message.alone and run.held_since is not None:
            self._hand_over(run)

    def _process(self, run: Run, jobs: list[Job]) -> None:
        for bunch in run.process(jobs):
            message, arrays = run.done(bunch)
            self._unfinished.discard(bunch.number)
            self.done.append(bunch.number)
            self._send(message, wire.parts_of(arrays))

    def _flush(self) -> None:
        """Process all frames that wait for a batch to be full."""
        for run, jobs in self._waiting.all():
            self._process(run, jobs)

    def _hand_over(self, run: Run) -> None:
        bunches, (described, arrays) = run.hand_over()
        self._send(
            wire.HandedOver(series=run.number, bunches=bunches, arrays=described), wire.parts_of(arrays)
        )

    def _hand_over_now(self, message: wire.HandOver, parts: Parts) -> None:
        self._flush()
        if (run := self._runs.get(message.series)) is not None:
            self._hand_over(run)
        else:
            self._send(wire.HandedOver(series=message.series, bunches=()))

    def _finish(self, message: wire.Finish, parts: Parts) -> None:
        run = self._known_run(message.series)
        try:
            totals = packing.totals(wire.arrays(message.arrays, parts), message.arrays)
            described, arrays = run.finish(totals)
        except ResultError as error:
            self._send(wire.Finished(series=run.number, error=str(error)))
        else:
            self._send(wire.Finished(series=run.number, arrays=described), wire.parts_of(arrays))

    def _end(self, message: wire.End, parts: Parts) -> None:
        self._flush()
        run = self._runs.pop(message.series, None)
        if run is not None and run.held_since is not None:
            self._hand_over(run)
        self._known_chain.end(message.series)
        self._source.end(message.series)

    def _configure(self, message: wire.Configure, parts: Parts) -> None:
        assert self._changes is not None
        self._changes.add(message)

    def take_prepared(self) -> None:
        """Answer that parameters are prepared, or refused, if they are."""
        if self._changes is not None:
            self._changes.take_prepared()

    def _use(self, message: wire.Use, parts: Parts) -> None:
        self._flush()  # they came before
        try:
            refused = self._known_chain.use(message.version)
        except Refusal as error:
            raise wire.WireError(str(error)) from error
        for series, why in refused.items():
            self._break(self._known_run(series), why)

    def _stop(self, message: wire.Stop, parts: Parts) -> None:
        self.why = message.why
        self.leave()

    # -- what is known ---------------------------------------------------------------------------------

    @property
    def _known_chain(self) -> Chain:
        assert self._chain is not None
        return self._chain

    def _known_run(self, series: int) -> Run:
        if (run := self._runs.get(series)) is None:
            raise wire.WireError(f"series {series} has not begun here")
        return run


TABLE: Mapping[tuple[State, type], Callable[[Session, Any, Parts], None]] = {
    (State.GREETED, wire.Welcome): Session._welcome,
    (State.GREETED, wire.Stop): Session._stop,
    (State.REFUSING, wire.Stop): Session._stop,
    (State.WORKING, wire.Begin): Session._begin,
    (State.WORKING, wire.Work): Session._work,
    (State.WORKING, wire.HandOver): Session._hand_over_now,
    (State.WORKING, wire.Finish): Session._finish,
    (State.WORKING, wire.End): Session._end,
    (State.WORKING, wire.Configure): Session._configure,
    (State.WORKING, wire.Use): Session._use,
    (State.WORKING, wire.Stop): Session._stop,
}
"""What a session does with a message, by its state; any other is an error of the other side."""
