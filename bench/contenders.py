"""Who takes a generated series: Penstock's receiver, the naive writer, and the limits in C.

Each function runs one series from a real generator and returns what it took. Everything is a child
process, started with the commands that users type.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.devices._base.processes import PENSTOCK, PYTHON, Child, free_port
from penstock.receiver.client import ReceiverClient

SERIES_SECONDS = 120.0
HIGH_WATER_MARK = 64
"""Messages queued in the receiver's socket; its default, and given to the limits too."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What the generator sends."""

    frame_bytes: int
    frames: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """One series through one contender."""

    frames: int
    seconds: float
    """From its start message to its closed file; of the limits, from the first frame to the last."""
    cpu_seconds: float
    """Of the process that receives, all threads, user and system."""
    thread_seconds: float | None = None
    """Of the thread that receives and writes, without ZeroMQ's I/O thread; `None` where unknown."""

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of processor time a frame, all threads."""
        return self.cpu_seconds / self.frames * 1e6

    @property
    def thread_us(self) -> float | None:
        """Microseconds of the receiving thread a frame."""
        return None if self.thread_seconds is None else self.thread_seconds / self.frames * 1e6


def receiver(folder: Path, load: Load) -> Run:
    """Penstock's receiver, writing.

    Raises:
        ProcessFailed: a process did not start or did not end.
        RuntimeError: the series was not complete, so its figures say nothing.
    """
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    file, config = folder / "penstock.h5", folder / "bench.yaml"
    # JSON is YAML too.
    source = {"endpoints": [endpoint], "high_water_mark": HIGH_WATER_MARK}
    config.write_text(json.dumps({"receivers": {"bench": {"source": source, "data_root": str(folder)}}}))
    argv = (*PENSTOCK, "receiver", "bench", "--config", str(config), "--http", "127.0.0.1:0", "--json")
    try:
        with Child("receiver", argv, _line_with("http")) as process:
            client = ReceiverClient(process.answer["http"], timeout=5.0)
            status = client.status()
            worker = _only_child(process.answer["pid"])
            cpu, thread = status.cpu_seconds, _thread_seconds(worker)
            with _generator(endpoint, load, file):
                deadline, began = time.monotonic() + SERIES_SECONDS, None
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
            return Run(
                frames=load.frames,
                seconds=seconds,
                cpu_seconds=status.cpu_seconds - cpu,
                thread_seconds=_thread_seconds(worker) - thread,
            )
    finally:
        file.unlink(missing_ok=True)
        config.unlink(missing_ok=True)


def naive(folder: Path, load: Load) -> Run:
    """The writer done the obvious way, see `penstock.bench.naive`."""
    endpoint, file = f"tcp://127.0.0.1:{free_port()}", folder / "naive.h5"
    argv = (*PYTHON, "-m", "penstock.bench.naive", endpoint, str(file))
    return _told("naive writer", argv, endpoint, load, file)


def limit(program: Path, folder: Path | None, load: Load) -> Run:
    """The bare loop in C, see `limit.c`: discards, or writes a flat file into `folder`."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    file = None if folder is None else folder / "limit.raw"
    argv = [str(program), endpoint, str(load.frames), str(load.frame_bytes), str(HIGH_WATER_MARK)]
    if file is not None:
        argv.append(str(file))
    return _told("limit", argv, endpoint, load, file)


def _told(name: str, argv: Any, endpoint: str, load: Load, file: Path | None) -> Run:
    """A contender that prints its own figures as its last line."""
    results: list[dict[str, Any]] = []

    def relay(line: str) -> None:
        if line.startswith('{"frames"'):
            results.append(json.loads(line))

    try:
        with (
            Child(name, argv, _line_with("ready"), relay=relay) as process,
            _generator(endpoint, load, file or Path("/nowhere")),
        ):
            process.wait(SERIES_SECONDS)
        if not results:
            raise RuntimeError(f"{process.ended() or name + ' was not done in time'}: no figures")
        found = results[-1]
        return Run(
            frames=int(found["frames"]),
            seconds=found["seconds"],
            cpu_seconds=found["cpu_seconds"],
            thread_seconds=found.get("thread_seconds"),
        )
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _generator(endpoint: str, load: Load, file: Path) -> Child[dict[str, Any]]:
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frame-bytes", str(load.frame_bytes),
        "--frames", str(load.frames), "--filename", str(file),
    )  # fmt: skip
    return Child("generator", argv, _line_with("data"))


def _line_with(key: str) -> Callable[[str], dict[str, Any] | None]:
    def ready(line: str) -> dict[str, Any] | None:
        try:
            found = json.loads(line)
        except ValueError:
            return None
        return found if isinstance(found, dict) and key in found else None

    return ready


def _only_child(pid: int) -> int:
    """Process id of the one child of a process: the receiver's data process."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _thread_seconds(pid: int) -> float:
    """Processor time of the main thread of a process, to the nanosecond (proc(5), schedstat)."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9
