"""A data process that writes no pixels, and tells what a frame costs its loop: for the case `loop` alone.

The calls that write frames return at once as if they had, space is not allocated, and all else is as it is.
At the end of each series it prints a line of JSON: how many frames were counted, and the processor time of
the loop's thread for them, without the beginning and the end of the series.

Started by the receiver of `COMMAND`, never by hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec

from penstock.hosts.child import PYTHON
from penstock.stins.messages import Buffer

COMMAND = (
    *PYTHON, "-c",
    "import sys; from penstock.receiver.process.supervisor import supervisor; "
    "supervisor.DATA_PROCESS = 'penstock_bench.unwritten'; "
    "from penstock.cli.main import main; sys.exit(main())",
)  # fmt: skip
"""The command `penstock`, whose receivers have this data process."""
QUEUES = 16
"""Queues of parts are so many times as long."""
REST_SECONDS = 0.01
SKIPPED = 8
"""One frame in so many is not counted: those at the beginning of the series."""


def main() -> None:
    """Entry of the data process."""
    from penstock.receiver.process import data_process
    from penstock.receiver.process.pipeline import Pipeline

    _write_nothing()
    clock = _rest()
    vars(data_process).update(Pipeline=partial(Pipeline, clock=clock), time=SimpleNamespace(monotonic=clock))
    _measure()
    data_process.main()


def _write_nothing() -> None:
    from penstock.receiver.files.stores import preallocated
    from penstock.receiver.files.stores.disk import blob_writes, write_thread
    from penstock.receiver.files.stores.parts import store

    def all_at_once(descriptor: int, blobs: Sequence[Buffer], offset: int) -> Iterator[int]:
        yield len(blobs)

    def allocated(descriptor: int, start: int, end: int, seconds: float) -> int:
        return end

    # Where few cores are shared, threads with nothing to do may have none for a while: the loop, for which
    # they always have, does not wait for them.
    queue_bytes = store.queue_bytes
    store.queue_bytes = lambda frame_bytes: QUEUES * queue_bytes(frame_bytes)
    blob_writes.pwrite_all = lambda descriptor, blob, offset: None
    for module in (blob_writes, write_thread):
        module.pwritev_all = all_at_once  # type: ignore[attr-defined]
    preallocated.allocate = allocated  # type: ignore[attr-defined]


def _rest() -> Callable[[], float]:
    """Let messages gather before each turn, as they do for a loop at its limit: where sender and receiver
    share few cores it would wait for nearly each of them instead, and that would be measured.

    Returns:
        A clock that stands still meanwhile, monotonic seconds: what is done every few milliseconds, such as a
        sample or a snapshot, is done as rarely as by a loop that never waits.
    """
    from penstock.receiver.connection.ingest import Ingest

    waited, rested = Ingest.wait, 0.0

    def wait(self: Ingest, *args: Any, **more: Any) -> None:
        nonlocal rested
        began = time.monotonic()
        time.sleep(REST_SECONDS)
        waited(self, *args, **more)
        rested += time.monotonic() - began

    Ingest.wait = wait  # type: ignore[method-assign]
    return lambda: time.monotonic() - rested


def _measure() -> None:
    """Note the processor time of the calling thread at each frame of a series, and print it at the end."""
    from penstock.receiver.files.writer import SeriesWriter
    from penstock.receiver.process.outputs import Outputs

    clock, flushed = Clock(time.thread_time), SeriesWriter.flush

    def note(series: Any, frames: int) -> None:
        clock.frames(series.account.planned or 0, frames)

    def flush(self: SeriesWriter) -> None:
        began = time.thread_time()
        flushed(self)
        clock.flushed(time.thread_time() - began)

    _before(Outputs, "frame", lambda series, *_: note(series, 1))
    _before(Outputs, "frame_run", lambda series, _, run, *more: note(series, len(run)))
    _before(Outputs, "end", lambda *_, **more: print(msgspec.json.encode(clock.end()).decode(), flush=True))
    SeriesWriter.flush = flush  # type: ignore[method-assign]


def _before(owner: type, name: str, note: Callable[..., None]) -> None:
    """Call a function with the arguments of a method before that is called."""
    method = getattr(owner, name)

    def noted(self: object, *args: Any, **more: Any) -> Any:
        note(*args, **more)
        return method(self, *args, **more)

    setattr(owner, name, noted)


class Series(msgspec.Struct, frozen=True):
    """What the counted frames of a series have cost the loop, in seconds of processor time."""

    frames: int
    """Number of them."""
    frame_seconds: float
    """For all frames, without flushes."""
    flushes: int
    flush_seconds: float


class Clock:
    """The processor time of one series after another.

    Args:
        clock: processor time of the calling thread, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._frames = self._skipped = self._flushes = 0
        self._began = self._flushed = 0.0

    def frames(self, planned: int, more: int) -> None:
        """Note that more frames, of so many, are about to be handed on."""
        if not self._skipped and self._frames >= planned // SKIPPED:
            self._began, self._flushes, self._flushed = self._clock(), 0, 0.0
            self._skipped = self._frames
        self._frames += more

    def flushed(self, seconds: float) -> None:
        """Note a flush that has taken so long."""
        self._flushes += 1
        self._flushed += seconds

    def end(self) -> Series:
        """Return the figures of this series; the next frame is of another one."""
        counted, self._frames, self._skipped = self._frames - self._skipped, 0, 0
        spent = self._clock() - self._began - self._flushed
        return Series(counted, spent, self._flushes, self._flushed)


if __name__ == "__main__":
    main()
