"""The contenders for a generated series: Penstock's receiver, two loops in Python, and the limits in C.

Everything is a child process, started with the commands that users type, and gets its frames from a real
generator.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from penstock.bench.load import Case, Run, high_water_mark
from penstock.bench.warm import warm
from penstock.hosts.child import PENSTOCK, PYTHON, Child, free_port
from penstock.receiver.client import ReceiverClient
from penstock.streamer.slices import slices

PENSTOCK_RECEIVER = "penstock"
BARE = "bare pyzmq + h5py"
NAIVE = "naive"
WRITE_LIMIT = "C: receive, pwrite"
RECEIVE_LIMIT = "C: receive only"
CONTENDERS = (PENSTOCK_RECEIVER, BARE, NAIVE, WRITE_LIMIT, RECEIVE_LIMIT)
LOOPS = {BARE: "penstock.bench.bare", NAIVE: "penstock.bench.naive"}

PROCESS_CLOCK = 2
"""What the kernel makes of a process id, inverted, to name the clock of the process: CPUCLOCK_SCHED of
include/linux/posix-timers_types.h; see clock_getcpuclockid(3)."""
SERIES_SECONDS = 120.0
STATUS_SECONDS = 5.0
TRANSITION = re.compile(r"bench-\d+: (\w+) -> (\w+): ")
"""A transition in the receiver's log. Following it costs nothing during a series; HTTP requests would."""


class Receiver:
    """Penstock's receiver, for one series after another; a context manager.

    Args:
        case: sockets, threads, workers and durability; frame size, for the queue.
        folder: where its files go; also holds its configuration.
        kind: of the stream, one of `receiver.sources`.
        endpoint: of a sender that exists already; "" for one of a generator.
        more: keys of its entry that the case does not say, or says otherwise.
        on: command line that runs it on certain cores, see `cpu_sets.pinned`.
    """

    def __init__(
        self, case: Case, folder: Path, kind: str = "stins", endpoint: str = "", *,
        more: Mapping[str, Any] = MappingProxyType({}), on: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._on = on
        self._folder = folder
        self._endpoint = endpoint or f"tcp://127.0.0.1:{free_port()}"
        source = {
            "type": kind, "endpoints": [self._endpoint], "sockets": case.sockets,
            "io_threads": case.io_threads, "high_water_mark": high_water_mark(case.frame_bytes),
        }  # fmt: skip
        port = self._endpoint.rpartition(":")[2]
        self._name = f"bench-{port}"  # of its own: one of a name runs at a time
        self._config = folder / f"{self._name}.yaml"
        entry = {
            "detector": "bench", "source": source, "data_root": str(folder), "workers": case.workers,
            "durability": "synced" if case.synced else "closed",
            "transforms": [{"type": "bslz4"}] if case.compress else [], **more,
        }  # fmt: skip
        # JSON is YAML too.
        self._config.write_text(json.dumps({"receivers": {self._name: entry}}))
        self._ended = threading.Event()
        self._moments: dict[str, float] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Receiver:
        argv = (
            *self._on, *PENSTOCK, "receiver", self._name, "--config", str(self._config),
            "--http", "127.0.0.1:0", "--json",
        )  # fmt: skip
        with contextlib.ExitStack() as stack:
            stack.callback(self._config.unlink, missing_ok=True)
            process = stack.enter_context(Child("receiver", argv, line_with("http"), relay=self._follow))
            self._client = ReceiverClient(process.answer["http"], timeout=5.0)
            self._http = int(process.answer["pid"])
            (self.data_pid,) = children(self._http)
            """Id of the data process."""
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def take(self, case: Case) -> Run:
        """Run one series, and remove its file.

        Raises:
            ProcessFailed: the generator did not start.
            RuntimeError: the series was not complete, so its figures say nothing.
        """
        file = None if case.storage == "live" else self._folder / "penstock.h5"
        self.begin()
        try:
            with generator(self._endpoint, case, file, self._folder) as sender:
                seconds, cpu = self.finish()
                report = _report(sender)
        finally:
            if file is not None:
                file.unlink(missing_ok=True)
        return Run(
            frames=case.frames,
            # Frames are on their way while the file is created: the longer of the two clocks is right.
            seconds=round(max(seconds, report["seconds"]), 6),
            cpu={**cpu, "generator": _sender_seconds(report)},
        )

    def begin(self) -> None:
        """Start the measurement; call this before the first message of a series."""
        self._ended.clear()
        self._moments.clear()
        self._before = self._cpu()

    def finish(self) -> tuple[float, dict[str, float]]:
        """Wait for the end of the series; return seconds from Running to Idle, and CPU seconds by thread.

        Raises:
            RuntimeError: the series was not complete.
        """
        any(map(self._ended.wait, slices(SERIES_SECONDS)))
        after = self._cpu()
        self._check()
        cpu = {name: round(after[name] - self._before[name], 6) for name in after}
        return self._moments["idle"] - self._moments["running"], cpu

    @property
    def idle_at(self) -> float:
        """Moment at which the last series had ended, of the monotonic clock, in seconds."""
        return self._moments["idle"]

    def _check(self) -> None:
        """Refuse an incomplete series; the status follows the log after a moment."""
        deadline = time.monotonic() + STATUS_SECONDS
        status = self._client.status()
        while (status.series is None or status.series.active) and time.monotonic() < deadline:
            status = self._client.status(seen=status.version, wait=0.5)
        if status.series is None or not status.series.complete:
            why = status.error or (status.series.reason if status.series else "no series arrived")
            raise RuntimeError(f"the receiver did not take the whole series: {why or 'it has not ended'}")

    def _follow(self, line: str) -> None:
        if found := TRANSITION.search(line):
            self._moments[found[2]] = time.monotonic()
            if found[2] != "running":
                self._ended.set()

    def _cpu(self) -> dict[str, float]:
        seconds = dict.fromkeys(("loop", "I/O", "others", "HTTP"), 0.0)
        for task in _tasks(self.data_pid):
            if task.name == str(self.data_pid):
                name = "loop"
            else:
                name = "I/O" if (task / "comm").read_text().startswith("ZMQ") else "others"
            seconds[name] += _thread_seconds(task)
        seconds["HTTP"] = sum(map(_thread_seconds, _tasks(self._http)))
        return seconds


def take(case: Case, folder: Path, limit: Path | None = None) -> Run:
    """Run one series through the contender that the case names, and remove its file.

    Args:
        case: what to do.
        folder: where files go.
        limit: the compiled limit, see `limit.build`.

    Raises:
        ProcessFailed: a process did not start or did not end.
        RuntimeError: the series was not complete, so its figures say nothing.
    """
    if case.contender == PENSTOCK_RECEIVER:
        with Receiver(case, folder) as receiver:
            return receiver.take(case)
    endpoint, mark = f"tcp://127.0.0.1:{free_port()}", str(high_water_mark(case.frame_bytes))
    if case.contender in LOOPS:
        file: Path | None = folder / "loop.h5"
        argv = [*PYTHON, "-m", LOOPS[case.contender], endpoint, str(file), mark]
        return _run_program(case, argv, endpoint, file, folder)
    assert limit is not None, f"{case.contender} needs the compiled limit"
    file = folder / "limit.raw" if case.contender == WRITE_LIMIT else None
    argv = [
        str(limit), endpoint, str(case.frames), str(case.frame_bytes), mark,
        str(case.sockets), str(case.io_threads), *([str(file)] if file else []),
    ]  # fmt: skip
    return _run_program(case, argv, endpoint, file, folder)


def _run_program(case: Case, argv: list[str], endpoint: str, file: Path | None, folder: Path) -> Run:
    """Run a contender that prints its own figures in its last line."""
    results: list[dict[str, Any]] = []

    def relay(line: str) -> None:
        if line.startswith('{"frames"'):
            results.append(json.loads(line))

    try:
        with (
            Child(case.contender, argv, line_with("ready"), relay=relay) as process,
            generator(endpoint, case, file, folder) as sender,
        ):
            process.wait(SERIES_SECONDS)
            report = _report(sender)
        if not results:
            raise RuntimeError(f"{process.ended() or case.contender + ' was not done in time'}: no figures")
        found = results[-1]
        loop = round(found["thread_seconds"], 6)
        cpu = {
            "loop": loop,
            "I/O": round(found["cpu_seconds"] - loop, 6),
            "generator": _sender_seconds(report),
        }
        return Run(frames=int(found["frames"]), seconds=round(found["seconds"], 6), cpu=cpu)
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


@contextlib.contextmanager
def generator(endpoint: str, case: Case, file: Path | None, folder: Path) -> Iterator[Child[dict[str, Any]]]:
    """Send one series, on warm memory, to whoever has connected.

    Args:
        file: its name, for the start message; `None` for live only.
        folder: where the file is written.
    """
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frame-bytes", str(case.frame_bytes),
        "--frames", str(case.frames), "--rate", str(case.rate), "--io-threads", str(case.io_threads),
        "--wait-peers", str(case.sockets), "--filename", str(file or ""),
        *([] if case.announced else ["--unannounced"]),
    )  # fmt: skip
    written = 0 if case.storage == "live" else case.nbytes
    with warm(folder, written) as free, Child("generator", argv, line_with("data")) as child:
        free()
        yield child


def _report(generator: Child[dict[str, Any]]) -> dict[str, Any]:
    """Return the sender's report on the series, once it has ended by itself."""
    generator.wait(10.0)
    generator.stop()  # returns once everything that it wrote has been read
    for line in reversed(generator.tail):
        if line.startswith('{"series"'):
            return dict(json.loads(line))
    raise RuntimeError(f"{generator.ended() or 'the generator did not end'}: no figures")


def _sender_seconds(report: dict[str, Any]) -> float:
    """Return the processor time of the sender, in seconds."""
    return round(float(report["cpu_microseconds_per_frame"]) * int(report["sent"]) / 1e6, 6)


def line_with(key: str) -> Callable[[str], dict[str, Any] | None]:
    """Return a test for `Child`: a line of JSON with this key means that a process is ready."""

    def ready(line: str) -> dict[str, Any] | None:
        try:
            found = json.loads(line)
        except ValueError:
            return None
        return found if isinstance(found, dict) and key in found else None

    return ready


def children(pid: int) -> list[int]:
    """Return the process ids of a process's children, whichever of its threads started them."""
    return [int(found) for task in _tasks(pid) for found in (task / "children").read_text().split()]


def process_seconds(pid: int) -> float:
    """Return the processor time of a process in seconds, of all threads that it has and had: of some
    programs each frame has a thread of its own."""
    return time.clock_gettime(~pid << 3 | PROCESS_CLOCK)


def _tasks(pid: int) -> list[Path]:
    """Return the threads of a process."""
    return list(Path(f"/proc/{pid}/task").iterdir())


def _thread_seconds(task: Path) -> float:
    """Return the processor time of a thread in seconds (proc(5), schedstat); 0 once it has ended."""
    try:
        return int((task / "schedstat").read_text().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
