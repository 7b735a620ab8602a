"""What channels add to a pipeline: six Tango attributes, each with 1,000 values per second, joined to frames.

Two pipelines, each behind a receiver of its own, take series in turn: one without channels, one with them.
The attributes are those of a real device, with change events. What counts is the rate: frames of a series by
the time from its first frame until the last one is done; the result file is closed later if values may still
come. Beside it stands the processor time per frame of distributor and workers, which limits the rate; the
recorder is a process of its own, and its time is shown per value.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tango

from penstock.beamline.registration import register
from penstock.bench.channel_device import CHANNELS, DEVICE, INSTANCE, READY, SERVER
from penstock.bench.pipeline import DEADLINE, Frames, Pipeline, Receiver, difference
from penstock.bench.reductions import Figure, Progress, median_ratio
from penstock.hosts.child import PYTHON, Child
from penstock.hosts.tango_database import start_database

BAR = 0.95
"""Least rate with channels, times that without."""
TIME_BAR = 1.25
"""Most that distributor and workers may take with channels, times without."""
VALUES = 1000.0
"""Per second and channel."""
CASES = (
    Frames(name="1,000 frames/s", shape=(100, 100), count=5_000, rate=1000.0),
    Frames(name="full speed", shape=(100, 100), count=50_000),
)
QUEUE_MB = 512
TURNS = 3
"""Series of each pipeline per round: short ones, so that both have the same of what else the machine does."""
WITHOUT, WITH, RECORDER = "without", "with six channels", "recorder, per value"
CLASS = """
from penstock.processing import Processor


class Bench(Processor):
    def process(self, frame):
        return {"first": frame.pixels[0, 0]}
"""


def measure(rounds: int, progress: Progress, cases: tuple[Frames, ...] = CASES) -> Iterator[Figure]:
    """Measure with receivers, pipelines and a device as processes.

    Raises:
        ProcessFailed: one did not start.
        RuntimeError: a series was not complete, or its frames have no values, so that figures say nothing.
    """
    with ExitStack() as processes:
        progress("channels: processes start")
        folder = Path(processes.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        host = _device(folder, processes)
        channels = [
            {"name": f"c{n}", "attribute": f"tango://{host}/{DEVICE}/c{n}", "tolerance": 0.003}
            for n in range(CHANNELS)
        ]
        yield from compared("channels", channels, rounds, progress, cases, folder, processes)


def compared(
    part: str, channels: Sequence[dict[str, Any]], rounds: int, progress: Progress, cases: tuple[Frames, ...],
    folder: Path, processes: ExitStack, environment: dict[str, str] | None = None,
) -> Iterator[Figure]:  # fmt: skip
    """Compare a pipeline with channels whose values come already to one without.

    Args:
        part: its name.
        channels: as the pipeline's file has them.
        rounds: how often.
        progress: is told what is measured.
        cases: frames.
        folder: for files.
        processes: in which receivers and pipelines are started.
        environment: variables added to that of the pipelines.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, or its frames have no values, so that figures say nothing.
    """
    there = {}
    for kind, more in ((WITHOUT, {}), (WITH, {"channels": channels})):
        receiver = Receiver(folder, cases[0], {"shared": True, "queue_mb": QUEUE_MB}, processes)
        pipeline = Pipeline(
            folder, receiver, CLASS, 1, processes, environment, results_root=str(folder), **more
        )
        there[kind] = (receiver, pipeline)
    _wait_for_values(there[WITH][1])
    for frames in cases:
        found: dict[str, list[float]] = {WITHOUT: [], WITH: [], RECORDER: []}
        rates: dict[str, list[float]] = {WITHOUT: [], WITH: []}
        unmatched: list[float] = []
        for number in range(1, TURNS * rounds + 1):
            # Each is the first one in turn.
            for kind in (WITHOUT, WITH) if number % 2 else (WITH, WITHOUT):
                progress(f"{part}, {frames.name}, {kind}, {number} of {TURNS * rounds}")
                rates[kind].append(_turn(*there[kind], frames, kind, found))
            unmatched.append(_unmatched(there[WITH][1]))
        yield Figure(
            part=part, text=f"{frames.name}, 20 kB: frames per second with channels / without",
            found=median_ratio(rates[WITH], rates[WITHOUT]), bar=BAR, least=True, values=rates,
        )  # fmt: skip
        yield Figure(
            part=part, text=f"{frames.name}, 20 kB: processor time with channels / without",
            found=median_ratio(found[WITH], found[WITHOUT]), bar=TIME_BAR, values=found,
        )  # fmt: skip
        if frames.rate:
            yield Figure(
                part=part, text=f"{frames.name}, 20 kB: most values that frames of a series lack",
                found=max(unmatched), bar=0.0, values={WITH: unmatched},
            )  # fmt: skip


def _turn(
    receiver: Receiver, pipeline: Pipeline, frames: Frames, kind: str, found: dict[str, list[float]]
) -> float:
    """Take one series; return its frames per second."""
    with receiver.taking(frames) as taking:
        before, values = pipeline.seconds(), _values(pipeline)
    sent = time.monotonic()
    pipeline.did(frames.count)
    seconds = frames.count / taking.rate + time.monotonic() - sent
    counts = pipeline.over()
    spent = difference(pipeline.seconds(), before)
    found[kind].append((spent["distributor"] + spent["workers"]) / frames.count * 1e6)
    if counts.done != frames.count:
        raise RuntimeError(f"of {frames.count} frames {counts.done} were processed: {counts}")
    if kind == WITH:
        recorded = _values(pipeline) - values
        if not recorded:
            raise RuntimeError(f"no values have come: {pipeline.client.status().channels}")
        # Beside other load device and recorder may fall behind: what a join takes is the same.
        found[RECORDER].append(spent["recorder"] / recorded * 1e6)
    return frames.count / seconds


def _unmatched(pipeline: Pipeline) -> float:
    """Return how many values frames of the last series lack."""
    series = pipeline.client.status().series
    assert series is not None
    return float(sum(series.unmatched.values()))


def _values(pipeline: Pipeline) -> int:
    return sum(each.values for each in pipeline.client.status().channels)


def _wait_for_values(pipeline: Pipeline) -> None:
    status = pipeline.client.status()
    for _ in range(int(DEADLINE)):
        if all(each.how in ("events", "monitor") and each.values for each in status.channels):
            return
        status = pipeline.client.status(seen=status.version, wait=1.0)
    raise RuntimeError(f"no values come of the channels: {status.channels}")


def _device(folder: Path, processes: ExitStack) -> str:
    """Start the device; return HOST:PORT of its database."""
    database = start_database(folder / "database")
    processes.callback(database.stop)
    host = f"127.0.0.1:{database.answer}"
    there = tango.Database("127.0.0.1", database.answer)
    register(there, f"{SERVER}/{INSTANCE}", "Channels", DEVICE, {})
    processes.enter_context(
        Child(
            "device", (*PYTHON, "-m", "penstock.bench.channel_device", str(VALUES)), _ready,
            deadline=DEADLINE, environment={"TANGO_HOST": host},
        )
    )  # fmt: skip
    return host


def _ready(line: str) -> bool | None:
    return True if line.strip() == READY else None
