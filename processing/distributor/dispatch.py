"""Dispatch frames to workers: where they lie in the shared memory or in a file, or with their pixels."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock.processing import wire
from penstock.processing.distributor.frames.bunches import Bunch, Item, Way
from penstock.processing.distributor.series.parts import Part
from penstock.processing.distributor.series.run import Phase, Run, storing
from penstock.processing.distributor.series.series_list import SeriesList
from penstock.processing.sources.file import FileFrames
from penstock.processing.wire.shared_frames import SharedMemoryError, StaleMemory
from penstock.receiver.reading.reader import ReaderError


class Dispatch:
    """Sends bunches.

    Args:
        series: whose frames are given.
    """

    def __init__(self, series: SeriesList) -> None:
        self.is_over = False
        """True if no more frames are given."""
        self.longest_pause = 0.0
        """Longest time in seconds between two bunches that were given, while frames waited and there was a
        worker for them."""
        self._waiting_since: float | None = None
        """Time at which the last bunch was given, or frames came; `None` if none waits now."""
        self._series = series
        self._schedule = series.schedule
        self._workers = series.workers

    def give(self, now: float) -> None:
        """Give frames to workers that have room."""
        if self.is_over:
            return
        held_back = {
            number
            for run in self._series.runs.values()
            if run.phase is Phase.BEGINNING
            for number in run.numbers
        }
        while (bunch := self._schedule.next(now, held_back)) is not None:
            self._end_pause(now)
            run = self._series.answers.runs[bunch.series]
            part = run.part(bunch.series)
            if part.is_stale and any(item.shared for item in bunch.items):
                self._take_back(run, bunch)
                continue
            run.next_frame = max(run.next_frame, int(bunch.indices.max()) + 1)
            self._send(run, part, bunch)
        if not self._schedule.has_waiting(held_back):
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = now

    def _end_pause(self, now: float) -> None:
        """Take note of a bunch that is given: frames may have waited since the one before, or, if none did,
        since the loop has woken up."""
        moment = time.monotonic()
        since = now if self._waiting_since is None else self._waiting_since
        self.longest_pause = max(self.longest_pause, moment - since)
        self._waiting_since = moment

    def _send(self, run: Run, part: Part, bunch: Bunch) -> None:
        member = self._workers.members[bunch.worker]
        channels = self._series.channels.of(bunch.items) if self._series.channels.needs else {}
        about: dict[str, Any] = {
            "series": bunch.series, "bunch": bunch.number, "alone": bunch.alone, "channels": channels
        }  # fmt: skip
        if bunch.way is Way.MEMORY:
            references = tuple(item.content for item in bunch.items)
            self._workers.say(member, wire.Work(references=references, **about))
            return
        if bunch.way is Way.FILE:
            assert run.rest.frames is not None
            stored, files, heads = in_files(run.rest.frames, bunch)
            self._workers.say(member, wire.Work(stored=stored, files=files, **about), heads)
            return
        counts: list[int] = []
        parts: list[Any] = []
        bad: dict[int, str] = {}
        for place, item in enumerate(bunch.items):
            try:
                found = self._content(run, part, item)
            except StaleMemory:
                self._take_back(run, bunch)
                return
            except (ReaderError, SharedMemoryError) as error:
                bad[place] = str(error)
                continue
            counts.append(len(found))
            parts += found
        if bad:
            self._without(run, bunch, bad)
            return
        indices = tuple(bunch.indices.tolist())
        self._workers.say(member, wire.Work(indices=indices, parts=tuple(counts), **about), parts)

    def _take_back(self, run: Run, bunch: Bunch) -> None:
        """Let frames be pending again that the receiver has taken back; the others of their bunch wait."""
        settled = self._schedule.settle(bunch, unread=range(len(bunch.items)))
        self._schedule.come(bunch.series, [item for item in settled.unread if not item.shared])
        run.take_back()

    def _without(self, run: Run, bunch: Bunch, bad: Mapping[int, str]) -> None:
        """Let frames fail that cannot be read, and queue the others of their bunch again."""
        others = [place for place in range(len(bunch.items)) if place not in bad]
        settled = self._schedule.settle(bunch, failed=bad, unread=others)
        self._schedule.come(bunch.series, settled.unread)
        self._series.answers.release(bunch.series, settled.final)
        with storing(run, self._series.break_off):
            run.store.settled(bunch, 0, "distributor", self._workers.versions.version, bad, others, False)

    def _content(self, run: Run, part: Part, item: Item) -> list[Any]:
        if item.shared:
            assert part.memory is not None and part.layout is not None
            header, blobs = part.memory.frame(part.layout, item.content)
            return [header, *blobs]
        if item.content is not None:
            return list(item.content)
        assert run.rest.frames is not None
        return run.rest.frames.parts(item.index)


def in_files(
    frames: FileFrames, bunch: Bunch
) -> tuple[tuple[wire.StoredFrame, ...], tuple[wire.StoredFile, ...], list[bytes]]:
    """Return where the frames of a bunch lie, in which files, and the header of each."""
    files: dict[wire.StoredFile, int] = {}
    stored, heads = [], []
    for item in bunch.items:
        blobs = tuple(
            (0 if file is None else files.setdefault(file, len(files)), offset, size)
            for _, file, offset, size in item.located
        )
        stored.append(wire.StoredFrame(item.index, blobs))
        compression = next(each for each, file, _, _ in item.located if file is not None)
        heads.append(frames.head(item.index, compression))
    return tuple(stored), tuple(files), heads
