"""Streams of DECTRIS: an EIGER 1M at 1 kHz into a file, beside a program in C that stores the same bytes; and
the rate over one socket.

A simulated control unit in a process of its own sends frames of 1062 x 1028 pixels (uint16, bslz4), as a real
one does. For frames as fast as each takes them, blobs of the same size come from a sender that waits for its
receiver. Without a file, and discarding them, the limit shows the highest rate of the control unit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import cbor2
import numpy as np
import zmq

from penstock.codecs import bslz4
from penstock.devices._dectris.rest import Simplon
from penstock.hosts.child import PENSTOCK, Child
from penstock_bench.cases import HZ_EIGER, Stream
from penstock_bench.receivers import DEADLINE, Receiver, figures, line_with, remove, told_by, warm
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench
from penstock_bench.throughput import PENSTOCK as OURS
from penstock_bench.throughput import WRITE_LIMIT, limit_argv

SENSOR = (1062, 1028)
FLAT_OUT = 50_000.0
"""Hz: more than anything here can do."""
QUEUED = 1800
"""Frames of a series that the control unit sends without drops, however fast: it queues 2000 messages."""
ROWS = 200
NUMBER = 0xDEADBEEF
"""Placeholder for a frame's number in the message from which all are made."""


def v1(blob: bytes, columns: int, frames: int, file: Path | None) -> Iterator[list[bytes]]:
    """Yield the messages of a series of stream V1."""
    yield [
        _json(htype="dheader-1.0", series=frames, header_detail="basic"), _json(nimages=frames, ntrigger=1),
        _json(filename=str(file or "")),
    ]  # fmt: skip
    shape = {"shape": [columns, ROWS], "type": "uint16", "encoding": "bs16-lz4<", "size": len(blob)}
    data, times = _json(htype="dimage_d-1.0", **shape), _json(htype="dconfig-1.0", start_time=0, stop_time=1,
                                                             real_time=1)  # fmt: skip
    for number in range(frames):
        yield [_json(htype="dimage-1.0", series=frames, frame=number, hash=""), data, blob, times]
    yield [_json(htype="dseries_end-1.0", series=frames)]


def v2(blob: bytes, columns: int, frames: int, file: Path | None) -> Iterator[list[bytes]]:
    """Yield the messages of a series of stream V2."""
    series = {"series_id": frames, "series_unique_id": file.name if file else "bench"}
    yield [cbor2.dumps({
        "type": "start", **series, "channels": ["threshold_1"], "number_of_images": frames,
        "image_dtype": "uint16", "image_size_x": columns, "image_size_y": ROWS,
        "user_data": {"filename": str(file or "")},
    })]  # fmt: skip
    packed = cbor2.CBORTag(69, cbor2.CBORTag(56500, ["bslz4", 2, blob]))
    whole = cbor2.dumps({
        "type": "image", **series, "image_id": NUMBER, "start_time": [0, 1], "stop_time": [1, 1],
        "real_time": [1, 1], "data": {"threshold_1": cbor2.CBORTag(40, [[ROWS, columns], packed])},
    })  # fmt: skip
    before, _, after = whole.partition(NUMBER.to_bytes(4, "big"))
    for number in range(frames):
        yield [before + number.to_bytes(4, "big") + after]
    yield [cbor2.dumps({"type": "end", **series})]


STREAMS = {"dectris-v1": v1, "dectris-v2": v2}


class Sender:
    """A sender of equal, incompressible blobs that waits for its receiver; a context manager."""

    def __init__(self, stream: Stream, nbytes: int) -> None:
        self._make, self._columns = STREAMS[stream.kind], nbytes // (2 * ROWS)
        noise = np.random.default_rng(1).integers(0, 2**16, (ROWS, self._columns), np.uint16)
        self._blob = bslz4.compress(noise)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._push = self._context.socket(zmq.PUSH)
        self._push.set(zmq.SNDHWM, _frames(nbytes, 1).mark)
        self._push.set(zmq.SNDTIMEO, int(DEADLINE * 1000))
        self._push.bind("tcp://127.0.0.1:*")
        self.endpoint: str = self._push.get_string(zmq.LAST_ENDPOINT)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(0)

    def connected(self) -> None:
        """Wait for a receiver: sending does."""

    def send(self, frames: int, hertz: float, file: Path | None) -> None:
        """Send one series, as fast as it is taken."""
        for parts in self._make(self._blob, self._columns, frames, file):
            self._push.send_multipart(parts, copy=False)


class ControlUnit:
    """A simulated control unit in a process of its own; a context manager. Talks SIMPLON to it."""

    def __init__(self, stream: Stream, sensor: tuple[int, int] = SENSOR) -> None:
        self._argv = (
            *PENSTOCK, "simplon", "--stream", stream.kind.removeprefix("dectris-"), "--sensor",
            "x".join(map(str, sensor)), "--pattern", "diffraction", "--json",
        )  # fmt: skip
        self._connected = threading.Event()

    def __enter__(self) -> ControlUnit:
        self._child = Child(
            "the control unit", self._argv, line_with("stream"),
            relay=lambda line: self._connected.set() if "receiver connected from" in line else None,
        )  # fmt: skip
        self.endpoint: str = self._child.answer["stream"]
        self._box = Simplon("127.0.0.1", int(self._child.answer["http"].rpartition(":")[2]))
        self._box.find_version()
        self._box.command("initialize", DEADLINE)
        self._set("stream", mode="enabled", header_detail="basic")
        return self

    def __exit__(self, *_: object) -> None:
        self._box.close()
        self._child.stop()

    def connected(self) -> None:
        """Wait until the box sees the connection of a receiver that has just been started."""
        if not self._connected.wait(DEADLINE):
            raise RuntimeError("the receiver has not connected to the control unit")
        self._connected.clear()

    def send(self, frames: int, hertz: float, file: Path | None) -> None:
        """Send one series; return when its frames have left."""
        self._set("stream", header_appendix=json.dumps({"filename": str(file)}) if file else "")
        self._set("detector", count_time=0.5 / hertz)
        self._set("detector", frame_time=1 / hertz, nimages=frames, ntrigger=1, trigger_mode="ints")
        for command in ("arm", "trigger"):
            self._box.command(command, DEADLINE)

    def blob_bytes(self) -> int:
        """Return the size of the largest of some frames."""
        with zmq.Context() as context, context.socket(zmq.PULL) as socket:
            socket.set(zmq.RCVTIMEO, int(DEADLINE * 1000))
            socket.connect(self.endpoint)
            self.connected()
            self.send(16, HZ_EIGER, None)
            messages = [socket.recv_multipart() for _ in range(18)]
        return max(max(map(len, parts)) for parts in messages[1:])

    def _set(self, module: str, **keys: object) -> None:
        for name, value in keys.items():
            self._box.put(f"{module}/config/{name}", value)


def eiger(bench: Bench, stream: Stream, sensor: tuple[int, int] = SENSOR) -> Turns:
    """Let receiver and limit take the series of a control unit, or blobs of the same size as fast as they
    do."""
    with ExitStack() as processes:
        box = processes.enter_context(ControlUnit(stream, sensor))
        nbytes = box.blob_bytes()
        alone: Turns = {}
        sender: Sender | ControlUnit = box
        if not stream.hertz:
            few = stream._replace(frames=min(QUEUED, stream.frames))
            alone = bench.in_turn({"the control unit alone": partial(_limit, bench, box, few, nbytes)})
            sender = processes.enter_context(Sender(stream, nbytes))
        takers = {OURS: _receiver, WRITE_LIMIT: _limit}
        turns = {name: partial(take, bench, sender, stream, nbytes) for name, take in takers.items()}
        return bench.in_turn(turns) | alone


def dectris(bench: Bench, stream: Stream) -> Turns:
    """Let a receiver take a series of blobs of one size."""
    with Sender(stream, stream.nbytes) as sender:
        return bench.in_turn({OURS: partial(_receiver, bench, sender, stream, stream.nbytes)})


def _receiver(bench: Bench, sender: Sender | ControlUnit, stream: Stream, nbytes: int) -> Turn:
    frames, file = _frames(nbytes, stream.frames), bench.folder / "eiger.h5"
    with ExitStack() as processes:
        source = {"type": stream.kind, "endpoints": [sender.endpoint]}
        receiver = Receiver(bench.folder, frames, processes, source=source)
        sender.connected()
        try:
            with warm(bench.folder, nbytes * stream.frames) as free:
                finish = receiver.measured()
                free()
                sender.send(stream.frames, stream.hertz or FLAT_OUT, file)
                running, idle, spent = finish()
        finally:
            remove(bench.folder, file.name)
    return figures(frames, idle - running, {"receiver": spent["receiver"]})


def _limit(bench: Bench, sender: Sender | ControlUnit, stream: Stream, nbytes: int) -> Turn:
    frames, file = _frames(nbytes, stream.frames), bench.folder / "eiger.raw"
    argv = limit_argv(bench.compiled("limit"), sender.endpoint, frames, file)

    def send(pid: int) -> None:
        sender.connected()
        sender.send(stream.frames, stream.hertz or FLAT_OUT, None)

    # It preallocates its file before it connects: the warm memory must be free by then.
    with warm(bench.folder, stream.frames * nbytes) as free:
        free()
    try:
        found, _ = told_by(WRITE_LIMIT, argv, "cpu_seconds", send)
    finally:
        remove(bench.folder, file.name)
    return figures(frames, found["seconds"], {"receiver": found["cpu_seconds"]})


def _frames(nbytes: int, count: int) -> Frames:
    return Frames(name="", shape=(1, nbytes), dtype="uint8", count=count)


def _json(**keys: object) -> bytes:
    return json.dumps(keys).encode()
