"""What a frame costs the receiver's loop with several files, beside the same loop live.

With several files, threads write; the loop receives, checks and deals the frames, and its processor time per
frame is the limit of any machine. So writing is replaced by nothing (`unwritten`), and the loop's thread is
compared with that of a receiver without a file, as fast as a real generator sends, in turn.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from queue import Empty, Queue
from typing import NamedTuple

import msgspec

from penstock.bench.contenders import SERIES_SECONDS, line_with
from penstock.bench.load import high_water_mark
from penstock.bench.unwritten import COMMAND, FIGURES, Series
from penstock.hosts.child import Child, free_port
from penstock.receiver.client import ReceiverClient
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.generator.generator import generate
from penstock.streamer.simulated.generator.plan import Plan

FLUSH_SECONDS = 1.0
"""Between two flushes: the default of `flush_seconds`."""


class Load(NamedTuple):
    """What the generator sends."""

    frame_bytes: int
    frames: int
    bar: float = 0.0
    """Most processor time per frame, as a multiple of that without a file; 0 for no bar."""
    beside_one: bool = False
    """Whether the bar is beside one socket, not beside as many."""


LOADS = (
    Load(200_000, 4_000, 1.4, beside_one=True),
    Load(2_000_000, 600, 1.15),
    Load(20_000_000, 60),
)
"""20 MB has no bar: a frame costs the loop as much as one of 2 MB, and the rate is a tenth."""


class Taker(NamedTuple):
    """How a receiver takes the frames."""

    files: int
    """Number of files of a series; 0 for live."""
    sockets: int
    """Number of sockets, and of ZeroMQ's I/O threads."""


FILES, SOCKETS = (2, 4), (1, 2, 4)
TAKERS = tuple(Taker(files, sockets) for files, sockets in product((0, *FILES), SOCKETS))


@dataclass(kw_only=True)
class Found:
    """One load, all rounds."""

    load: Load
    loop_us: dict[Taker, list[float]] = field(default_factory=dict)
    """Microseconds of processor time per frame of the loop's thread, without flushes, in each round."""
    flush_us: dict[Taker, list[float]] = field(default_factory=dict)
    """Microseconds of its processor time per flush, which there is every `flush_seconds` at any rate."""

    def ratio(self, taker: Taker, sockets: int) -> float:
        """Return the median, over the rounds, of the time relative to live with so many sockets."""
        turns = zip(self.loop_us[taker], self.loop_us[Taker(0, sockets)], strict=True)
        return statistics.median(more / less for more, less in turns)

    def judged(self, taker: Taker) -> float:
        """Return the ratio that the bar limits."""
        return self.ratio(taker, 1 if self.load.beside_one else taker.sockets)

    def reached(self, taker: Taker) -> bool:
        """Return whether the loop with these files is cheap enough."""
        return not taker.files or not self.load.bar or self.judged(taker) <= self.load.bar

    def flush(self, taker: Taker) -> float:
        """Return the microseconds of a flush; 0 if there were none."""
        return statistics.median([each for each in self.flush_us[taker] if each] or [0.0])

    def ceiling(self, taker: Taker) -> float:
        """Return the GB/s at which the loop would never wait: on no machine can it be faster."""
        left = 1 - self.flush(taker) / (FLUSH_SECONDS * 1e6)
        return left * self.load.frame_bytes / statistics.median(self.loop_us[taker]) / 1e3


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], loads: Sequence[Load] = LOADS,
    takers: Sequence[Taker] = TAKERS,
) -> Iterator[Found]:  # fmt: skip
    """Run all loads; files, without pixels, go into `folder` and are removed again.

    Args:
        folder: where the receivers write.
        rounds: turns of each taker.
        progress: called with what is being measured.
        loads: what is sent.
        takers: how it is taken.

    Raises:
        ProcessFailed: a process did not start or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for load in loads:
        found = Found(load=load)
        with ExitStack() as stack:
            takes = {taker: stack.enter_context(_receiver(folder, taker, load)) for taker in takers}
            for turn in range(rounds + 1):
                for taker, take in takes.items():
                    progress(f"{load.frame_bytes:,} bytes, round {turn} of {rounds}: {name(taker)}")
                    series = take()
                    if turn:  # the first touch of memory is not counted
                        found.loop_us.setdefault(taker, []).append(series.frame_us)
                        found.flush_us.setdefault(taker, []).append(series.flush_us)
        yield found


def name(taker: Taker) -> str:
    """Return it in words."""
    files = f"{taker.files} files" if taker.files else "live"
    return f"{files}, {taker.sockets} socket{'s' * (taker.sockets > 1)}"


@contextmanager
def _receiver(folder: Path, taker: Taker, load: Load) -> Iterator[Callable[[], Series]]:
    """Run a receiver and a generator; yield a function that sends a series, and returns what it has cost."""
    mark = high_water_mark(load.frame_bytes)
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    config = folder / f"loop-{taker.files}-{taker.sockets}.yaml"
    source = {
        "endpoints": [endpoint], "sockets": taker.sockets, "io_threads": taker.sockets,
        "high_water_mark": mark,
    }  # fmt: skip
    name = f"bench-{endpoint.rpartition(':')[2]}"  # of its own: one of a name runs at a time
    entry = {"detector": "bench", "source": source, "data_root": str(folder), "files": max(1, taker.files)}
    config.write_text(json.dumps({"receivers": {name: entry}}))  # JSON is YAML too
    argv = (*COMMAND, "receiver", name, "--config", str(config), "--http", "127.0.0.1:0", "--json")
    told: Queue[Series] = Queue()

    def relay(line: str) -> None:
        if line.startswith(FIGURES):
            told.put(msgspec.json.decode(line, type=Series))

    try:
        with Child("receiver", argv, line_with("http"), relay=relay) as process:
            client = ReceiverClient(process.answer["http"], timeout=5.0)
            file = folder / "unwritten.h5" if taker.files else None

            def take() -> Series:
                try:
                    _send(endpoint, load, taker, file)
                    series = told.get(timeout=SERIES_SECONDS)
                    status = client.status()
                    while status.series is None or status.series.active:
                        status = client.status(seen=status.version, wait=1.0)
                except Empty:
                    raise RuntimeError(
                        f"the receiver did not take the series: {client.status().error}"
                    ) from None
                finally:
                    for path in folder.glob("*.h5"):
                        path.unlink()
                if not status.series.complete:
                    raise RuntimeError(f"the receiver did not take the whole series: {status.series.reason}")
                return series

            yield take
    finally:
        config.unlink(missing_ok=True)


def _send(endpoint: str, load: Load, taker: Taker, file: Path | None) -> None:
    """Send a series as a sender that begins anew: several sockets expect its first message numbers again."""
    side = math.isqrt(load.frame_bytes // 2)
    plan = Plan(frames=load.frames, shape=(side, side), pattern="opaque", filename=str(file or ""))
    push = PushSocket(endpoint, hwm=high_water_mark(load.frame_bytes), io_threads=taker.sockets)
    try:
        if not push.wait_peers(taker.sockets, SERIES_SECONDS):
            raise RuntimeError(f"the receiver did not connect to {endpoint}")
        generate(plan, [push])
    finally:
        push.close()
