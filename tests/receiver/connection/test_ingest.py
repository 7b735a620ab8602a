"""The sockets of a receiver: what has come over a connection is read before the next one is made."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest
import zmq

from penstock.receiver.config import SourceConfig
from penstock.receiver.connection import connecting
from penstock.receiver.connection.ingest import Ingest
from tests.streams import Streamer

DEADLINE = 10.0
LARGEST = 1000
"""Bytes of a message."""
MESSAGES = [[b"%d" % number] for number in range(5)]


class Sockets:
    """Of a receiver, for one streamer after the other at one endpoint."""

    def __init__(self, number: int = 1) -> None:
        self.streamer = Streamer()
        self.endpoint = self.streamer.endpoint
        self.ingest = Ingest(
            SourceConfig(endpoints=(self.endpoint,), sockets=number, max_message_mb=LARGEST / 1e6)
        )
        self.ingest.connect()
        self.number = number
        self.errors: list[str] = []
        self.anew = False

    @property
    def connected(self) -> int:
        return self.ingest.connections()[0].connections

    def until(self, condition: Callable[[], bool], *, reading: bool = False) -> list[list[bytes]]:
        """Let them work until this is true; what is read meanwhile."""
        due, read = time.monotonic() + DEADLINE, []
        while not condition():
            assert time.monotonic() < due
            self.ingest.wait(0.02, paused=not reading)
            if reading:
                read += self.read()
            self.errors += [error.kind for error in self.ingest.reconnect()]
            self.anew |= self.ingest.has_reconnected()
        return read

    def read(self) -> list[list[bytes]]:
        return [[bytes(part) for part in parts] for parts in self.ingest.messages()]

    def begin(self) -> None:
        """A streamer is there, and everybody is connected."""
        self.until(lambda: self.connected == self.number)

    def send_and_leave(self) -> None:
        """The streamer sends its messages, and is gone when they are handed over."""
        for message in MESSAGES:
            self.streamer.send(message)
        self.streamer.close(linger=DEADLINE)
        self.until(lambda: self.connected == 0)

    def restart(self) -> None:
        self.streamer = Streamer(self.endpoint)


@pytest.fixture(params=[1, 3], ids=["one", "three"])
def sockets(request: pytest.FixtureRequest) -> Iterator[Sockets]:
    sockets = Sockets(request.param)
    try:
        yield sockets
    finally:
        sockets.ingest.close()
        sockets.streamer.close()


def test_a_streamer_that_comes_back_is_found(sockets: Sockets) -> None:
    for _ in range(3):
        sockets.begin()
        sockets.anew = False
        sockets.send_and_leave()
        assert sorted(sockets.until(lambda: sockets.anew, reading=True)) == MESSAGES
        sockets.restart()
    sockets.begin()
    assert sockets.errors == []


def test_every_attempt_at_a_connection_may_find_another_streamer(sockets: Sockets) -> None:
    sockets.until(lambda: sockets.connected == sockets.number)
    sockets.streamer.close()
    for _ in range(3):
        sockets.anew = False
        sockets.until(lambda: sockets.anew)
    sockets.restart()
    sockets.begin()
    sockets.anew = False
    sockets.ingest.reconnect()
    assert not sockets.ingest.has_reconnected()


def test_nothing_is_connected_before_all_of_the_lost_connections_is_read(sockets: Sockets) -> None:
    sockets.begin()
    sockets.send_and_leave()
    sockets.restart()
    began = time.monotonic()
    sockets.until(lambda: time.monotonic() - began > 3 * connecting.PAUSES[0])
    assert (sockets.connected, sockets.anew) == (0, False)

    assert sorted(sockets.read()) == MESSAGES
    sockets.until(lambda: sockets.connected == sockets.number)
    assert sockets.anew
    sockets.streamer.send([b"of the next"])
    due = time.monotonic() + DEADLINE
    while not (read := sockets.read()):
        assert time.monotonic() < due
        sockets.ingest.wait(0.1)
    assert read == [[b"of the next"]]


def test_what_has_arrived_is_read_although_nobody_says_that_the_connection_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ZeroMQ tells of a lost connection and that it would make it again one after the other, and its thread
    may have to wait for a processor in between: here for longer than a refused connection is silent."""
    monkeypatch.setattr(connecting, "REFUSED_AFTER", 0.0)
    monkeypatch.setattr(connecting, "EVENTS", connecting.EVENTS & ~zmq.EVENT_CONNECT_RETRIED)
    sockets = Sockets()
    try:
        sockets.begin()
        sockets.send_and_leave()
        assert sockets.errors == []
        assert sockets.read() == MESSAGES
        sockets.until(lambda: bool(sockets.errors))
        assert sockets.errors == ["message_refused"]
    finally:
        sockets.ingest.close()


def test_an_event_that_is_told_while_another_is_looked_at_is_taken_in(sockets: Sockets) -> None:
    """Lost and found many times, with nobody looking in between."""
    sockets.begin()
    for _ in range(10):
        sockets.streamer.close()
        sockets.restart()
        time_to_tell = time.monotonic() + 0.02
        while time.monotonic() < time_to_tell:
            sockets.errors += [error.kind for error in sockets.ingest.reconnect()]
        sockets.until(lambda: sockets.connected == sockets.number)
    assert sockets.errors == []


def test_one_of_several_connections_that_is_lost_alone_is_no_other_streamer() -> None:
    sockets = Sockets(number=2)
    try:
        sockets.begin()
        sockets.streamer.send([bytes(2 * LARGEST)])
        sockets.until(lambda: bool(sockets.errors))
        sockets.until(lambda: sockets.connected == 2)
        assert sockets.errors == ["message_refused"]
        assert not sockets.anew
    finally:
        sockets.ingest.close()
        sockets.streamer.close()


def test_a_program_that_accepts_and_stays_silent_does_not_keep_the_streamer_from_being_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        ingest = Ingest(SourceConfig(endpoints=(endpoint,)))
        ingest.connect()
        silent.settimeout(DEADLINE)
        held, _ = silent.accept()
    streamer = Streamer(endpoint)
    try:
        due = time.monotonic() + DEADLINE
        while not ingest.connections()[0].connections:
            assert time.monotonic() < due, "libzmq alone waits 30 s for the handshake"
            ingest.wait(0.02)
            ingest.reconnect()
    finally:
        held.close()
        ingest.close()
        streamer.close()
