"""Penstock's processes as users start them, for one series after another, and what each of them has spent.

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
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from typing import Any, TypeVar

from penstock.hosts.child import PENSTOCK, Child, children, free_port
from penstock.processing.client import PipelineClient
from penstock.processing.models import Counts, Status
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import ConsumerStatus
from penstock_bench.results import Frames, Turn
from penstock_bench.runner import PATH, python

T = TypeVar("T")
Taken = tuple[float, float, Turn]
"""When a series began and ended, monotonic seconds, and those of processor time that were spent."""
DEADLINE = 120.0
"""Seconds for a process to start, and for a series to end."""
ENTRY = "bench"
"""Name of the consumer."""
PROCESS_CLOCK = 2
"""What the kernel makes of a process id, inverted, to name the clock of the process: CPUCLOCK_SCHED of
include/linux/posix-timers_types.h; see clock_getcpuclockid(3)."""
TRANSITION = re.compile(r"bench-\d+: (\w+) -> (\w+): ")
"""A transition in the receiver's log. Following it costs nothing during a series; HTTP requests would."""
BLOCK, QUEUE_BLOCKS = bytes(2**22), 128
"""What warm memory is written with; blocks beyond the bytes of a series, for the queues of both sides."""


@dataclass(kw_only=True)
class Taking:
    """A series that is under way; what it took is known after its end."""

    began: float
    """When its sender was ready; monotonic seconds."""
    sender: int
    """Its process id."""
    seconds: float = 0.0
    """From Running to Idle, or that of the sender, if it is longer."""
    spent: Turn = field(default_factory=dict)
    """Seconds of processor time, as in `Receiver.seconds`, and of the sender."""
    rate: float = 0.0
    """Frames per second that were sent."""


class Receiver:
    """Penstock's receiver.

    Args:
        folder: where its files go; also holds its configuration.
        frames: whose size decides how many messages may wait.
        processes: in which it is started, and ended with.
        forward: its forward entry, or `None`.
        source: keys of its source that are not as usual.
        entry: further keys of its entry.
        command: of Penstock, or one that runs it otherwise.
        environment: variables added to that of this process.

    Raises:
        ProcessFailed: it did not start.
    """

    def __init__(
        self, folder: Path, frames: Frames, processes: ExitStack, *, forward: dict[str, Any] | None = None,
        source: Mapping[str, Any] | None = None, entry: Mapping[str, Any] | None = None,
        command: Sequence[str] = PENSTOCK, environment: Mapping[str, str] | None = None,
        relay: Callable[[str], None] = lambda line: None,
    ) -> None:  # fmt: skip
        self.endpoint: str = dict(source or {}).get("endpoints", [f"tcp://127.0.0.1:{free_port()}"])[0]
        """Where its streamer binds."""
        self.folder, self._relay = folder, relay
        self._ended, self._moments = threading.Event(), dict[str, float]()
        name = f"bench-{self.endpoint.rpartition(':')[2]}"  # of its own: one of a name runs at a time
        whole = {
            "detector": "bench", "data_root": str(folder),
            "source": {"endpoints": [self.endpoint], "high_water_mark": frames.mark, **(source or {})},
            "forward": [{"name": ENTRY, "endpoint": "tcp://127.0.0.1:*"} | forward] if forward else [],
            **(entry or {}),
        }  # fmt: skip
        config = folder / f"{name}.yaml"
        config.write_text(json.dumps({"receivers": {name: whole}}))  # JSON is YAML too
        argv = (*command, "receiver", name, "--config", str(config), "--http", "127.0.0.1:0", "--json")
        answer = start(
            processes, "receiver", argv, "http", relay=self._follow, environment=environment
        ).answer
        processes.callback(config.unlink, missing_ok=True)
        self.url, self.http = str(answer["http"]), int(answer["pid"])
        self.client = ReceiverClient(self.url, timeout=10.0)
        (self.data,) = children(self.http)
        """Ids of its two processes."""

    def seconds(self) -> Turn:
        """Return the processor time so far of the data process, of its threads, and of the HTTP process."""
        seconds = {"receiver": process_seconds(self.data), "loop": 0.0, "I/O": 0.0, "others": 0.0}
        for task in Path(f"/proc/{self.data}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                spent, is_zmq = thread_seconds(task), (task / "comm").read_text().startswith("ZMQ")
                seconds["loop" if task.name == str(self.data) else "I/O" if is_zmq else "others"] += spent
        return seconds | {"HTTP": process_seconds(self.http)}

    def processes_seconds(self) -> Turn:
        """Return the same of both processes, beside those of a consumer."""
        return {"receiver": process_seconds(self.data), "receiver's HTTP": process_seconds(self.http)}

    @property
    def consumer(self) -> ConsumerStatus:
        """Its consumer, as its status says."""
        return self.client.status().consumers[0]

    @property
    def dropped(self) -> int:
        """Frames for which its consumer was too slow, so far."""
        return sum(consumer.dropped for consumer in self.client.status().consumers)

    def connected(self) -> None:
        """Wait until its consumer is connected.

        Raises:
            RuntimeError: it is not in time.
        """
        until(self.client, lambda status: status.consumers[0].connected, "the consumer does not connect")

    def take(self, frames: Frames, file: Path | None = None, *words: str) -> Turn:
        """Let it take a series, and remove its files; return the figures.

        Args:
            frames: of the series.
            file: where they go; `None`: live only.
            words: further ones of the generator's command line.

        Raises:
            ProcessFailed: the generator did not start.
            RuntimeError: the series was not complete, so its figures say nothing.
        """
        try:
            with self.taking(frames, file, *words) as taking:
                pass
        finally:
            if file:
                remove(self.folder, "*.h5")
        return figures(frames, taking.seconds, taking.spent)

    @contextlib.contextmanager
    def taking(self, frames: Frames, file: Path | None = None, *words: str) -> Iterator[Taking]:
        """Send a series; wait for its end after the block."""
        finish = self.measured()
        with sending(self.endpoint, frames, file, *words) as child:
            taking = Taking(began=time.monotonic(), sender=child.pid)
            yield taking
            running, idle, taking.spent = finish()
            report = sent(child)
        taking.rate, taking.spent["sender"] = float(report["rate"]), sender_seconds(report)
        # Frames are on their way while the file is created: the longer of the two clocks is right.
        taking.seconds = max(idle - running, float(report["seconds"]))

    def measured(self) -> Callable[[], Taken]:
        """Measure a series; return a function that waits for its end, and returns when it was Running and
        Idle, monotonic seconds, and those of processor time. It raises RuntimeError if the series was not
        complete."""
        self._ended.clear()
        self._moments.clear()
        spent = since(self.seconds)

        def finish() -> Taken:
            is_over, took = self._ended.wait(DEADLINE), spent()
            # The status follows the log after a moment.
            ended = lambda status: not is_over or (status.series and not status.series.active)  # noqa: E731
            status = until(self.client, ended, "no end")
            if not is_over or status.series is None or not status.series.complete:
                why = status.error or (status.series.reason if status.series else "no series arrived")
                raise RuntimeError(f"the receiver did not take the whole series: {why or 'it has not ended'}")
            return self._moments["running"], self._moments["idle"], took

        return finish

    def _follow(self, line: str) -> None:
        self._relay(line)
        if found := TRANSITION.search(line):
            self._moments[found[2]] = time.monotonic()
            if found[2] != "running":
                self._ended.set()


def figures(frames: Frames, seconds: float, spent: Turn) -> Turn:
    """Return rates, and microseconds of processor time per frame, of a series."""
    return {
        "frames/s": frames.count / seconds, "GB/s": frames.count * frames.nbytes / seconds / 1e9,
    } | per_frame(spent, frames.count)  # fmt: skip


def per_frame(spent: Turn, count: float) -> Turn:
    """Return microseconds per frame of seconds of processor time."""
    return {f"{name}, µs": seconds / count * 1e6 for name, seconds in spent.items()}


@contextlib.contextmanager
def sending(
    endpoint: str, frames: Frames, file: Path | None, *words: str, warms: bool = True
) -> Iterator[Child[dict[str, Any]]]:
    """Send one series to whoever has connected.

    Args:
        endpoint: to bind.
        frames: of the series.
        file: its name, for the start message; `None` for live only.
        words: further ones of the command line.
        warms: whether a file is written to warm memory.
    """
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frames", str(frames.count), "--shape",
        ",".join(map(str, frames.shape)), "--dtype", frames.dtype, "--rate", f"{frames.rate:g}", "--pattern",
        frames.pattern, "--compression", frames.compression, "--filename", str(file or ""), *words,
    )  # fmt: skip
    nbytes = frames.nbytes * frames.count
    hold = warm(file.parent, nbytes) if file and warms else contextlib.nullcontext(lambda: None)
    with hold as free, Child("generator", argv, line_with("data"), deadline=DEADLINE) as child:
        free()
        yield child


def sent(generator: Child[Any]) -> dict[str, Any]:
    """Return the sender's report on the series, once it has ended by itself."""
    generator.wait(DEADLINE)
    generator.stop()  # returns once everything that it wrote has been read
    found = next(filter(None, map(line_with("series"), reversed(generator.tail))), None)
    if found is None:
        raise RuntimeError(f"{generator.ended() or 'the generator did not end'}: no figures")
    return found


def sender_seconds(report: dict[str, Any]) -> float:
    """Return the processor time of a sender, in seconds."""
    return float(report["cpu_microseconds_per_frame"]) * int(report["sent"]) / 1e6


class Pipeline:
    """A pipeline as `penstock process` starts it: HTTP process, distributor, workers.

    Args:
        folder: for its configuration and its class.
        receiver: whose frames it takes.
        source: of the class `Bench`.
        workers: how many.
        processes: in which it is started, and ended with.
        environment: variables added to that of this process.
        keys: further ones of its file.

    Raises:
        ProcessFailed: it did not start.
        RuntimeError: its workers did not.
    """

    def __init__(
        self, folder: Path, receiver: Receiver, source: str, workers: int, processes: ExitStack,
        environment: Mapping[str, str] | None = None, **keys: Any,
    ) -> None:  # fmt: skip
        config = folder / f"pipeline-{free_port()}.yaml"
        program = config.with_suffix(".py")
        program.write_text(source)
        content = {"processor": f"{program}:Bench", "consumer": ENTRY, "workers": workers, **keys}
        config.write_text(json.dumps(content))
        argv = (
            *PENSTOCK, "process", str(config), "--receiver", receiver.url, "--http", "127.0.0.1:0", "--json",
        )  # fmt: skip
        answer = start(processes, "pipeline", argv, "http", environment=environment).answer
        self.client = PipelineClient(answer["http"], timeout=10.0)
        self.http = int(answer["pid"])
        status = until(
            self.client, lambda status: sum(each.state == "ready" for each in status.workers) >= workers,
            "the workers do not start",
        )  # fmt: skip
        self.workers = {each.name: each.pid for each in status.workers}
        """Process ids by name."""
        self._pids = {"pipeline's HTTP": self.http}
        for pid in set(children(self.http)) - set(self.workers.values()):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            self._pids["recorder" if b"channels.recorder" in words else "distributor"] = pid
        self._last = "" if status.series is None else status.series.id
        receiver.connected()

    def seconds(self) -> Turn:
        """Return the processor time of its processes so far."""
        workers = sum(map(process_seconds, self.workers.values()))
        return {"workers": workers} | {name: process_seconds(pid) for name, pid in self._pids.items()}

    def done(self) -> int:
        """Return how many frames of the series that was sent are done so far."""
        series = self.client.status().series
        return series.counts.done if series is not None and series.id != self._last else 0

    def did(self, frames: int) -> None:
        """Wait until so many frames of the series that was sent are done, before it is over."""
        self._until(lambda series: series.counts.done >= frames, "do its frames")

    def over(self, frames: int, *, may_die: bool = False) -> Counts:
        """Wait until the series that was sent is over; return its account.

        Args:
            frames: that have to be done.
            may_die: whether workers may have died meanwhile.

        Raises:
            RuntimeError: it is not in time, not every frame is done, or a worker has died.
        """
        status = self._until(lambda series: not series.active, "end its series")
        if not may_die and {each.name: each.pid for each in status.workers} != self.workers:
            raise RuntimeError("a worker has died, so the figures say nothing")
        assert status.series is not None
        self._last, counts = status.series.id, status.series.counts
        if counts.done != frames:
            raise RuntimeError(f"of {frames} frames {counts.done} were processed: {counts}")
        return counts

    def _until(self, condition: Callable[[Any], bool], what: str) -> Status:
        def met(status: Status) -> bool:
            if status.error:
                raise RuntimeError(f"the pipeline does not {what}: {status.error}")
            return status.series is not None and status.series.id != self._last and condition(status.series)

        status: Status = until(self.client, met, f"the pipeline does not {what}")
        return status


class Loop:
    """One of `programs` that takes series, and tells when one has ended; by default the least that a consumer
    can be, a plain loop around `recv_multipart`."""

    def __init__(self, processes: ExitStack, endpoint: str, name: str = "pull", *words: object) -> None:
        self._ended = Told("ended")
        child = program(processes, name, endpoint, *words, relay=self._ended)
        self.pid, self.answer = child.pid, child.answer

    def seconds(self) -> Turn:
        """Return its processor time so far."""
        return {"loop": process_seconds(self.pid)}

    def over(self, frames: int) -> int:
        """Wait until it has taken the end of a series of so many frames; return how many of them it has."""
        return int(self._ended.next(f"the loop was not sent the end of {frames} frames")["ended"])


class Told:
    """Lines of JSON with a key that a child prints, as its `relay`."""

    def __init__(self, key: str) -> None:
        self._read, self._lines = line_with(key), Queue[dict[str, Any]]()

    def __call__(self, line: str) -> None:
        """Keep a line, if it is one."""
        if (found := self._read(line)) is not None:
            self._lines.put(found)

    def next(self, complaint: str, seconds: float = DEADLINE) -> dict[str, Any]:
        """Return the next one.

        Raises:
            RuntimeError: there is none in time.
        """
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            raise RuntimeError(complaint) from None


def told_by(name: str, argv: Sequence[str], key: str, send: Callable[[int], T]) -> tuple[dict[str, Any], T]:
    """Run a program that takes one series, and prints a line of JSON with this key at its end.

    Args:
        name: of the program, for messages.
        argv: its command line.
        key: of the line.
        send: called with its process id once it is ready; sends the series.

    Returns:
        The line, and what `send` has returned.

    Raises:
        RuntimeError: it has printed none.
    """
    told = Told(key)
    with Child(name, argv, line_with("ready"), relay=told, environment=PATH) as process:
        result = send(process.pid)
        process.wait(DEADLINE)
    return told.next(f"{process.ended() or name + ' was not done in time'}: no figures", 0.0), result


def start(
    processes: ExitStack, name: str, argv: Sequence[str], key: str = "ready", **keys: Any
) -> Child[dict[str, Any]]:
    """Start a child that is ready when it prints JSON with this key, and ends with the stack."""
    return processes.enter_context(Child(name, argv, line_with(key), **{"deadline": DEADLINE, **keys}))


def program(
    processes: ExitStack, name: str, *words: object, key: str = "ready",
    environment: Mapping[str, str] | None = None, **keys: Any,
) -> Child[dict[str, Any]]:  # fmt: skip
    """Start one of `programs`."""
    around = PATH | dict(environment or {})
    return start(processes, name, python("programs", name, *words), key, environment=around, **keys)


@contextlib.contextmanager
def warm(folder: Path, nbytes: int) -> Iterator[Callable[[], None]]:
    """Hold as much memory as the file of a series takes.

    A virtual machine hands free memory back to its host within a second or two, and whoever touches it first
    pays for that: on a disk, the first gigabyte took eight times as long as the second, also in processor
    time. So a file of the size of the series is written while the sender starts, and removed when that is
    ready. It must be in the same folder: the page cache of a disk takes its pages in larger blocks than a RAM
    disk and programs do, and those blocks are handed back.

    Args:
        folder: of that file.
        nbytes: its size; 0: there is none.

    Yields:
        A function that releases the memory: to be called right before the series.
    """
    file = folder / "warm"
    try:
        if nbytes:
            with file.open("wb", buffering=0) as stream:
                for _ in range(nbytes // len(BLOCK) + QUEUE_BLOCKS):
                    stream.write(BLOCK)
        yield lambda: file.unlink(missing_ok=True)
    finally:
        file.unlink(missing_ok=True)


def until(client: Any, condition: Callable[[Any], object], complaint: str, seconds: float = DEADLINE) -> Any:
    """Return the first status of a service that meets the condition; it answers when it has another one.

    Raises:
        RuntimeError: there is none in time.
    """

    def statuses() -> Iterator[Any]:
        yield (status := client.status())
        while True:
            yield (status := client.status(seen=status.version, wait=1.0))

    return poll(partial(next, statuses()), condition, complaint, seconds, pause=0.0)


def poll(
    ask: Callable[[], Any], condition: Callable[[Any], object], complaint: str, seconds: float = DEADLINE,
    pause: float = 0.02, sleep: Callable[[float], object] = time.sleep,
) -> Any:  # fmt: skip
    """Ask now and then, and sleep meanwhile; return the first answer that meets the condition.

    Raises:
        RuntimeError: there is none in time.
    """
    due = time.monotonic() + seconds
    while not condition(answer := ask()):
        if time.monotonic() > due:
            raise RuntimeError(f"{complaint} within {seconds:g} s: {answer}")
        sleep(pause)
    return answer


def line_with(key: str) -> Callable[[str], dict[str, Any] | None]:
    """Return a test for `Child`: a line of JSON with this key means that a process is ready."""

    def ready(line: str) -> dict[str, Any] | None:
        try:
            found = json.loads(line)
        except ValueError:
            return None
        return found if isinstance(found, dict) and key in found else None

    return ready


def says(word: str) -> Callable[[str], bool | None]:
    """Return a test for `Child`: a line with this word means that a process is ready."""
    return lambda line: True if word in line else None


def process_seconds(pid: int) -> float:
    """Return the processor time of a process in seconds, of all threads that it has and had: of some
    programs each frame has a thread of its own."""
    return time.clock_gettime(~pid << 3 | PROCESS_CLOCK)


def pss(pid: int | str) -> int:
    """Return the proportional set size in bytes: shared memory is divided among its users
    (proc_pid_smaps(5))."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.partition("\nPss:")[2].split()[0]) * 1024


def thread_seconds(task: Path) -> float:
    """Return the processor time of a thread in seconds, by its folder in /proc (proc(5))."""
    return int((task / "schedstat").read_text().split()[0]) / 1e9


def since(seconds: Callable[[], Turn]) -> Callable[[], Turn]:
    """Return a function that returns what was spent from now on, by process."""
    before = seconds()
    return lambda: difference(seconds(), before)


def difference(after: Turn, before: Turn) -> Turn:
    """Return what was spent between two times, by process."""
    return {name: after[name] - before[name] for name in after}


def remove(folder: Path, *patterns: str) -> None:
    """Remove files at once, so that the next series finds as much memory."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink()
