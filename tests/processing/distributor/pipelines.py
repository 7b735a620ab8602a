"""A distributor and workers as processes, behind a real receiver, and waits that all have a deadline."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import h5py
import msgspec
import numpy as np

from penstock.processing.channels.recording import Places
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.distributor.link import Command, Setup, Snapshot
from penstock.processing.distributor.receiver.events import OverMarks
from penstock.processing.models import Changed, Series, Status
from penstock.processing.results import layout
from penstock.processing.wire import Step, local
from tests.processing.distributor.pauses import Pauses
from tests.receiver.processes import ReceiverProcess

DEADLINE = 60.0
IMPORTS = "from penstock.processing import Events, Max, Mean, Min, Processor, Sum\nimport numpy as np\n"
NUMBER = """
class Mine(Processor):
    def process(self, frame):
        return {"number": int(frame.pixels.flat[0]), "index": frame.index}
"""
"""The frame's number is its first pixel."""
SUM = """
class Mine(Processor):
    def process(self, frame):
        return {"number": int(frame.pixels.flat[0]), "sum": Sum(frame.pixels.astype("u8"))}
"""


def step_of(source: str) -> Step:
    """The step of a class `Mine`, behind the usual imports (2 lines)."""
    text = IMPORTS + dedent(source).lstrip("\n")
    return Step(name="Mine", file="mine.py", source=text, sha256=hashlib.sha256(text.encode()).hexdigest())


class Pipeline:
    """A pipeline's distributor and workers; the test is its HTTP process.

    Args:
        source: of the class `Mine`.
        receiver: whose frames are processed.
        url: of a receiver that is not there yet.
        file: that is processed in place of a receiver's series.
        parameters: of the class.
        recording: of the values of channels.
        keys: further ones of the configuration.
    """

    def __init__(
        self, source: str, receiver: ReceiverProcess | None = None, *, file: str = "", url: str = "",
        parameters: dict[str, Any] | None = None, recording: Places | None = None, **keys: Any,
    ) -> None:  # fmt: skip
        step = StepConfig(processor="mine.py:Mine", parameters=parameters or {})
        self.config = PipelineConfig(
            name="mine", steps=(step,), receiver=url if receiver is None else receiver.client.url, **keys
        )
        self._setup = Setup(
            config=self.config, steps=(step_of(source),), since=time.time(), file=file, recording=recording
        )
        self.workers: list[subprocess.Popen[bytes]] = []
        self._sent = 0
        self._over = OverMarks()
        self.snapshot: Snapshot
        self.start()

    def start(self, *, again: bool = False) -> None:
        """Start the distributor; again, as its parent does when it has died, with what is known by then."""
        if again:
            status = self.status
            last = [each for each in (status.series, *status.others) if each is not None and not each.active]
            self._setup = msgspec.structs.replace(
                self._setup, parameters=status.parameters, over=self._over.joined, shown=tuple(last)
            )
        self.pauses = Pauses()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.distributor = subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.processing.distributor.distributor", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        ours.settimeout(DEADLINE)
        self._link = ours
        ours.send(msgspec.json.encode(self._setup))
        self.snapshot = self._next()

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, which need not become ready."""
        command = [sys.executable, "-P", "-m", "penstock.processing.worker.worker", self.status.address]
        self.workers.append(subprocess.Popen(command))
        return self.workers[-1]

    def work(self, count: int = 1, address: str = "", *arguments: str) -> list[subprocess.Popen[bytes]]:
        """Start workers, and wait until they are ready."""
        found = []
        for _ in range(count):
            command = [
                sys.executable,
                "-P",
                "-m",
                "penstock.processing.worker.worker",
                address or self.status.address,
            ]
            found.append(subprocess.Popen([*command, *arguments]))
        self.workers += found
        pids = {process.pid for process in found}
        self.wait(
            lambda status: (
                pids
                <= {each.pid for each in status.workers if each.state in ("ready", "preparing", "working")}
            )
        )
        return found

    @property
    def status(self) -> Status:
        """The newest one that was received."""
        return self.snapshot.status

    def wait(self, condition: Callable[[Status], Any], seconds: float = DEADLINE) -> Status:
        """The first status for which a condition holds; in each of them the counts add up."""
        due = time.monotonic() + seconds
        while not condition(self.snapshot.status):
            assert time.monotonic() < due, f"in vain: {self.snapshot.status}"
            self._receive()
        return self.snapshot.status

    def over(self, series: str, seconds: float = DEADLINE) -> Series:
        """Wait until a series is over; return its status."""
        status = self.wait(lambda status: any(not each.active for each in _all(status, series)), seconds)
        return next(iter(_all(status, series)))

    def change(self, **parameters: Any) -> Changed:
        """Change parameters, and return what became of it."""
        number = self.say("parameters", parameters=parameters)
        self.until(number)
        assert self.snapshot.changed is not None
        return self.snapshot.changed

    def say(self, action: str, **keys: Any) -> int:
        """Send a command; return its number."""
        self._sent += 1
        self._link.send(msgspec.json.encode(Command(number=self._sent, action=action, **keys)))
        return self._sent

    def until(self, number: int) -> None:
        """Wait until a command was carried out."""
        due = time.monotonic() + DEADLINE
        while self.snapshot.handled < number:
            assert time.monotonic() < due, f"command {number} is not carried out: {self.snapshot}"
            self._receive()

    def quit(self) -> int:
        """End the pipeline as its parent would; return the distributor's exit status."""
        self.say("quit")
        return self.distributor.wait(DEADLINE)

    def kill(self) -> None:
        """Kill the distributor, and remove what it leaves, as its parent does."""
        self.distributor.kill()
        self.distributor.wait()
        local.remove(self.status.address)
        self._link.close()

    def close(self) -> None:
        """End everything, in whatever state it is."""
        for process in [*self.workers, self.distributor]:
            process.kill()
            process.wait()
        local.remove(self.status.address)
        self._link.close()

    def _receive(self) -> None:
        """Take the next snapshot; in each of them the counts add up."""
        if not select.select([self._link], [], [], 0)[0]:
            self.pauses.look(self.status, self.distributor.pid)
        self.snapshot = self._next()
        for series in (self.status.series, *self.status.others):
            if series is not None:
                counts = vars(series.counts).copy()
                frames = counts.pop("frames")
                assert sum(counts.values()) == frames, f"the counts do not add up: {series}"

    def _next(self) -> Snapshot:
        message = self._link.recv(2**22)
        assert message, f"the distributor has ended with status {self.distributor.wait(DEADLINE)}"
        snapshot = msgspec.json.decode(message, type=Snapshot)
        self._over.add(snapshot.over)
        return snapshot


def _all(status: Status, series: str) -> list[Series]:
    return [each for each in (status.series, *status.others) if each is not None and each.id == series]


@contextmanager
def pipeline(
    source: str, receiver: ReceiverProcess | None = None, *, workers: int = 0, **keys: Any
) -> Iterator[Pipeline]:
    """A pipeline, connected with the receiver, whose workers are ready."""
    made = Pipeline(source, receiver, **keys)
    try:
        if receiver is not None:
            receiver.wait(lambda status: status.consumers[0].connected > 0)
        if workers:
            made.work(workers)
        yield made
    finally:
        made.close()


def kill(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a worker."""
    os.kill(process.pid, number)


def results(series: Series) -> h5py.File:
    """Open the result file of a series."""
    assert series.result_file is not None, series
    return h5py.File(series.result_file)


def column(file: h5py.File, name: str) -> np.ndarray[Any, Any]:
    """The values of one name, a row per frame."""
    group = file[f"/entry/{name}"]
    return np.asarray(group[name.rpartition("/")[2]] if name in group else group[group.attrs["signal"]])


def statuses(file: h5py.File) -> np.ndarray[Any, Any]:
    """State of each frame."""
    return np.asarray(file["/entry/account/frame_status"])


def frames_in(file: h5py.File, name: str) -> int:
    """Number of frames in an accumulated value."""
    return int(np.squeeze(file[layout.total_paths(name)[1]]))


def raw_sum(path: Path) -> np.ndarray[Any, Any]:
    """Sum over all frames of a raw file."""
    with h5py.File(path) as file:
        data = file["/entry/instrument/detector/data"] if "detector" in file["/entry/instrument"] else None
        if data is None:
            group = next(iter(file["/entry/instrument"].values()))
            data = group["data"]
        return np.asarray(data[...].sum(axis=0, dtype="u8"))


def entry(folder: Path, shared: bool = True, **keys: Any) -> dict[str, Any]:
    """A forward entry for a pipeline."""
    memory = folder / "memory"
    memory.mkdir(exist_ok=True)
    found: dict[str, Any] = {"name": "live", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 16, **keys}
    return found | ({"shared": True, "shared_folder": str(memory)} if shared else {})
