"""What a consumer costs the receiver: processor time per frame without one, with one that gets frames by
reference and frees them at once, and with one that gets messages.

Three receivers take the same series in turn, live only and as fast as it is sent, so that a busy machine
slows all three; medians count. "All threads" are those of the data process, ZeroMQ's included.

python -m penstock.bench.consumers ENDPOINT PATH is the consumer: of the memory at PATH, or of messages
if that is "".
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq

from penstock.bench.contenders import line_with
from penstock.bench.load import high_water_mark
from penstock.bench.viewer import DEADLINE, Receiver
from penstock.hosts.child import PENSTOCK, PYTHON, Child, free_port
from penstock.processing.sources.stream import Began, Referenced, Stream
from penstock.processing.wire.shared_frames import SharedFrames, lock

KINDS = ("none", "by reference", "messages")
QUEUE_MB = 256


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames of uint16, plain, as fast as they are sent."""

    name: str
    shape: tuple[int, int]
    frames: int

    @property
    def nbytes(self) -> int:
        """Bytes of a frame."""
        return 2 * self.shape[0] * self.shape[1]


CASES = (
    Case(name="20 kB", shape=(100, 100), frames=50_000),
    Case(name="262 kB", shape=(362, 362), frames=8_000),
    Case(name="4.2 MB", shape=(1448, 1448), frames=600),
    Case(name="16.8 MB", shape=(2896, 2896), frames=150),
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case: processor time in µs per frame, by kind of consumer, one entry per round."""

    case: Case
    thread: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """Of the receiving thread."""
    process: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """Of all threads of the data process."""
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """Frames for which the consumer was too slow, all rounds together."""

    def ratio(self, kind: str) -> float:
        """Return the time of all threads over that without a consumer: median of neighbours' ratios."""
        pairs = zip(self.process["none"], self.process[kind], strict=True)
        return statistics.median(with_it / without for without, with_it in pairs)


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: tuple[Case, ...] = CASES
) -> Iterator[Result]:
    """Measure each case: per round one series with each kind of consumer.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for case in cases:
        with ExitStack() as processes:
            receivers = {kind: _started(kind, case, folder, processes) for kind in KINDS}
            result = Result(case=case)
            for number in range(1, rounds + 1):
                for kind, (receiver, endpoint) in receivers.items():
                    progress(f"{case.name}, consumer: {kind}, round {number} of {rounds}")
                    _series(receiver, endpoint, kind, result)
        yield result


def _started(kind: str, case: Case, folder: Path, processes: ExitStack) -> tuple[Receiver, str]:
    """Start a receiver with its consumer, connected; return it and the address that it takes frames from."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    consumer: dict[str, Any] = {"name": "bench", "endpoint": "tcp://127.0.0.1:*", "queue_mb": QUEUE_MB}
    if kind == "by reference":
        consumer["shared"] = True
    name = f"bench-{endpoint.rpartition(':')[2]}"  # of its own: one of a name runs at a time
    entry = {
        "detector": "bench",
        "source": {"endpoints": [endpoint], "high_water_mark": high_water_mark(case.nbytes)},
        "data_root": str(folder),
        "forward": [] if kind == "none" else [consumer],
    }  # fmt: skip
    config = folder / f"{kind}.yaml"
    config.write_text(json.dumps({"receivers": {name: entry}}))  # JSON is YAML too
    argv = (*PENSTOCK, "receiver", name, "--config", str(config), "--http", "127.0.0.1:0", "--json")
    process = processes.enter_context(Child("receiver", argv, line_with("http"), deadline=DEADLINE))
    receiver = Receiver(process.answer["http"], process.answer["pid"])
    if kind != "none":
        (there,) = receiver.client.status().consumers
        program = (*PYTHON, "-m", "penstock.bench.consumers", there.endpoint, there.shared or "")
        processes.enter_context(Child("consumer", program, line_with("ready"), deadline=DEADLINE))
        due = time.monotonic() + DEADLINE
        while not (status := receiver.client.status()).consumers[0].connected:
            if time.monotonic() > due:
                raise RuntimeError("the consumer does not connect to the receiver")
            receiver.client.status(seen=status.version, wait=1.0)
    return receiver, endpoint


def _series(receiver: Receiver, endpoint: str, kind: str, result: Result) -> None:
    case = result.case
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frames", str(case.frames),
        "--shape", ",".join(map(str, case.shape)), "--dtype", "uint16",
    )  # fmt: skip
    lost = _lost(receiver)
    before = receiver.spent()
    last = receiver.client.status().series
    with Child("generator", argv, line_with("data"), deadline=DEADLINE):
        due = time.monotonic() + DEADLINE
        status = receiver.client.status()
        while status.series is None or status.series.active or (last and status.series.id == last.id):
            if time.monotonic() > due:
                raise RuntimeError("the series does not end")
            status = receiver.client.status(seen=status.version, wait=1.0)
    after = receiver.spent()
    if not status.series.complete:
        raise RuntimeError(f"the receiver did not take the whole series: {status.series.reason}")
    thread, process = ((late - early) / case.frames * 1e6 for early, late in zip(before, after, strict=True))
    result.thread[kind].append(thread)
    result.process[kind].append(process)
    result.dropped[kind] += _lost(receiver) - lost


def _lost(receiver: Receiver) -> int:
    return sum(consumer.dropped for consumer in receiver.client.status().consumers)


def consume(endpoint: str, path: str) -> None:
    """Take what comes, and free it at once, until this process is killed."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    hold = lock(path) if path else None
    stream = Stream(endpoint, context)
    print(json.dumps({"ready": True}), flush=True)
    if hold is None:
        while True:
            stream.socket.recv_multipart(copy=False)
    memory: SharedFrames | None = None
    while stream.socket.poll():
        while (event := stream.receive()) is not None:
            if isinstance(event, Began) and event.header.shared is not None:
                memory = SharedFrames(event.header.shared.path, event.header.shared.nonce)
            elif isinstance(event, Referenced) and memory is not None:
                memory.free([reference.slot for reference in event.references])


if __name__ == "__main__":
    consume(*sys.argv[1:3])
