"""What arrives of one streamer over several real sockets comes out in the order of sending."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.arrivals import SeveralSockets
from penstock.stins.messages import Frame, SeriesEnd, Start
from tests.streams import Streamer

DEADLINE = 10.0


class Received:
    """Arrivals, and the numbers of what has come out."""

    def __init__(self, endpoint: str, **keys: object) -> None:
        entry = {"data_root": "/", "source": {"endpoints": [endpoint], "sockets": 2}, **keys}
        self.arrivals = SeveralSockets(msgspec.convert(entry, ReceiverConfig))
        self.numbers: list[int | None] = []
        self.most_held = 0

    def connect(self) -> None:
        self.arrivals.ingest.connect()
        due = time.monotonic() + DEADLINE
        while self.arrivals.ingest.connections()[0].connections < 2:
            assert time.monotonic() < due
            self.arrivals.ingest.wait(0.01)

    def use_both(self, streamer: Streamer) -> int:
        """Let short series come until both sockets have had a message; return the next number."""
        used: set[int] = set()
        while len(used) < 2:
            streamer.start("", frames=0)
            self.until(len(self.numbers) + 1)
            used.add(self.arrivals.ingest.number)
            streamer.end()
            self.until(len(self.numbers) + 1)
            used.add(self.arrivals.ingest.number)
        return len(self.numbers)

    def until(self, count: int) -> None:
        """Read until so many messages have come out."""
        due = time.monotonic() + DEADLINE
        while len(self.numbers) < count:
            assert time.monotonic() < due, self.numbers
            self.read()

    def read(self) -> None:
        """Read what is there."""
        self.arrivals.ingest.wait(0.01)
        for parts in self.arrivals.ingest.messages():
            event = self.arrivals.receive(parts, time.monotonic())
            for each in event if isinstance(event, tuple) else (event,):
                self.take(each)
            self.most_held = max(self.most_held, self.arrivals.held_bytes)
            self.release()
        self.release()

    def release(self) -> None:
        while (event := self.arrivals.release(time.monotonic())) is not None:
            self.take(event)

    def take(self, event: object) -> None:
        assert isinstance(event, Start | Frame | SeriesEnd)
        head = event.header if isinstance(event, Start) else getattr(event, "image", event)
        self.numbers.append(head.msg_number)


class Relay:
    """Passes TCP connections on to a streamer; each can be slowed down: `passes[n].clear()`."""

    def __init__(self, endpoint: str) -> None:
        self.passes: list[threading.Event] = []
        self._to = ("127.0.0.1", int(endpoint.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        self._threads.append(threading.Thread(target=work, args=args))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(self._to)
                self._ends += [near, far]
                self.passes.append(threading.Event())
                self.passes[-1].set()
                self._start(self._pump, near, far, None)
                self._start(self._pump, far, near, self.passes[-1])

    def _pump(self, source: socket.socket, to: socket.socket, passes: threading.Event | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if passes is not None:
                    passes.wait()
                to.sendall(data)

    def close(self) -> None:
        for passes in self.passes:
            passes.set()
        for each in self._ends:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(DEADLINE)


@pytest.fixture
def streamer() -> Iterator[Streamer]:
    made = Streamer()
    yield made
    made.close()


def test_a_series_over_two_sockets_is_in_the_order_of_sending(streamer: Streamer) -> None:
    received = Received(streamer.endpoint)
    try:
        received.connect()
        streamer.series_of("", 500)
        received.until(502)
        assert received.numbers == list(range(502))
        assert received.arrivals.held_bytes == 0
    finally:
        received.arrivals.ingest.close()


def test_while_the_buffer_is_full_the_socket_that_is_ahead_is_not_read_and_nothing_is_lost(
    streamer: Streamer,
) -> None:
    small, large, room, count = 1000, 400_000, 0.35, 20
    relay = Relay(streamer.endpoint)
    received = Received(relay.endpoint, hold_mb=room, gap={"seconds": 60})
    ingest = received.arrivals.ingest
    try:
        received.connect()
        first = received.use_both(streamer)
        streamer.start("", frames=count)
        received.until(first + 1)
        relay.passes[0].clear()
        for number in range(count):
            streamer.frame(number, blobs=[bytes(small if number < 8 else large)])
        streamer.end()
        due = time.monotonic() + DEADLINE
        while not ingest.held_back:
            assert time.monotonic() < due
            received.read()
        received.read()
        assert len(ingest.held_back) == 1
        assert len(received.numbers) <= first + 2
        relay.passes[0].set()
        received.until(first + count + 2)
        assert received.numbers == list(range(first + count + 2))
        assert received.most_held < room * 1e6 + 2 * large
    finally:
        ingest.close()
        relay.close()
