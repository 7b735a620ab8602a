"""A worker as a process of its own, and a ROUTER that stands for its distributor."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

import numpy as np
import zmq

from penstock.hosts import zmq_sockets
from penstock.processing import wire
from penstock.processing.wire import keys
from penstock.receiver.forward.shared import SharedSlots
from penstock.stins import codec
from penstock.stins.messages import Buffer, Header, Image, SharedMemory
from penstock.stins.shared import Reference

SECONDS = 30
"""Longest time to wait for something that has to come."""
IMPORTS = "from penstock.processing import Events, Max, Mean, Min, Processor, Sum\nimport numpy as np\n"
PIXELS = np.arange(12, dtype=np.uint16).reshape(3, 4)
TOTAL = """
    class Mine(Processor):
        factor: int = 1
        def process(self, frame):
            return {"total": frame.pixels.sum(dtype="u8") * np.uint64(self.factor)}
    """
SUM = """
    class Mine(Processor):
        def process(self, frame):
            return {"sum": Sum(frame.pixels), "index": frame.index}
    """
M = TypeVar("M", bound=wire.FromWorker)


def step(source: str, name: str = "Mine", file: str = "mine.py", sha256: str = "") -> wire.Step:
    """Return a step with a class of this source text, behind the usual imports (2 lines)."""
    text = IMPORTS + dedent(source).lstrip("\n")
    return wire.Step(
        name=name, file=file, source=text, sha256=sha256 or hashlib.sha256(text.encode()).hexdigest()
    )


def frame(pixels: np.ndarray, index: int = 0, blobs: Sequence[bytes] = (), **keys: Any) -> list[bytes]:
    """Return header and blobs of a frame; by default plain, in one blob."""
    image = Image(
        **{"shape": pixels.shape, "type": pixels.dtype.name, "compression": "none", "frame": index} | keys
    )
    return [codec.encode_image(image), *(blobs or [pixels.tobytes()])]


class Router:
    """The distributor's side of one worker."""

    def __init__(self, address: str = "tcp://127.0.0.1:*", key: bytes | None = None) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        if key is not None:
            keys.serve(self._socket, key)
        self.monitor = self._socket.get_monitor_socket()
        self._socket.bind(address)
        self.address = self._socket.last_endpoint.decode()
        self._worker = b""
        self._bunches = itertools.count(1)
        self.started: list[tuple[wire.Started, list[bytes]]] = []
        """What has been said of series that have begun, with its raw parts."""
        self.parts: list[bytes] = []
        """Raw parts of the last message."""

    def close(self) -> None:
        self._socket.disable_monitor()
        self.monitor.close(0)
        self._socket.close(0)
        self._context.term()

    def next(self, seconds: float = SECONDS) -> wire.MessageOfWorker:
        """Return the worker's next message, besides `Started`, which is kept."""
        while True:
            assert self._socket.poll(seconds * 1000), "the worker says nothing"
            self._worker, first, *self.parts = self._socket.recv_multipart()
            message = wire.from_worker(first)
            if not isinstance(message, wire.Started):
                return message
            self.started.append((message, self.parts))

    def expect(self, kind: type[M]) -> M:
        """Return the worker's next message, which is of this kind."""
        message = self.next()
        assert isinstance(message, kind), message
        return message

    def is_silent(self, seconds: float) -> bool:
        """Return whether the worker says nothing for so long, besides `Started`."""
        while self._socket.poll(seconds * 1000):
            _, first, *parts = self._socket.recv_multipart()
            message = wire.from_worker(first)
            if not isinstance(message, wire.Started):
                return False
            self.started.append((message, parts))
        return True

    def say(self, message: wire.MessageOfDistributor, *parts: Buffer) -> None:
        self._socket.send_multipart([self._worker, wire.encode(message), *parts])

    def welcome(self, *steps: wire.Step, shared: SharedMemory | None = None, **keys: Any) -> wire.Ready:
        """Greet a worker, and return its answer, which has to be Ready."""
        self.expect(wire.Hello)
        self.greet(*steps, shared=shared, **keys)
        return self.expect(wire.Ready)

    def greet(self, *steps: wire.Step, shared: SharedMemory | None = None, **keys: Any) -> None:
        given = {"parameters": {}, "version": 1} | keys
        self.say(wire.Welcome(pipeline="p", steps=steps, shared=shared, **given))

    def begin(self, number: int = 1, metadata: bytes = b"{}", *parts: bytes, **header: Any) -> None:
        made = Header(**{"filename": "", "series": "s"} | header)
        self.say(wire.Begin(series=number, header=made), metadata, *parts)

    def work(self, frames: Sequence[list[bytes]], series: int = 1, first: int = 0, **keys: Any) -> int:
        """Send a bunch of frames by value; return its number."""
        bunch = next(self._bunches)
        indices = tuple(range(first, first + len(frames)))
        self.say(
            wire.Work(series=series, bunch=bunch, indices=indices, parts=tuple(map(len, frames)), **keys),
            *itertools.chain.from_iterable(frames),
        )
        return bunch

    def done(self) -> tuple[wire.Done, dict[str, np.ndarray]]:
        """Return the next message, which is Done, with its arrays by name."""
        message = self.expect(wire.Done)
        return message, dict(wire.arrays(message.arrays, self.parts))

    def handed_over(self) -> tuple[wire.HandedOver, dict[str, np.ndarray]]:
        message = self.expect(wire.HandedOver)
        return message, dict(wire.arrays(message.arrays, self.parts))

    def events(self, *kinds: int) -> list[int]:
        """Return the connection's next event of these kinds, and what of them has come with it."""
        found: list[int] = []
        while not found or self.monitor.poll(100):
            assert self.monitor.poll(SECONDS * 1000), "nothing happens at the port"
            event = zmq_sockets.monitor_report(self.monitor).event
            found += [event] if event in kinds else []
        return found


@contextlib.contextmanager
def worker(
    router: Router, *arguments: str, cwd: Path | None = None, stdin: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a worker for a router; it is killed at the end if it still runs."""
    command = [sys.executable, "-P", "-m", "penstock.processing.worker.worker", router.address, *arguments]
    process = subprocess.Popen(command, stdin=stdin, stderr=subprocess.PIPE, text=True, cwd=cwd)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of a worker; return its exit status, and what it has said."""
    said = process.communicate(timeout=SECONDS)[1]
    return process.returncode, said


def shared(slots: SharedSlots) -> SharedMemory:
    return SharedMemory(str(slots.path), slots.nonce.hex(), slots.layout.slots, slots.layout.slot_bytes)


def put(slots: SharedSlots, index: int, parts: list[bytes]) -> Reference:
    slot = slots.put(parts[0], parts[1:])
    assert slot is not None
    return Reference(index, slot, len(parts[0]), tuple(map(len, parts[1:])))
