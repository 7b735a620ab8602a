"""Channels in the distributor: what was recorded is read, joined to the frames of each series, and stored."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from penstock.processing import models
from penstock.processing.channels.join import Floats
from penstock.processing.channels.joining import Channel, Joining
from penstock.processing.channels.recording import Places, Reader
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.frames.account import Indices, State
from penstock.processing.distributor.frames.bunches import Item
from penstock.processing.distributor.frames.queues import indices_of
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.series.parts import Part
from penstock.processing.distributor.series.run import Phase, Run, storing
from penstock.processing.wire.shared_frames import SharedMemoryError

log = logging.getLogger(__name__)

STORE_SECONDS = 1.0
"""Seconds between two looks at what is recorded: all frames of that time are joined at once."""
NEEDED_SECONDS = 0.01
"""The same while frames wait for values to be processed."""


class Channels:
    """All channels of a pipeline.

    Args:
        config: of the pipeline.
        recording: where they are recorded; `None`: nowhere, of a pipeline on a file.
        schedule: has the frames that wait for values.
        break_off: processes no more of a series, for a reason.
    """

    def __init__(
        self, config: PipelineConfig, recording: Places | None, schedule: Schedule,
        break_off: Callable[[Run, str], None],
    ) -> None:  # fmt: skip
        self.all = [Channel(each) for each in config.channels]
        self.names = [channel.name for channel in self.all]
        self.needs: tuple[str, ...] | None = None if self.all else ()
        """Names of the channels that a step needs; `None` as long as no worker has said so."""
        self._by_time = any(channel.rule is not None for channel in self.all)
        self._late = config.late_seconds if recording is not None else 0.0
        self._reader = Reader(recording) if recording is not None and self.all else None
        self._schedule = schedule
        self._break_off = break_off
        self._due = 0.0

    # -- frames ----------------------------------------------------------------------------------------

    def begin(self, run: Run, started: float) -> None:
        """Let values be joined to the frames of a series."""
        if self.all:
            run.joining = Joining(self.all, self._late, started or time.time())
            run.rest.may_fill = lambda: self.may_fill(run, time.monotonic())
            run.rest.come = lambda items: self.come_from_file(run, items, time.monotonic())

    def learn(self, needs: tuple[str, ...]) -> None:
        """Take what a worker says of the channels that its steps need."""
        if self.all:
            self.needs = needs

    @property
    def hold(self) -> bool:
        """True if frames wait for values before they are given to workers."""
        return self.needs != ()

    def come(self, run: Run, part: Part, items: Sequence[Item], now: float) -> None:
        """Take the times of frames that have come by the stream."""
        joining = run.joining
        if joining is None or run.broken:
            return
        try:
            times = _times(part, items) if self._by_time else np.full(len(items), math.nan)
        except SharedMemoryError:  # the receiver has taken them back: they come once more
            return
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.error("the header of a frame cannot be read: %s", error)
            return
        if self._by_time and not joining.has_begun and math.isnan(times[0]):
            self._break_off(
                run,
                f"channels are joined by time, and frames of this series have no timestamp (frame "
                f"{items[0].index}): give by: frame for {', '.join(self._timed)}, remove them, or let the "
                "detector send timestamps",
            )
            return
        indices = indices_of(items)
        joining.come(indices, times, now + joining.wait, held=self.hold)

    def may_fill(self, run: Run, now: float) -> bool:
        """Return whether frames of the file can be joined to what they need: once a worker has said what that
        is, and late values have come."""
        if run.joining is None or self.needs == ():
            return True
        return self.needs is not None and now >= run.rest_after

    def come_from_file(self, run: Run, items: Sequence[Item], now: float) -> None:
        """Take frames of the file; what a step needs of them is joined now."""
        joining = run.joining
        if joining is None or not items:
            return
        indices = indices_of(items)
        times = self._in_file(run, indices)
        joining.come(indices, times, now)
        if self.needs:
            self._give(items, joining.values(self._needed, indices, times))

    def after_end(self, run: Run, now: float) -> None:
        """Take the frames that an earlier distributor has done without having joined them."""
        if run.joining is None or not run.was_resumed:
            return
        states = run.account.states
        indices = run.joining.unseen(np.flatnonzero((states == State.DONE) | (states == State.FAILED)))
        run.joining.come(indices, self._in_file(run, indices), now)

    # -- the loop --------------------------------------------------------------------------------------

    def poll_seconds(self, runs: Iterable[Run], longest: float) -> float:
        """Return how long the loop may wait for something else."""
        waits = self.needs and any(run.joining is not None and run.joining.held for run in runs)
        return NEEDED_SECONDS if waits else longest

    def step(self, runs: Sequence[Run], now: float) -> None:
        """Read what was recorded, let frames go whose values are there, store what is due."""
        if not self.all:
            return
        if self.needs == ():
            for run in runs:
                if run.joining is not None and run.joining.held:
                    run.joining.release()
                    for number in run.numbers:
                        self._schedule.release(number)
        ends = any(run.phase is Phase.REST and run.joining is not None and run.joining.waits for run in runs)
        is_due = now >= self._due or ends
        waits = self.needs and any(run.joining is not None and run.joining.held for run in runs)
        if not is_due and not waits:
            return
        self._read()
        for run in runs:
            if self.needs and run.joining is not None:
                self._let_go(run, run.joining, now)
            if is_due and run.joining is not None:
                self._store(run, run.joining, now)
        if is_due:
            self._due = now + STORE_SECONDS

    def flush(self, runs: Iterable[Run]) -> None:
        """Join all frames now: the recording ends."""
        self._read()
        for run in runs:
            if run.joining is not None:
                self._store(run, run.joining, math.inf)
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    # -- what is said ----------------------------------------------------------------------------------

    def status(self) -> list[models.Channel]:
        """Return the status of each channel."""
        return [
            models.Channel(
                name=channel.name, attribute=channel.config.attribute, how=channel.how,
                problem=channel.problem[:300], values=channel.history.total,
            )
            for channel in self.all
        ]  # fmt: skip

    # -- within ----------------------------------------------------------------------------------------

    @property
    def _needed(self) -> list[Channel]:
        return [channel for name in self.needs or () for channel in self.all if channel.name == name]

    @property
    def _timed(self) -> list[str]:
        return [channel.name for channel in self.all if channel.rule is not None]

    def _in_file(self, run: Run, indices: Indices) -> Floats:
        """Return the times of frames, as their file has them."""
        times = None if run.rest.frames is None else run.rest.frames.times
        found = np.full(len(indices), math.nan)
        if times is not None:
            there = indices < len(times)
            found[there] = times[indices[there]]
        return found

    def of(self, items: Sequence[Item]) -> dict[str, tuple[float | None, ...]]:
        """Return the values that steps need of frames, by the names of the channels."""
        needs = self.needs or ()
        return {
            name: tuple(item.channels[place] if item.channels else None for item in items)
            for place, name in enumerate(needs)
        }

    def _read(self) -> None:
        if self._reader is None:
            return
        for news in self._reader.news():
            channel = self.all[news.channel]
            channel.how, channel.problem, channel.unit = news.how, news.problem, news.unit or channel.unit
        records = self._reader.values()
        if not len(records):
            return
        for place, channel in enumerate(self.all):
            own = records[records["channel"] == place]
            channel.history.add(own["time"], own["value"], own["number"])

    def _let_go(self, run: Run, joining: Joining, now: float) -> None:
        joining.needs = self.needs or ()
        for joined in joining.ripe(now):
            columns = [joined.columns[name].values.tolist() for name in self.needs or ()]
            values = dict(zip(joined.indices.tolist(), zip(*columns, strict=True), strict=True))
            for number in run.numbers:
                self._schedule.release(number, values)

    def _give(self, items: Sequence[Item], columns: dict[str, Any]) -> None:
        rows = zip(*(columns[name].values.tolist() for name in self.needs or ()), strict=True)
        for item, row in zip(items, rows, strict=True):
            item.channels = row

    def _store(self, run: Run, joining: Joining, now: float) -> None:
        joined = joining.due(now)
        if joined is None or run.broken:
            return
        with storing(run, self._break_off):
            run.store.channels(joined)


def _times(part: Part, items: Sequence[Item]) -> Floats:
    """Return the times of frames; NaN where they have none.

    Raises:
        SharedMemoryError: the receiver has taken them back.
        DecodeError: a header is none.
    """
    memory, decode = part.memory, _decoder.decode
    if items[0].shared:
        assert memory is not None and part.layout is not None
        headers: Sequence[Any] = memory.headers(part.layout, [item.content for item in items])
    else:
        headers, memory = [item.content[0] for item in items], None
    try:
        found = [decode(header).timestamp for header in headers]
    except (msgspec.DecodeError, UnicodeDecodeError):
        if memory is None or memory.is_current:
            raise
        found = []
    if memory is not None and not memory.is_current:
        raise SharedMemoryError(f"{memory.path}: the receiver has taken frames back")
    return np.array(found, float)  # where there is none, NaN


class _Header(msgspec.Struct):
    """What is read of the header of a frame."""

    timestamp: float | None = None


_decoder = msgspec.json.Decoder(_Header)
