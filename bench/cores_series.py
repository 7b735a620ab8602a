"""One series over many sockets: from the sender in C to a receiver, or to a C program that does nothing else.

All clocks begin when the sender is about to send the start message, and end with the closed file: what waits
in a queue is not yet done.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import msgspec

from penstock.bench import contenders
from penstock.bench.contenders import PENSTOCK_RECEIVER, SERIES_SECONDS, line_with
from penstock.bench.cpu_sets import pinned
from penstock.bench.load import LARGE_FRAME, LARGE_MARK, SMALL_MARK, Case
from penstock.hosts.child import Child, free_port
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.dealing import Dealing
from penstock.receiver.process.supervisor.supervisor import ALLOCATOR
from penstock.stins.codec import encode_start
from penstock.stins.messages import EndReason, Header
from penstock.streamer.simulated.generator.plan import Module

COLUMNS, TYPE, ITEM_BYTES = 1000, "uint16", 2
HUGE_FRAME, HUGE_MARK = 10_000_000, 2
"""Of each of several sockets; the next one has the next frame."""
C_PROGRAM = "the C program"
FILE = "cores.h5"
RAW = "cores"
"""Beginning of the names of the C program's files."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How frames of one size are taken."""

    frame_bytes: int
    """Of each stream."""
    streams: int = 1
    """Modules of one detector, one stream each."""
    sockets: int = 1
    """Of each stream."""
    files: int = 0
    """0: live only, and the C program discards the frames."""

    @property
    def name(self) -> str:
        """How people call it."""
        if self.streams > 1:
            return f"{self.streams} modules"
        if not self.files:
            return "live, 1 socket" if self.sockets == 1 else f"live, {self.sockets} sockets"
        return "1 stream" if self.sockets == 1 else f"files: {self.files}"

    @property
    def io_threads(self) -> int:
        """One per socket, on both sides."""
        return self.streams * self.sockets

    @property
    def high_water_mark(self) -> int:
        """Messages that each socket queues."""
        if self.frame_bytes >= HUGE_FRAME:
            return HUGE_MARK
        return LARGE_MARK if self.frame_bytes >= LARGE_FRAME else SMALL_MARK

    @property
    def rows(self) -> int:
        """Rows of a frame of one stream."""
        return self.frame_bytes // (COLUMNS * ITEM_BYTES)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where and with what series are run."""

    folder: Path
    send: Path
    """The compiled sender."""
    limit: Path
    """The compiled program that receives."""
    sending: list[int] | None = None
    receiving: list[int] | None = None
    """Cores of the sender, and of who receives; `None`: any."""


@dataclass(frozen=True, kw_only=True)
class Take:
    """One series, as it was taken."""

    frames: int
    """Of all streams together."""
    nbytes: int
    seconds: float
    """From the sender's start to the closed file; live only, to Idle."""
    cpu_seconds: float
    """Processor time of who receives: of Penstock, the data process."""
    loop_seconds: float
    """Of its thread that every frame passes through."""
    io_seconds: float = 0.0
    """Of ZeroMQ's threads, of Penstock."""
    sender_seconds: float = 0.0

    @property
    def gbps(self) -> float:
        """GB/s."""
        return self.nbytes / self.seconds / 1e9


class Ours:
    """Penstock's receiver with one setup, for one series after another; a context manager."""

    def __init__(self, setup: Setup, place: Place) -> None:
        self._setup, self._place = setup, place
        self._endpoints = _endpoints(setup.streams)
        source: dict[str, Any] = {
            "endpoints": self._endpoints, "sockets": setup.sockets, "io_threads": setup.io_threads,
            "high_water_mark": setup.high_water_mark, **({"join": "modules"} if setup.streams > 1 else {}),
        }  # fmt: skip
        more: dict[str, Any] = {"source": source, "files": max(1, setup.files)}
        self.refused = _refusal({**more, "data_root": str(place.folder)})
        """Why so many files are not possible, so that there is one; "" if they are."""
        if self.refused:
            more["files"] = 1
        case = Case(contender=PENSTOCK_RECEIVER, frame_bytes=setup.frame_bytes, frames=0)
        self._receiver = contenders.Receiver(
            case, place.folder, endpoint=self._endpoints[0], more=more, on=pinned(place.receiving)
        )

    def __enter__(self) -> Ours:
        self._receiver.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._receiver.__exit__(*exception)

    def take(self, frames: int) -> Take:
        """Run one series of so many frames per stream.

        Raises:
            ProcessFailed: the sender did not start.
            RuntimeError: the series was not complete.
        """
        setup = self._setup
        file = str(self._place.folder / FILE) if setup.files else ""
        self._receiver.begin()
        before = contenders.process_seconds(self._receiver.data_pid)
        with _sender(self._place, setup, self._endpoints, frames, file) as sent:
            _, cpu = self._receiver.finish()
            cpu_seconds = contenders.process_seconds(self._receiver.data_pid) - before
        return _take(
            setup, frames, sent, self._receiver.idle_at, cpu_seconds=cpu_seconds, loop_seconds=cpu["loop"],
            io_seconds=cpu["I/O"],
        )  # fmt: skip


class Limit:
    """The C program with one setup, for one series after another; a context manager.

    Args:
        setup: how it takes frames.
        place: where.
        lengths: frames per stream of all series that it will take.
    """

    def __init__(self, setup: Setup, place: Place, lengths: Sequence[int]) -> None:
        self._setup, self._place = setup, place
        self._endpoints = _endpoints(setup.streams)
        self._lengths = iter(lengths)
        self._told: Queue[dict[str, float]] = Queue()
        block = Dealing.of(max(1, setup.files), setup.frame_bytes).block
        self._argv = (
            *pinned(place.receiving), str(place.limit), ",".join(map(str, lengths)), str(setup.frame_bytes),
            str(setup.high_water_mark), str(setup.sockets), str(setup.io_threads), str(setup.files),
            str(block), str(place.folder / RAW), *self._endpoints,
        )  # fmt: skip

    def __enter__(self) -> Limit:
        # It keeps the memory of frames as the receiver does: the allocator must not be the limit.
        self._child = Child(
            C_PROGRAM, self._argv, line_with("ready"), environment=ALLOCATOR, relay=self._follow
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self._child.stop()

    def take(self) -> Take:
        """Let it take the next series.

        Raises:
            ProcessFailed: the sender did not start.
            RuntimeError: it did not take the whole series.
        """
        frames = next(self._lengths)
        with _sender(self._place, self._setup, self._endpoints, frames, "") as sent:
            told = self._wait()
        return _take(
            self._setup, frames, sent, told["ended"], cpu_seconds=told["cpu_seconds"],
            loop_seconds=told["thread_seconds"],
        )  # fmt: skip

    def _wait(self) -> dict[str, float]:
        deadline = time.monotonic() + SERIES_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(Empty):
                return self._told.get(timeout=0.2)
            if ended := self._child.ended():
                raise RuntimeError(f"{ended}: it did not take the whole series")
        raise RuntimeError(f"{C_PROGRAM} did not take the whole series within {SERIES_SECONDS:g} s")

    def _follow(self, line: str) -> None:
        if (told := line_with("ended")(line)) is not None:
            self._told.put(told)


@contextlib.contextmanager
def _sender(
    place: Place, setup: Setup, endpoints: list[str], frames: int, file: str
) -> Iterator[dict[str, float]]:
    """Send a series; yield what the sender has told, complete when the context ends."""
    argv = [
        *pinned(place.sending), str(place.send), str(frames), str(setup.frame_bytes),
        str(setup.high_water_mark), str(setup.sockets), str(setup.io_threads),
    ]  # fmt: skip
    series = uuid.uuid4().hex
    for number, endpoint in enumerate(endpoints):
        argv += (endpoint, *_texts(setup, number, series, frames, file))
    told: dict[str, float] = {}

    def follow(line: str) -> None:
        for key in ("started", "ended"):
            told.update(line_with(key)(line) or {})

    with Child("the sender", argv, line_with("bound"), relay=follow) as sender:
        yield told
        sender.wait(10.0)
    if "ended" not in told:
        raise RuntimeError(f"{sender.ended()}: it has not sent the whole series")


def _texts(setup: Setup, number: int, series: str, frames: int, file: str) -> tuple[str, str, str, str]:
    """Return what a stream of the sender sends, see `send.c`."""
    shape = (setup.rows, COLUMNS)
    place: dict[str, Any] = {}
    if setup.streams > 1:
        whole = (setup.streams * setup.rows, COLUMNS)
        place = msgspec.structs.asdict(Module(x=0, y=number * setup.rows, rotation=0, full_shape=whole))
    header = Header(
        filename=file, msg_number=0, series=series, frames=frames, shape=shape, type=TYPE, compression="none",
        frame_bytes=setup.frame_bytes, streams=setup.streams,
    )  # fmt: skip
    start, metadata = encode_start(header, place)
    image = {"shape": shape, "type": TYPE, "compression": "none", "series": series, **place}
    end = {"series": series, "reason": EndReason.COMPLETE, "triggered": frames, "sent": frames}
    rest = (msgspec.json.encode(keys).decode().removeprefix("{") for keys in (image, end))
    return start.decode(), metadata.decode(), *rest  # type: ignore[return-value]


def _take(setup: Setup, frames: int, sent: dict[str, float], ended: float, **seconds: float) -> Take:
    all_frames = frames * setup.streams
    return Take(
        frames=all_frames, nbytes=all_frames * setup.frame_bytes, seconds=ended - sent["started"],
        sender_seconds=sent["cpu_seconds"], **seconds,
    )  # fmt: skip


def _refusal(entry: dict[str, Any]) -> str:
    try:
        msgspec.convert(entry, ReceiverConfig)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _endpoints(streams: int) -> list[str]:
    return [f"tcp://127.0.0.1:{free_port()}" for _ in range(streams)]
