"""What arrives of one streamer over several real sockets comes out in the order of sending."""

from __future__ import annotations

import time
from collections.abc import Iterator

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
    frame_bytes, room, count = 100_000, 0.35, 20
    received = Received(streamer.endpoint, hold_mb=room, gap={"seconds": 60})
    arrivals = received.arrivals
    try:
        received.connect()
        first = received.use_both(streamer)
        streamer.start("", frames=count)
        received.until(first + 1)
        arrivals.ingest.hold_back({1 - arrivals.ingest.number})  # as if that connection were slow
        for number in range(count):
            streamer.frame(number, blobs=[bytes(frame_bytes)])
        streamer.end()
        due = time.monotonic() + DEADLINE
        while not arrivals.ingest.held_back >= {0, 1}:
            assert time.monotonic() < due
            received.read()
        received.read()
        assert len(received.numbers) == first + 1 and received.most_held < room * 1e6 + frame_bytes
        arrivals.ingest.hold_back(set())
        received.until(first + count + 2)
        assert received.numbers == list(range(first + count + 2))
    finally:
        arrivals.ingest.close()
