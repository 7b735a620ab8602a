"""Times of the stages of the data process: histograms with fixed buckets, from samples.

A frame of 20 kB takes 20 µs, and reading the clock in every stage would take a tenth of that. So one frame
per `SAMPLE_SECONDS` is timed, and counts for all frames since the last sample: one in hundreds of fast
frames, and every slow frame. A timed frame is entered by itself: more of them would end the runs of large
ones. A single slow frame among fast ones is found by its total time (stage "message"), which the
loop knows anyway. Where frames are written in runs, the writing of each run is timed.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping

import msgspec

RATE_SECONDS = 1.0
"""Shortest interval in seconds over which rates are computed."""


class Rates:
    """The rates of the last complete interval.

    Args:
        now: monotonic seconds.
    """

    def __init__(self, now: float) -> None:
        self._rates = (0.0, 0.0)
        self._since = (now, 0, 0)

    def at(self, now: float, frames: int, nbytes: int) -> tuple[float, float]:
        """Return frames and bytes per second.

        Args:
            now: monotonic seconds.
            frames: counted up to now.
            nbytes: of these frames.
        """
        since, frames_then, nbytes_then = self._since
        seconds = now - since
        if seconds >= RATE_SECONDS:
            self._rates = ((frames - frames_then) / seconds, (nbytes - nbytes_then) / seconds)
            self._since = (now, frames, nbytes)
        return self._rates


BOUNDS = (
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3,
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip
"""Upper bounds of the buckets, in seconds; a last one has no bound."""
SAMPLE_SECONDS = 0.005
SLOW_SECONDS = 0.001
"""Seconds from which on every message counts by itself."""

STAGES: Mapping[str, str] = {
    "receive": "takes the message off ZeroMQ",
    "decode": "makes a frame of its parts",
    "check": "finds its index, checks blob and checksum, transforms it or waits for the thread that does",
    "write": "hands its pixels to the file",
    "forward": "queues it for the consumers and sends what can be sent",
    "message": "all of these; also of the messages that begin and end a series",
    "flush": "hands to the kernel what was written since the last flush",
    "close": "ends the file: account, truncation, and the disk if durability is synced",
}
"""Stages of the data process in their order; the last two are not per frame."""


class Histogram(msgspec.Struct):
    """Durations by bucket."""

    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """Counts per bucket, not cumulative: one for each of `BOUNDS`, and one for longer durations."""
    sum: float = 0.0

    def observe(self, seconds: float, weight: int = 1) -> None:
        """Count one duration `weight` times."""
        self.counts[bisect_left(BOUNDS, seconds)] += weight
        self.sum += seconds * weight


class StageTimes:
    """The clock of sampled frames; for all other frames it costs one comparison.

    Args:
        clock: monotonic seconds; injected in tests.
        wall: seconds since 1970, to compare with the sender's.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self.stages = {stage: Histogram() for stage in STAGES}
        self.latency = Histogram()
        """Time from the sender's time stamp to the file."""
        self.idle = Histogram()
        """Time from the last frame of a series to Idle, or Error."""
        self.stamps_ahead = 0
        """Number of sampled frames with a time stamp in the future: sender and receiver disagree."""
        self.on = False
        """True if the next or current frame is timed."""
        self.due = 0.0
        """Time from which on `turn` is to be called after a frame."""
        self._clock = clock
        self._wall = wall
        self._began = self._last = 0.0
        self._weight = self._alone = 1
        """Number of frames for which the timed one counts, and of those that were not written in runs."""
        self._counted = 0
        self._in_runs = 0  # frames written in runs since the timed frame was chosen

    @property
    def writing(self) -> float:
        """Seconds for which the loop has written since it started."""
        return self.stages["write"].sum + self.stages["flush"].sum

    def begin(self, now: float, frames: int) -> None:
        """Begin a burst of messages after a wait; `frames` were received since the start."""
        if self.on:
            self._last = now
        elif now >= self.due:
            self._open(now, frames)

    def lap(self, stage: str) -> None:
        """Count a stage of a timed frame that has ended."""
        now = self._clock()
        weight = self._alone if stage == "write" else self._weight
        self.stages[stage].observe(now - self._last, weight)
        self._last = now

    def wrote_run(self, seconds: float, frames: int) -> None:
        """Count the writing of frames at once, which is not sampled."""
        self.stages["write"].observe(seconds / frames, frames)
        self._in_runs += frames

    def stored(self, stamp: float | None) -> None:
        """Count the latency of a timed frame; `stamp` is the sender's time, in seconds since 1970."""
        if stamp is None:
            return
        seconds = self._wall() - stamp
        if seconds < 0:
            self.stamps_ahead += 1
        else:
            self.latency.observe(seconds, self._weight)

    def turn(self, before: float, done: float, frames: int) -> float:
        """End a timed message, or choose the next one to be timed; return when that one begins.

        Args:
            before: begin of the message.
            done: end of the message.
            frames: number of frames received since the start.
        """
        seconds = done - before
        if self.on:
            self.stages["message"].observe(seconds, self._weight)
            self.on = False
            self.due = self._began + SAMPLE_SECONDS
        elif seconds >= SLOW_SECONDS:
            self.stages["message"].observe(seconds)
            self._counted += 1
        if done >= self.due:
            done = self._clock()  # the end of the message, and of the run that was written after it
            self._open(done, frames)
        return done

    def _open(self, now: float, frames: int) -> None:
        """Time the next frame, which counts for all since the last sample."""
        self.on = True
        self._began = self._last = now
        self._weight = max(1, frames - self._counted)
        self._alone = max(1, self._weight - self._in_runs)
        self._counted += self._weight
        self._in_runs = 0
        self.due = 0.0


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and times of the data process since it started, besides its status."""

    frames: int = 0
    """Number of sound frames."""
    nbytes: int = 0
    """Bytes of their blobs."""
    lost: dict[str, int] = {}
    """Lost frames of ended series, by kind: see `LOSSES`."""
    queues: dict[str, int] = {}
    """Bytes in each queue: see `QUEUES`."""
    stages: dict[str, Histogram] = {}
    latency: Histogram = msgspec.field(default_factory=Histogram)
    idle: Histogram = msgspec.field(default_factory=Histogram)
    stamps_ahead: int = 0


LOSSES = (
    "missing", "partial", "corrupt", "not_triggered", "out_of_range", "undecodable", "lost_messages",
    "dropped",
)  # fmt: skip
"""Counts of a series that are losses."""
QUEUES: Mapping[str, str] = {
    "held": "messages that wait for their predecessors or for other modules, limited by hold_mb",
    "transforms": "frames that threads transform or check, or that wait for them",
    "files": "frames that wait for the threads of several files (files)",
    "rois": "frames whose regions of interest are computed by threads",
    "unflushed": "frames since the last flush, which a crash of the receiver would lose",
}
