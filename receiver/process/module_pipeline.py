"""The data process' pipeline where several streams make one image: a joiner stands before the collector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.ingest import Ingest
from penstock.receiver.connection.module_sockets import ModuleIngest
from penstock.receiver.merge.collector import ModuleCollector
from penstock.receiver.merge.events import NotTaken
from penstock.receiver.merge.merge import Cut, Event, Merge, Stale
from penstock.receiver.models import Status
from penstock.receiver.process.pipeline import Pipeline
from penstock.receiver.process.states import State
from penstock.receiver.processing.frame_processor import FrameProcessor
from penstock.receiver.processing.joined import JoinedFrame
from penstock.receiver.processing.module_processor import ModuleProcessor
from penstock.receiver.series.collector import Collector
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.receiver.sources import create
from penstock.stins.errors import StinsError


class ModulePipeline(Pipeline):
    """As `Pipeline`, each endpoint being one module of the detector."""

    def _stages(self, config: ReceiverConfig) -> tuple[Ingest, FrameProcessor, Collector]:
        source = config.source
        self._arrivals = ModuleIngest(source)
        # A decoder remembers what its stream has said.
        self._sources = [create(source.type) for _ in source.endpoints]
        processor = ModuleProcessor(config.transforms, config.workers, self._budget)
        self._entry = ModuleCollector(config, self, processor)
        self._joiner = Merge(
            source.endpoints,
            self._entry.has,
            gap=config.gap.seconds,
            within=source.join_seconds,
            gone_after=config.peer_gone,
            hold=config.hold_mb * 1e6,
            origin=source.frame_origin,
        )
        return self._arrivals, processor, self._entry

    def stop(self, reason: str) -> None:
        """End the running series, if there is one; what waits for other modules goes into it before."""
        now = self._clock() - self._held_back
        self._pass_on(self._joiner.flush(), now)
        self._drain(now)
        super().stop(reason)

    def status(self, version: int) -> Status:
        """A snapshot of everything."""
        status = super().status(version)
        series = status.series
        if series is not None and series.active and (warning := self._joiner.warning):
            series = replace(series, reason="; ".join(filter(None, (series.reason, warning))))
        waits_for = self._joiner.waits_for
        if waits_for or series is not status.series:
            status = replace(status, series=series, waits_for=waits_for)
        return status

    def _waiting(self) -> dict[str, int]:
        return {**super()._waiting(), "held": self._joiner.held_bytes}

    def _take(self, now: float) -> None:
        super()._take(now)
        moment = now - self._held_back
        connected = [item.connections > 0 for item in self.ingest.connections()]
        self._pass_on(self._joiner.tick(moment, self._arrivals.idle, connected), moment)
        self._drain(moment)

    def _receive(self, parts: list[memoryview], now: float) -> None:
        module = self._arrivals.module
        if self.machine.state is State.ERROR:
            self._drop(self._sources[module], parts)
            return
        timed = self._times.on
        if timed:
            self._times.lap("receive")
        try:
            decoded = self._sources[module].decode(parts)
        except StinsError as error:
            self.bad_message(error)
            return
        if timed:
            self._times.lap("decode")
        self._entry.on_message(now)
        for message in decoded if isinstance(decoded, tuple) else (decoded,):
            if isinstance(message, StinsError):
                self.bad_message(message)
            else:
                self._pass_on(self._joiner.take(module, message, now), now)

    def _pass_on(self, events: Iterable[Event], now: float) -> None:
        for event in events:
            if isinstance(event, Stale):
                self._entry.drop(event)
            elif isinstance(event, StinsError):
                if isinstance(event, NotTaken) and self._collector.series is None:
                    self.not_taken(event.header, event)
                self.bad_message(event)
            elif isinstance(event, Cut):
                self._drain(now)
                self._guarded(partial(self._collector.stop, event.cause, now))
            elif self._prefetch is None:
                self._turn(event, now)
            else:
                for ready in self._prefetch.push(event, self._collector.series is not None):
                    self._turn(ready, now)

    def _drain(self, now: float) -> None:
        if self._prefetch is not None:
            for ready in self._prefetch.drain():
                self._turn(ready, now)

    def _fail(self, error: Exception) -> None:
        super()._fail(error)  # type: ignore[arg-type]
        self._drained += self._joiner.forget()

    # -- the collector's sink ------------------------------------------------------------------

    def late_modules(self, series: RunningSeries, index: int, frame: JoinedFrame) -> None:
        """Modules that came after their frame: into the file. Consumers and live view have had the frame."""
        if series.writes and self._writer is not None and not frame.image.discard:
            self._writer.complete(index, frame)

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """The series has ended: close its file, then say so."""
        super().end(series, outcome, failed)
        self._drained += self._joiner.over(series.id)
