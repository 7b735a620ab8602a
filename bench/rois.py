"""What regions of interest cost: processor time per frame without, with one and with four.

One receiver for each kind of frame takes one series after another at a steady rate: without regions, with one
and with four in turn, so that a busy machine slows all three; medians count. Every frame passes through the
"receiving thread"; "all threads" includes those that compute the values.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.bench.contenders import line_with
from penstock.bench.viewer import DEADLINE, Receiver, receiving
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.models import Rectangle

REGIONS = (0, 1, 4)
SIDE = 100
RATE = 100.0
FRAMES = 300
"""Three seconds of a series."""
MEASURED = 270
"""Frames of these that count: after the last one, the file is closed."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames of one million pixels of uint16: 2 MB, plain."""

    name: str
    compression: str
    pattern: str

    @property
    def argv(self) -> tuple[str, ...]:
        """Options of `penstock generate`."""
        return (
            "--shape", "1000,1000", "--dtype", "uint16", "--compression", self.compression,
            "--pattern", self.pattern, "--rate", f"{RATE:g}", "--frames", str(FRAMES),
        )  # fmt: skip


CASES = (
    Case(name="2 MB, plain", compression="none", pattern="noise"),
    Case(name="2 MB, bslz4", compression="bslz4", pattern="powder"),
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case: processor time in µs per frame, by the number of regions, one entry per round."""

    case: Case
    thread: dict[int, list[float]] = field(default_factory=lambda: {number: [] for number in REGIONS})
    """Of the receiving thread."""
    process: dict[int, list[float]] = field(default_factory=lambda: {number: [] for number in REGIONS})
    """Of all threads of the data process."""

    def added(self, number: int) -> float:
        """Return what so many regions cost per frame, in µs of all threads: median of neighbours'
        differences."""
        pairs = zip(self.process[0], self.process[number], strict=True)
        return statistics.median(with_them - without for without, with_them in pairs)


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: tuple[Case, ...] = CASES
) -> Iterator[Result]:
    """Measure each case: per round one series without regions, one with one, and one with four.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for case in cases:
        result = Result(case=case)
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        with receiving(folder, endpoint) as receiver:
            for number in range(rounds):
                for count in REGIONS:
                    progress(f"{case.name}: {count} regions, round {number + 1} of {rounds}")
                    thread, process = _series(receiver, endpoint, case, count, folder / "rois.h5")
                    result.thread[count].append(thread)
                    result.process[count].append(process)
        yield result


def _series(receiver: Receiver, endpoint: str, case: Case, count: int, file: Path) -> tuple[float, float]:
    places = [(200, 200), (200, 600), (600, 200), (600, 600)]
    receiver.client.put_rois(
        {
            f"roi_{number}": Rectangle(x=x, y=y, width=SIDE, height=SIDE)
            for number, (x, y) in enumerate(places[:count])
        }
    )
    argv = (*PENSTOCK, "generate", "--json", "--endpoint", endpoint, *case.argv, "--filename", str(file))
    try:
        with Child("generator", argv, line_with("data"), deadline=DEADLINE):
            first = receiver.after_next()
            due = time.monotonic() + DEADLINE
            while (last := receiver.after_next())[0] < MEASURED and time.monotonic() < due:
                pass
            status = receiver.ended()
        if status.series is None or not status.series.complete or len(status.rois) != count:
            raise RuntimeError(f"the receiver did not take the whole series: {status.error or status.series}")
        frames = last[0] - first[0]
        return (last[1] - first[1]) / frames * 1e6, (last[2] - first[2]) / frames * 1e6
    finally:
        file.unlink(missing_ok=True)
