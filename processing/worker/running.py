"""A series in a worker: its frames go through the steps, and each is done, failed or unread then."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.processing.processor import Frame, Processor, end, memory
from penstock.processing.wire import Done
from penstock.processing.worker import packing
from penstock.processing.worker.chain import Chain, is_batch
from penstock.processing.worker.frame_watch import FrameWatch
from penstock.processing.worker.packing import Checked, Parts, ResultError, Results, Rows
from penstock.stins.texts import plural


class Bunch:
    """A bunch of frames while it is processed.

    Args:
        number: the distributor's number of it.
        n: number of frames.
        is_current: whether the frames' memory still holds them.
    """

    __slots__ = ("errors", "held", "is_current", "left", "number", "rows", "seconds", "unread")

    def __init__(self, number: int, n: int, is_current: Callable[[], bool]) -> None:
        self.number = number
        self.left = n
        """Frames that are not processed yet."""
        self.is_current = is_current
        self.rows = Rows(n)
        self.errors: dict[int, str] = {}
        self.unread: list[int] = []
        self.held = False
        self.seconds = 0.0


class Job:
    """One frame of a bunch."""

    __slots__ = ("bunch", "error", "frame", "place", "values")

    def __init__(self, frame: Frame, bunch: Bunch, place: int) -> None:
        self.frame = frame
        self.bunch = bunch
        self.place = place
        self.values: list[Checked] = []
        self.error = ""


class Run:
    """One series in this worker.

    Args:
        number: the distributor's number of the series.
        chain: the steps.
        steps: their instances.
        watch: on the time for a frame; `None` if it may take any.
    """

    def __init__(
        self, number: int, chain: Chain, steps: Sequence[Processor], watch: FrameWatch | None = None
    ) -> None:
        self.number = number
        self.broken = ""
        """Why no frame of this series can be processed; a sentence."""
        self.held_since: float | None = None
        """Monotonic time of the first bunch that went into accumulated values that are still here."""
        self._chain = chain
        self._steps = steps
        self._watch = watch
        self._results = Results()
        self._held: list[int] = []
        self._next = 0
        """Index behind the last frame that was here."""

    def process(self, jobs: Sequence[Job]) -> list[Bunch]:
        """Process frames, together if there are several; return the bunches that are complete now."""
        for job in jobs:
            job.frame.gap = max(0, job.frame.index - self._next)
            self._next = max(self._next, job.frame.index + 1)
        began = time.perf_counter()
        if self._watch is not None:
            self._watch.begin(jobs[0].frame.index, len(jobs))
        if self.broken:
            for job in jobs:
                job.error = self.broken
        elif len(jobs) == 1:
            for step in self._steps:
                self._step(step, jobs)
        else:
            for step in self._steps:
                size = type(step).batch if is_batch(type(step)) else 1
                for first in range(0, len(jobs), size):
                    self._step(step, jobs[first : first + size])
        if self._watch is not None:
            self._watch.end()
        for job in jobs:
            self._end(job)
        seconds = (time.perf_counter() - began) / len(jobs)
        complete = []
        for job in jobs:
            bunch = job.bunch
            bunch.seconds += seconds
            bunch.left -= 1
            if not bunch.left:
                complete.append(bunch)
        return complete

    def done(self, bunch: Bunch) -> tuple[Done, list[Any]]:
        """Return the message about a complete bunch, and its arrays."""
        described, arrays = bunch.rows.packed()
        if bunch.held:
            self._held.append(bunch.number)
            if self.held_since is None:
                self.held_since = time.monotonic()
        message = Done(
            series=self.number, bunch=bunch.number, version=self._chain.version, seconds=bunch.seconds,
            errors=bunch.errors, unread=tuple(bunch.unread), arrays=described, held=bunch.held,
        )  # fmt: skip
        return message, arrays

    def hand_over(self) -> tuple[tuple[int, ...], Parts]:
        """Return the accumulated values, and the numbers of the bunches that went into them."""
        bunches, self._held, self.held_since = tuple(self._held), [], None
        return bunches, self._results.hand_over()

    def finish(self, totals: dict[str, Any]) -> Parts:
        """Return the results of the series as a whole.

        Raises:
            ResultError: `finish` of a step has raised, or has returned something else.
        """
        results = []
        for step in self._steps:
            try:
                results.append((type(step).__name__, step.finish(totals)))
            except BaseException as error:
                raise ResultError(f"{type(step).__name__}.finish: {self._chain.sentence(error)}") from None
        return packing.whole(results)

    def _step(self, step: Processor, jobs: Sequence[Job]) -> None:
        """Let one step process some frames, without those that have failed."""
        jobs = [job for job in jobs if not job.error]
        if not jobs:
            return
        is_one = not is_batch(type(step))
        whose = f"{type(step).__name__}.{'process' if is_one else 'process_batch'}"
        try:
            if not is_one:
                results = _one_each(step.process_batch([job.frame for job in jobs]), len(jobs), whose)
            else:
                results = [step.process(jobs[0].frame)]
        except BaseException as error:
            # The traceback goes with the exception: its frames hold the pixels.
            sentence = str(error) if isinstance(error, ResultError) else self._chain.sentence(error)
            for job in jobs:
                job.error = sentence
            return
        for job in reversed(jobs):
            result = results.pop()
            if result is not None:
                try:
                    self._results.check(result, memory(job.frame), job.values, whose)
                except ResultError as error:
                    job.error = str(error)
                except Exception as error:  # what was returned is of a class that raises when it is read
                    job.error = f"{whose}: {self._chain.sentence(error)}"

    def _end(self, job: Job) -> None:
        """End a frame: it is failed, unread, or its results are taken."""
        bunch = job.bunch
        if job.error:
            job.values.clear()
        pixels = end(job.frame)
        if pixels is not None and pixels.end() and not job.error:
            job.error = (
                f"{self._chain.names} keeps a view of the pixels of frame {job.frame.index}, whose memory is "
                "used for other frames: keep frame.pixels.copy()"
            )
        if not bunch.is_current():
            bunch.unread.append(job.place)
        elif job.error:
            bunch.errors[job.place] = job.error
        elif job.values:
            self._take(job)
        if pixels is not None:
            pixels.recycle()

    def _take(self, job: Job) -> None:
        bunch = job.bunch
        try:
            bunch.held |= self._results.take(job.values, bunch.rows, job.place)
        except ResultError as error:
            bunch.errors[job.place] = str(error)


def _one_each(results: Any, n: int, whose: str) -> list[Any]:
    """Return what `process_batch` has returned, as a list of its own.

    Raises:
        ResultError: it is not one result per frame.
    """
    if results is None:
        return [None] * n
    if not isinstance(results, Sequence) or len(results) != n:
        what = f"{len(results)}" if isinstance(results, Sequence) else type(results).__name__
        raise ResultError(
            f"{whose} has returned {what} for {plural(n, 'frame')}; return a list with a dict or None "
            "for each"
        )
    return list(results)
