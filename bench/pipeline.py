"""Receivers with what takes their frames, as processes, and the processor time of each.

Everything is started with the commands that users type, and gets its frames from a real generator.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.contenders import children, line_with, process_seconds
from penstock.bench.load import high_water_mark
from penstock.hosts.child import PENSTOCK, PYTHON, Child, free_port
from penstock.processing.client import PipelineClient
from penstock.processing.models import Counts
from penstock.receiver.client import ReceiverClient

DEADLINE = 60.0
"""Seconds for a process to start, and for a series to end."""
ENTRY = "bench"


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Plain frames."""

    name: str
    shape: tuple[int, int]
    count: int
    rate: float = 0.0
    """Frames per second; 0: as fast as they are taken."""
    dtype: str = "uint16"

    @property
    def nbytes(self) -> int:
        """Bytes of a frame."""
        return np.dtype(self.dtype).itemsize * self.shape[0] * self.shape[1]

    def of(self, count: int) -> Frames:
        """Return another number of the same frames."""
        return replace(self, count=count)


@dataclass(kw_only=True)
class Taking:
    """A series that is under way."""

    began: float
    """When its sender was ready; monotonic seconds."""
    pid: int
    """Of its sender."""
    sender: float = 0.0
    """Seconds of the sender's processor time, once it has ended."""
    rate: float = 0.0
    """Frames per second that were sent, once it has ended."""


class Receiver:
    """A receiver, without a file, that forwards frames.

    Args:
        folder: for its configuration.
        frames: whose size decides how many messages may wait.
        forward: its forward entry, or `None`.
        processes: in which it is started, and ended with.

    Raises:
        ProcessFailed: it did not start.
    """

    def __init__(
        self, folder: Path, frames: Frames, forward: dict[str, Any] | None, processes: ExitStack
    ) -> None:
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        """Where its streamer binds."""
        name = f"bench-{self.endpoint.rpartition(':')[2]}"  # of its own: one of a name runs at a time
        entry = {
            "detector": "bench",
            "source": {"endpoints": [self.endpoint], "high_water_mark": high_water_mark(frames.nbytes)},
            "data_root": str(folder),
            "forward": []
            if forward is None
            else [{"name": ENTRY, "endpoint": "tcp://127.0.0.1:*"} | forward],
        }
        config = folder / f"receiver-{self.endpoint.rpartition(':')[2]}.yaml"
        config.write_text(json.dumps({"receivers": {name: entry}}))  # JSON is YAML too
        argv = (*PENSTOCK, "receiver", name, "--config", str(config), "--http", "127.0.0.1:0", "--json")
        self._process = processes.enter_context(Child("receiver", argv, line_with("http"), deadline=DEADLINE))
        self.url: str = self._process.answer["http"]
        self.client = ReceiverClient(self.url, timeout=5.0)
        self.http = int(self._process.answer["pid"])
        (self.data,) = children(self.http)
        """Ids of its two processes."""

    def seconds(self) -> dict[str, float]:
        """Return the processor time of its processes so far."""
        return {"receiver": process_seconds(self.data), "receiver's HTTP": process_seconds(self.http)}

    def connected(self) -> None:
        """Wait until its consumer is connected.

        Raises:
            RuntimeError: it is not in time.
        """
        due = time.monotonic() + DEADLINE
        while not (status := self.client.status()).consumers[0].connected:
            if time.monotonic() > due:
                raise RuntimeError("the consumer does not connect to the receiver")
            self.client.status(seen=status.version, wait=1.0)

    def take(self, frames: Frames) -> float:
        """Let it take a series; return the seconds of the sender's processor time.

        Raises:
            RuntimeError: it was not complete.
        """
        with self.taking(frames) as taking:
            pass
        return taking.sender

    @contextmanager
    def taking(self, frames: Frames) -> Iterator[Taking]:
        """Send a series; wait for its end after the block.

        Raises:
            RuntimeError: it was not complete.
        """
        argv = (
            *PENSTOCK, "generate", "--json", "--endpoint", self.endpoint, "--frames", str(frames.count),
            "--shape", ",".join(map(str, frames.shape)), "--dtype", frames.dtype,
            "--rate", f"{frames.rate:g}", "--pattern", "opaque",
        )  # fmt: skip
        last = self.client.status().series
        due = time.monotonic() + DEADLINE
        with Child("generator", argv, line_with("data"), deadline=DEADLINE) as generator:
            taking = Taking(began=time.monotonic(), pid=generator.pid)
            yield taking
            if generator.wait(DEADLINE) is None:  # asking meanwhile would cost the receiver time
                raise RuntimeError(f"the series of {frames.count} frames was not sent within {DEADLINE:g} s")
            generator.stop()
            report = next(json.loads(line) for line in reversed(generator.tail) if '"sent"' in line)
            status = self.client.status()
            while status.series is None or status.series.active or (last and status.series.id == last.id):
                if time.monotonic() > due:
                    raise RuntimeError("the series does not end")
                status = self.client.status(seen=status.version, wait=1.0)
        if not status.series.complete:
            raise RuntimeError(f"the receiver did not take the whole series: {status.series.reason}")
        taking.rate = float(report["rate"])
        taking.sender = float(report["cpu_microseconds_per_frame"]) * int(report["sent"]) / 1e6

    @property
    def dropped(self) -> int:
        """Frames for which its consumer was too slow, so far."""
        return sum(consumer.dropped for consumer in self.client.status().consumers)


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
        environment: dict[str, str] | None = None, **keys: Any,
    ) -> None:  # fmt: skip
        config = folder / f"pipeline-{free_port()}.yaml"
        program = config.with_suffix(".py")
        program.write_text(source)
        content = {"processor": f"{program}:Bench", "consumer": ENTRY, "workers": workers, **keys}
        config.write_text(json.dumps(content))
        argv = (
            *PENSTOCK, "process", str(config), "--receiver", receiver.url, "--http", "127.0.0.1:0", "--json",
        )  # fmt: skip
        process = processes.enter_context(
            Child("pipeline", argv, line_with("http"), deadline=DEADLINE, environment=environment)
        )
        self.client = PipelineClient(process.answer["http"], timeout=5.0)
        self.http = int(process.answer["pid"])
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while sum(each.state == "ready" for each in status.workers) < workers:
            if time.monotonic() > due:
                raise RuntimeError(f"the workers do not start: {status.error or status.waits_for}")
            status = self.client.status(seen=status.version, wait=1.0)
        self.workers = {each.name: each.pid for each in status.workers}
        """Process ids by name."""
        self.shares = all(each.shares for each in status.workers)
        """Whether they read the shared memory."""
        others = set(children(self.http)) - set(self.workers.values())
        self.recorder = next((pid for pid in others if _runs(pid, "channels.recorder")), None)
        """Of its channels, if it has some."""
        (self.distributor,) = others - {self.recorder}
        self._last = "" if status.series is None else status.series.id
        receiver.connected()

    def seconds(self) -> dict[str, float]:
        """Return the processor time of its processes so far."""
        return {
            "distributor": process_seconds(self.distributor),
            "workers": sum(map(process_seconds, self.workers.values())),
            "pipeline's HTTP": process_seconds(self.http),
            **({} if self.recorder is None else {"recorder": process_seconds(self.recorder)}),
        }

    def did(self, frames: int) -> None:
        """Wait until so many frames of the series that was sent are done, before it is over.

        Raises:
            RuntimeError: they are not in time.
        """
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while status.series is None or status.series.id == self._last or status.series.counts.done < frames:
            if time.monotonic() > due or status.error:
                raise RuntimeError(f"the pipeline does not do its frames: {status.error or status.series}")
            status = self.client.status(seen=status.version, wait=1.0)

    def over(self, *, may_die: bool = False) -> Counts:
        """Wait until the series that was sent is over; return its account.

        Args:
            may_die: whether workers may have died meanwhile.

        Raises:
            RuntimeError: it is not in time, or a worker has died.
        """
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while status.series is None or status.series.active or status.series.id == self._last:
            if time.monotonic() > due or status.error:
                raise RuntimeError(f"the pipeline does not end its series: {status.error or status.series}")
            status = self.client.status(seen=status.version, wait=1.0)
        if not may_die and {each.name: each.pid for each in status.workers} != self.workers:
            raise RuntimeError("a worker has died, so the figures say nothing")
        self._last = status.series.id
        return status.series.counts


class Loop:
    """One plain PULL loop of pyzmq, which takes what comes and does nothing with it.

    Args:
        receiver: whose frames it takes.
        processes: in which it is started, and ended with.
    """

    def __init__(self, receiver: Receiver, processes: ExitStack) -> None:
        (there,) = receiver.client.status().consumers
        self._ended = threading.Event()
        argv = (*PYTHON, "-m", "penstock.bench.pull", there.endpoint)
        process = processes.enter_context(
            Child("loop", argv, line_with("ready"), deadline=DEADLINE, relay=self._line)
        )
        self._pid = process.pid
        receiver.connected()

    def seconds(self) -> dict[str, float]:
        """Return its processor time so far."""
        return {"loop": process_seconds(self._pid)}

    def over(self) -> None:
        """Wait until it has taken the end of a series.

        Raises:
            RuntimeError: that did not come in time.
        """
        if not self._ended.wait(DEADLINE):
            raise RuntimeError("the loop was not sent the end of the series")
        self._ended.clear()

    def _line(self, line: str) -> None:
        if line == "ended":
            self._ended.set()


def _runs(pid: int, module: str) -> bool:
    return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


def difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """Return what was spent between two times, by process."""
    return {name: after[name] - before[name] for name in after}
