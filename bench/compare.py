"""Generator to receiver with writing, and the same generator to the naive writer, in turn."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.devices._base.processes import PENSTOCK, PYTHON, Child, free_port
from penstock.receiver.client import ReceiverClient

SERIES_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """One frame size and what is asked of it."""

    frame_bytes: int
    frames: int
    """For the receiver."""
    naive_frames: int
    """The naive writer is slow: it gets fewer."""
    bar: float
    """Least ratio of the frame rates."""


CASES = (
    Case(frame_bytes=20_000, frames=40_000, naive_frames=4_000, bar=5.0),
    Case(frame_bytes=200_000, frames=6_000, naive_frames=1_500, bar=2.0),
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One series through one writer."""

    frames: int
    seconds: float
    """From its start message to its closed file."""
    cpu_seconds: float
    """Of the writing process, user and system."""

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of processor time a frame."""
        return self.cpu_seconds / self.frames * 1e6


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case, all repeats."""

    case: Case
    penstock: list[Run]
    naive: list[Run]

    @property
    def ratio(self) -> float:
        """Median of the ratios of neighbouring runs: a busy machine slows both."""
        pairs = zip(self.penstock, self.naive, strict=True)
        return statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)

    @property
    def reached(self) -> bool:
        """Whether the bar was reached."""
        return self.ratio >= self.case.bar


def compare(
    folder: Path, repeats: int, progress: Callable[[str], None], cases: tuple[Case, ...] = CASES
) -> Iterator[Result]:
    """Run all cases; files go into `folder` and are removed again.

    Raises:
        ProcessFailed: a receiver or a generator did not start, or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for case in cases:
        ours, theirs = [], []
        for number in range(1, repeats + 1):
            progress(f"{case.frame_bytes / 1000:g} kB, run {number} of {repeats}: receiver")
            ours.append(_receiver(folder, case))
            progress(f"{case.frame_bytes / 1000:g} kB, run {number} of {repeats}: naive writer")
            theirs.append(_naive(folder, case))
        yield Result(case=case, penstock=ours, naive=theirs)


def _receiver(folder: Path, case: Case) -> Run:
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    file = folder / "penstock.h5"
    config = folder / "bench.yaml"
    # JSON is YAML too.
    receivers = {"bench": {"source": {"endpoints": [endpoint]}, "data_root": str(folder)}}
    config.write_text(json.dumps({"receivers": receivers}))
    argv = (*PENSTOCK, "receiver", "bench", "--config", str(config), "--http", "127.0.0.1:0", "--json")
    try:
        with Child("receiver", argv, _ready("http")) as receiver:
            client = ReceiverClient(receiver.answer["http"], timeout=5.0)
            status = client.status()
            before = status.cpu_seconds
            with _generator(endpoint, case.frame_bytes, case.frames, file):
                deadline = time.monotonic() + SERIES_SECONDS
                began = None
                while time.monotonic() < deadline:
                    status = client.status(seen=status.version, wait=1.0)
                    if status.series is not None and began is None:
                        began = time.monotonic()
                    if status.series is not None and not status.series.active:
                        break
                seconds = time.monotonic() - (began or 0.0)
            if status.series is None or not status.series.complete:
                why = status.error or (status.series.reason if status.series else "no series came")
                raise RuntimeError(f"the receiver did not take the whole series: {why}")
            return Run(frames=case.frames, seconds=seconds, cpu_seconds=status.cpu_seconds - before)
    finally:
        file.unlink(missing_ok=True)
        config.unlink(missing_ok=True)


def _naive(folder: Path, case: Case) -> Run:
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    file = folder / "naive.h5"
    results: list[dict[str, Any]] = []

    def relay(line: str) -> None:
        if line.startswith('{"frames"'):
            results.append(json.loads(line))

    argv = (*PYTHON, "-m", "penstock.bench.naive", endpoint, str(file))
    try:
        with (
            Child("naive writer", argv, _ready("ready"), relay=relay) as naive,
            _generator(endpoint, case.frame_bytes, case.naive_frames, file),
        ):
            naive.wait(SERIES_SECONDS)
        result = results[-1]
        return Run(frames=int(result["frames"]), seconds=result["seconds"], cpu_seconds=result["cpu_seconds"])
    finally:
        file.unlink(missing_ok=True)


def _generator(endpoint: str, frame_bytes: int, frames: int, file: Path) -> Child[dict[str, Any]]:
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frame-bytes", str(frame_bytes),
        "--frames", str(frames), "--filename", str(file),
    )  # fmt: skip
    return Child("generator", argv, _ready("data"))


def _ready(key: str) -> Callable[[str], dict[str, Any] | None]:
    def ready(line: str) -> dict[str, Any] | None:
        return json.loads(line) if line.startswith(f'{{"{key}"') or f'"{key}": ' in line else None

    return ready
