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
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from math import nan
from threading import Thread
from typing import Any, TypeAlias

from penstock.processing import wire
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame, Processor
from penstock.processing.series import from_start
from penstock.processing.wire import descriptions
from penstock.processing.wire.shared_frames import SharedFrames, SharedMemoryError
from penstock.processing.worker import packing
from penstock.processing.worker.chain import Chain, Preparation, Refusal
from penstock.processing.worker.loading import LoadingError
from penstock.processing.worker.packing import ResultError
from penstock.processing.worker.parameters import ParameterError
from penstock.processing.worker.running import Bunch, Job, Run
from penstock.processing.worker.waiting import Waiting
from penstock.stins.messages import Buffer, SharedMemory
from penstock.stins.shared import Layout

log = logging.getLogger(__name__)

Parts: TypeAlias = "list[Buffer]"


class State(Enum):
    """The state of a session, with what it waits for."""

    GREETED = auto()
    """For `Welcome`."""
    WORKING = auto()
    """For frames."""
    REFUSING = auto()
    """For `Stop`, or another distributor: this one's code or parameters are refused."""
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
        """By which the distributor knows this worker; "" before `Welcome`."""
        self.done: deque[int] = deque(maxlen=wire.CREDITS)
        """Numbers of the bunches that were answered last: of no others may the answer be under way."""
        self._send = send
        self._pool = Pool()
        self._chain: Chain | None = None
        self._runs: dict[int, Run] = {}
        self._memory: SharedFrames | None = None
        self._layouts: dict[int, tuple[SharedFrames, Layout]] = {}
        self._hand_over_seconds = 1.0
        self._waiting = Waiting(1, 0.0)
        self._unfinished: set[int] = set()
        """Numbers of bunches that are not answered yet."""
        self._wake = wake
        self._changes: deque[wire.Configure] = deque()
        """Changes of parameters that are not prepared yet."""
        self._preparation: Preparation | None = None
        """The one that is being prepared."""

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
            if not self.is_trusted and any(step.source for step in message.steps):
                raise LoadingError(
                    "the distributor has sent source text over a connection that is not encrypted, and "
                    "everybody in between could have written it: start distributor and worker with a key, or "
                    "name the class by an installed module"
                )
            self._chain = chain = Chain(message.steps)
            _check(chain, message.channels)
        except (LoadingError, ParameterError) as error:
            self._refuse("code", str(error))
            return
        try:
            chain.prepare(message.version, message.parameters)
            chain.use(message.version)
        except (ParameterError, Refusal) as error:
            self._refuse("parameters", str(error), message.version)
            return
        self._hand_over_seconds = message.hand_over_seconds
        self._waiting = Waiting(chain.batch, chain.batch_seconds)
        self.state = State.WORKING
        self._send(
            wire.Ready(
                version=message.version, parameters=chain.described, ordered=chain.ordered, batch=chain.batch,
                preparation=chain.preparation_text,
                needs=chain.needs,
                shares=message.shared is not None and self._open(message.shared) is not None,
                finishes=chain.finishes,
            )
        )  # fmt: skip

    def _refuse(self, what: Any, why: str, number: int = 0) -> None:
        self._send(wire.Refused(what=what, why=why, version=number))
        self.state, self.refusal = State.REFUSING, why

    def _begin(self, message: wire.Begin, parts: Parts) -> None:
        chain, number = self._known_chain, message.series
        if (shared := message.header.shared) is not None and (memory := self._open(shared)) is not None:
            self._layouts[number] = memory, Layout(shared.slots, shared.slot_bytes)
        steps: list[Processor] = []
        try:
            steps = chain.begin(number, from_start(message.header, parts))
            plots, axes = descriptions.texts(chain.describe(steps))
        except (Refusal, ValueError) as error:
            self._runs[number] = run = Run(number, chain, steps)
            self._break(run, str(error))
            return
        self._runs[number] = Run(number, chain, steps)
        self._send(wire.Started(series=number, plots=plots, shares=number in self._layouts), axes)

    def _break(self, run: Run, why: str) -> None:
        run.broken = why
        self._send(wire.Refused(what="start", why=why, series=run.number))

    def _work(self, message: wire.Work, parts: Parts) -> None:
        chain, run = self._known_chain, self._known_run(message.series)
        if message.references and message.series not in self._layouts:
            places = tuple(range(len(message.references)))
            done = wire.Done(series=run.number, bunch=message.bunch, version=0, seconds=0.0, unread=places)
            self._send(done)
            return
        jobs = self._jobs(message, parts)
        if message.channels:
            _give(jobs, message.channels)
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

    def _jobs(self, message: wire.Work, parts: Parts) -> list[Job]:
        pool = self._pool
        if message.references:
            memory, layout = self._layouts[message.series]
            bunch = Bunch(message.bunch, len(message.references), lambda: memory.is_current)
            return [
                Job(Frame(reference.frame, partial(memory.frame, layout, reference), pool), bunch, place)
                for place, reference in enumerate(message.references)
            ]
        if len(message.indices) != len(message.parts) or sum(message.parts) != len(parts):
            raise wire.WireError(f"parts and frames of bunch {message.bunch} do not agree")
        bunch, jobs, first = Bunch(message.bunch, len(message.indices), lambda: True), [], 0
        for place, (index, count) in enumerate(zip(message.indices, message.parts, strict=True)):
            header, *blobs = parts[first : first + count]
            jobs.append(Job(Frame(index, (header, blobs), pool), bunch, place))
            first += count
        return jobs

    def _process(self, run: Run, jobs: list[Job]) -> None:
        for bunch in run.process(jobs):
            message, arrays = run.done(bunch)
            self._unfinished.discard(bunch.number)
            self.done.append(bunch.number)
            self._send(message, arrays)

    def _flush(self) -> None:
        """Process all frames that wait for a batch to be full."""
        for run, jobs in self._waiting.all():
            self._process(run, jobs)

    def _hand_over(self, run: Run) -> None:
        bunches, (described, arrays) = run.hand_over()
        self._send(wire.HandedOver(series=run.number, bunches=bunches, arrays=described), arrays)

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
            self._send(wire.Finished(series=run.number, arrays=described), arrays)

    def _end(self, message: wire.End, parts: Parts) -> None:
        self._flush()
        run = self._runs.pop(message.series, None)
        if run is not None and run.held_since is not None:
            self._hand_over(run)
        self._known_chain.end(message.series)
        self._layouts.pop(message.series, None)

    def _configure(self, message: wire.Configure, parts: Parts) -> None:
        self._changes.append(message)
        self._prepare_next()

    def _prepare_next(self) -> None:
        """Begin with the next change; frames are processed with the old parameters meanwhile."""
        while self._preparation is None and self._changes:
            message = self._changes.popleft()
            try:
                self._preparation = self._known_chain.preparation(message.version, message.parameters)
            except ParameterError as error:
                self._send(wire.Refused(what="parameters", why=str(error), version=message.version))
                continue
            if self._wake is None:
                self._preparation.run()
                self.take_prepared()
            else:
                Thread(target=self._run, args=(self._preparation, self._wake), daemon=True).start()

    @staticmethod
    def _run(preparation: Preparation, wake: Callable[[], None]) -> None:
        preparation.run()
        wake()

    def take_prepared(self) -> None:
        """Answer that parameters are prepared, or refused, if they are."""
        preparation = self._preparation
        if preparation is None or not preparation.is_done:
            return
        self._preparation = None
        try:
            self._known_chain.take(preparation)
        except Refusal as error:
            self._send(wire.Refused(what="parameters", why=str(error), version=preparation.version))
        else:
            self._send(wire.Ready(version=preparation.version))
        self._prepare_next()

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

    def _open(self, shared: SharedMemory) -> SharedFrames | None:
        """Return the shared memory, opened once; `None` if it cannot be read here."""
        if self._memory is None or (self._memory.path, self._memory.nonce) != (shared.path, shared.nonce):
            try:
                self._memory = SharedFrames(shared.path, shared.nonce)
            except SharedMemoryError as error:
                log.info("frames come by TCP: %s", error)
                return None
        return self._memory


def _check(chain: Chain, channels: Sequence[str]) -> None:
    """Refuse classes that need other channels than there are.

    Raises:
        LoadingError: one does.
    """
    for name in chain.needs:
        if name not in channels:
            has = ", ".join(channels) or "none"
            raise LoadingError(
                f"{chain.names} needs the channel {name}, and the pipeline has {has}: add it to channels in "
                "the pipeline's file"
            )


def _give(jobs: Sequence[Job], channels: Mapping[str, Sequence[float | None]]) -> None:
    """Give frames the values of channels that they need.

    Raises:
        WireError: there is not one for each frame.
    """
    if any(len(values) != len(jobs) for values in channels.values()):
        raise wire.WireError("frames of a bunch, and values of channels, do not agree")
    for place, job in enumerate(jobs):
        found = {name: values[place] for name, values in channels.items()}
        job.frame.channels = {name: nan if value is None else value for name, value in found.items()}


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
