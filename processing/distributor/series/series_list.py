"""The series of a pipeline: how they begin, by the stream or by the receiver's word; frames that come."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.processing import wire
from penstock.processing.distributor.frames.account import State
from penstock.processing.distributor.frames.bunches import Item
from penstock.processing.distributor.frames.queues import indices_of
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.link import Setup
from penstock.processing.distributor.receiver.events import Begun as SaidToBegin
from penstock.processing.distributor.receiver.events import Over
from penstock.processing.distributor.series.answers import Answers
from penstock.processing.distributor.series.channels import Channels
from penstock.processing.distributor.series.from_files import FromFiles, missed_series, whole_file
from penstock.processing.distributor.series.parts import Part, Parts
from penstock.processing.distributor.series.past import PastSeries
from penstock.processing.distributor.series.result_places import ResultPlaces
from penstock.processing.distributor.series.run import Phase, Run, storing
from penstock.processing.distributor.workers import Workers
from penstock.processing.models import Ending
from penstock.processing.results.errors import ResultError
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.messages import Header, SeriesEnd
from penstock.stins.shared import Reference

log = logging.getLogger(__name__)

READ = (Phase.REST, Phase.FINISHING, Phase.OVER)
"""Phases in which nothing of a series is taken from the stream any more."""


class SeriesList:
    """All series of one pipeline that are not over, and the last ones that are.

    Args:
        setup: from the parent.
        schedule: has their frames.
        workers: the workers, which are told of each series.
    """

    def __init__(self, setup: Setup, schedule: Schedule, workers: Workers) -> None:
        self.setup = setup
        self.config = setup.config
        self.schedule = schedule
        self.workers = workers
        workers.begun = self._begun
        # Of a file the command says at its end why, and once is enough.
        self.answers = Answers(
            schedule,
            setup.config.errors,
            self.fail,
            self.break_off,
            workers.versions.version_of,
            is_quiet=bool(setup.file),
        )
        self.runs: dict[str, Run] = {}
        """Series that are not over, by id, in the order in which they began."""
        self.from_files = FromFiles(self.runs, self._missed, self.is_over)
        self.past = PastSeries(setup.over, setup.shown)
        """Series that are over."""
        self.streamed: Run | None = None
        """The series that the stream brings now. It need not be the newest one: of others that are taken from
        their files the receiver may tell later."""
        self._is_ending = False
        self.error = ""
        """Why the pipeline is in Error; a sentence."""
        self.ask: Callable[[str, Sequence[str] | None], None] = lambda _series, _channels: None
        """Asks the receiver about a series that has begun."""
        self.ask_end: Callable[[str], None] = lambda _series: None
        """Asks the receiver for the end of a series of which the stream brings no more."""
        self.channels = Channels(setup.config, setup.recording, schedule, self.break_off)
        workers.channels, workers.needs = tuple(self.channels.names), self.channels.learn
        self._places = ResultPlaces(setup, schedule, workers.versions, self.answers)
        self._parts = Parts()
        self.drain(setup.ending)

    def drain(self, on: bool) -> None:
        """Take no new series.

        Args:
            on: `False` to take series again.
        """
        self._is_ending = self.from_files.is_held = on

    @property
    def ending(self) -> Ending:
        """How far it ends: "draining" or "drained"; "" while new series are taken."""
        return "" if not self._is_ending else "draining" if self.runs else "drained"

    # -- the beginning ---------------------------------------------------------------------------------

    def began(self, header: Header, metadata: bytes) -> None:
        """A start message has come."""
        name = header.series or f"series-{self._parts.next_number}"
        for other in self.runs.values():
            if other.name != name:
                self._is_left(other)
        run = self.runs.get(name)
        if run is None and self.ending:  # it is taken from its file, by the next pipeline or later
            self.streamed = None
            return
        if run is None:
            run = self.runs[name] = Run(name, self.schedule, header.frames)
            run.announced = header.frames
            self.channels.begin(run, 0.0)
            if self.error:
                run.broken = self.error
                run.said.append(f"it began while the pipeline was in Error: {self.error}")
            channels = None if b'"pixel_mask"' in metadata else tuple(header.channels or ())
            self.ask(name, channels)
        elif run.phase in READ:  # the receiver has told sooner than the stream that it is over
            self.streamed = run
            return
        else:  # the receiver was killed, and is back
            run.take_back()
            if run.phase is Phase.ENDED:
                run.phase, run.end = Phase.LIVE, None
        self._add(run, self._parts.make(header, metadata))
        self.streamed = run

    def known(self, run: Run, said: SaidToBegin) -> None:
        """The receiver has said where a series is kept that has begun: workers are told of it."""
        if run.phase is not Phase.BEGINNING:
            return
        run.file, run.mask, run.started, run.phase = said.file, said.mask, said.started, Phase.LIVE
        if run.joining is not None and said.started:
            run.joining.started = said.started
        if not run.broken:
            with storing(run, self.break_off):
                self._places.open(run, said)
        if not run.broken and run.finished is None:
            for part in run.parts:
                self.workers.say_all(*run.message(part))

    def is_over(self, over: Over) -> None:
        """The receiver has closed a series' file; what is missing is taken from it."""
        run = self.runs.get(over.series)
        if run is not None:
            run.over = over
            if run.phase is Phase.BEGINNING:
                self.known(run, SaidToBegin(over.series, over.file, over.detector, over.started, run.mask))
        elif not self.past.has(over):
            self.from_files.take(over)

    def is_forgotten(self, series: str) -> None:
        """The receiver does not know a series (any more): nobody says what is missing, or that it goes on."""
        run = self.runs.get(series)
        if run is None or run.over is not None:
            return
        rest = "dropped" if run.file is None else f"taken from {run.file} as it is"
        run.said.append(
            f"the receiver at {self.config.receiver} does not know this series (any more): frames that were "
            f"not taken live are {rest}"
        )
        self.is_over(Over(series, run.file, "", 0.0, 0.0, 0, (), ""))

    def process_file(self, path: str) -> None:
        """Process the frames of a file; those that it does not have are absent."""
        try:
            over = whole_file(path)
        except ReaderError as error:
            self.fail(str(error))
        else:
            self._missed(over)

    @property
    def latest(self) -> Run | None:
        """The series that began last."""
        return next(reversed(self.runs.values()), None)

    # -- frames ----------------------------------------------------------------------------------------

    def referenced(self, references: Sequence[Reference]) -> None:
        """References to frames have come."""
        run = self.streamed
        items = [
            Item(each.frame, each, each.header_bytes + sum(each.blob_bytes), True) for each in references
        ]
        unwanted = items if run is None else self._come(run, items)
        if unwanted:
            self._parts.free([item.content.slot for item in unwanted])

    def by_value(self, index: int, parts: list[Any]) -> None:
        """A frame has come by value."""
        run = self.streamed
        if run is None:
            return
        nbytes = sum(map(len, parts))
        if not self._come(run, [Item(index, parts, nbytes)]):
            self.answers.value_bytes += nbytes

    def _come(self, run: Run, items: list[Item]) -> list[Item]:
        """Queue frames; return those that are not wanted."""
        unwanted = run.come(items, early=self.channels.hold)
        if run.joining is not None and len(unwanted) < len(items):
            wanted = [item for item in items if item not in unwanted] if unwanted else items
            self.channels.come(run, run.parts[-1], wanted, time.monotonic())
        return unwanted

    @property
    def is_full(self) -> bool:
        """True if no more frames are to be read by value: the receiver drops and counts them."""
        return self.answers.value_bytes >= self.config.queue_mb * 1e6

    # -- the end ---------------------------------------------------------------------------------------

    def ended(self, end: SeriesEnd) -> None:
        """The end message of the stream's series has come."""
        if self.streamed is not None:
            self.streamed.end = end
            self._ask_end(self.streamed)

    def stream_has_ended(self) -> None:
        """The connection to the receiver has ended: it sends no more of the series."""
        if self.streamed is not None:
            self._is_left(self.streamed)

    def forget(self, run: Run) -> None:
        """Let go of a series that is over."""
        for number in run.numbers:
            self.workers.say_all(wire.End(series=number))
            self.answers.release(number, self.schedule.drop(number))
            self.schedule.end(number)
            del self.answers.runs[number]
        if self.streamed is run:
            self.streamed = None
        run.close()
        del self.runs[run.name]
        self.past.add(run, self.config.receiver)

    def break_off(self, run: Run, why: str) -> None:
        """Process no more of a series; what is not final is dropped."""
        if run.broken:
            return
        if not self.setup.file:
            log.error("series %s: %s", run.name, why)
        run.broken = why
        run.said.append(why)
        for number in run.numbers:
            gone = self.schedule.drop(number)
            self.answers.release(number, gone)
            with contextlib.suppress(ResultError):  # that may be the reason
                run.store.file.status(np.sort(indices_of(gone)), State.DROPPED)

    def fail(self, why: str) -> None:
        """Be in Error: frames are dropped, and can be processed from the file later."""
        if self.error:
            return
        self.error = why
        for run in self.runs.values():
            self.break_off(run, why)

    def reset(self) -> None:
        """Leave Error, from the next series on."""
        self.error = ""
        self.answers.reset()

    def close(self) -> None:
        """Close everything as it is."""
        for run in self.runs.values():
            run.close()
        self._parts.close()

    # -- within ----------------------------------------------------------------------------------------

    def _is_left(self, run: Run) -> None:
        """The stream brings no more of a series, whether or not it has said so."""
        if not run.stream_is_over:
            run.stream_is_over = True
            if run.end is None:
                self._ask_end(run)

    def _ask_end(self, run: Run) -> None:
        """Ask the receiver for the end of a series, unless that is known."""
        if run.over is None:
            self.ask_end(run.name)

    def _add(self, run: Run, part: Part) -> None:
        run.add(part)
        self.answers.runs[part.number] = run
        if run.phase is Phase.LIVE:
            self.workers.say_all(*run.message(part))

    def _missed(self, over: Over) -> None:
        """Take a series from its file of which nothing has come by the stream."""
        found = missed_series(over, self._places.path(over.series, over.file))
        if found is None:
            return
        run = self.runs[over.series] = Run(over.series, self.schedule, found.planned)
        self.channels.begin(run, over.started)
        run.rest.frames, run.over = found.frames, over
        if self.error:
            run.broken = self.error
            run.said.append(f"the pipeline is in Error: {self.error}")
        self._add(run, self._parts.make(found.header, found.metadata))
        run.stream_is_over = True
        self.known(run, SaidToBegin(over.series, over.file, over.detector, over.started, found.mask))

    def _begun(self) -> Iterator[tuple[wire.Begin, list[Any]]]:
        for run in self.runs.values():
            if run.phase not in (Phase.BEGINNING, Phase.OVER):
                for part in run.parts:
                    yield run.message(part)
