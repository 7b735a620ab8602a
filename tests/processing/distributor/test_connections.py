"""Connections to workers: real sockets, and processes that are killed or stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from penstock.processing.distributor.connections import CannotListen, Connections, Peer
from penstock.processing.wire import keys

SECONDS = 20.0
CLIENT = """
import sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.set(zmq.HEARTBEAT_IVL, 500)
socket.connect(sys.argv[1])
socket.send(sys.argv[2].encode())
while True:
    socket.send_multipart(socket.recv_multipart())
"""


@pytest.fixture(params=["ipc", "tcp"])
def connections(request: pytest.FixtureRequest) -> Iterator[Connections]:
    """Workers of this machine connect to one of both; those of the tests to `address`."""
    with zmq.Context() as context:
        made = Connections(context, "" if request.param == "ipc" else "tcp://127.0.0.1:*")
        made.address = made.listen or made.address
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def clients() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for process in made:
        process.kill()
        process.wait()


def start(clients: list[subprocess.Popen[bytes]], address: str, name: str) -> subprocess.Popen[bytes]:
    clients.append(subprocess.Popen([sys.executable, "-P", "-c", CLIENT, address, name]))
    return clients[-1]


def step(connections: Connections, seconds: float = SECONDS) -> tuple[list[tuple[Peer, bytes]], list[Peer]]:
    """Wait for something, and return messages and who is gone."""
    zmq.select(connections.sockets, [], [], seconds)
    messages = [(peer, bytes(parts[0])) for peer, parts in connections.receive()]
    return messages, connections.gone()


def greeted(connections: Connections) -> tuple[Peer, bytes]:
    due = time.monotonic() + SECONDS
    while time.monotonic() < due:
        messages, _ = step(connections)
        if messages:
            return messages[0]
    raise AssertionError("nobody has come")


def lost(connections: Connections) -> list[Peer]:
    due = time.monotonic() + SECONDS
    while time.monotonic() < due:
        _, gone = step(connections)
        if gone:
            return gone
    raise AssertionError("nobody is gone")


def test_a_process_that_is_killed_is_gone(
    connections: Connections, clients: list[subprocess.Popen[bytes]]
) -> None:
    process = start(clients, connections.address, "a")
    peer, said = greeted(connections)
    assert said == b"a" and connections.is_trusted(peer)
    assert connections.send(peer, [b"echo"])
    assert greeted(connections) == (peer, b"echo")
    process.kill()
    assert lost(connections) == [peer]


def test_a_process_that_is_stopped_is_gone_within_seconds(
    connections: Connections, clients: list[subprocess.Popen[bytes]]
) -> None:
    process = start(clients, connections.address, "a")
    peer, _ = greeted(connections)
    os.kill(process.pid, signal.SIGSTOP)
    assert lost(connections) == [peer]


def test_a_descriptor_that_is_used_again_is_not_taken_for_the_one_before(connections: Connections) -> None:
    with zmq.Context() as context:
        seen, gone = list[Peer](), list[Peer]()
        for number in range(50):
            socket = context.socket(zmq.DEALER)
            socket.connect(connections.address)
            socket.send(str(number).encode())
            messages: list[tuple[Peer, bytes]] = []
            while not messages:
                messages, found = step(connections)
                gone += found
            ((peer, said),) = messages
            assert said == str(number).encode() and peer not in seen and peer not in gone
            seen.append(peer)
            assert connections.send(peer, [b"x"])
            socket.close(0)  # the next one often gets the same descriptor, before this is noticed
        while len(gone) < len(seen):
            gone += lost(connections)
        assert set(gone) == set(seen)


def test_the_last_messages_of_who_is_gone_are_received(connections: Connections) -> None:
    with zmq.Context() as context:
        socket = context.socket(zmq.DEALER)
        socket.connect(connections.address)
        for number in range(20):
            socket.send(str(number).encode())
        socket.close()
    got, gone = list[bytes](), list[Peer]()
    while not gone:
        messages, gone = step(connections)
        got += [said for _, said in messages]
    assert got == [str(number).encode() for number in range(20)]


def test_without_the_key_nothing_comes_and_the_refusal_is_counted(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    keys.make(right)
    keys.make(wrong)
    with zmq.Context() as context:
        connections = Connections(context, "tcp://127.0.0.1:*", right)
        socket = context.socket(zmq.DEALER)
        socket.set(zmq.LINGER, 0)
        keys.join(socket, keys.read(wrong))
        socket.connect(connections.listen)
        socket.send(b"let me in")
        due = time.monotonic() + SECONDS
        while not connections.refused and time.monotonic() < due:
            assert step(connections) == ([], [])
        assert connections.refused
        socket.close()
        socket = context.socket(zmq.DEALER)
        socket.set(zmq.LINGER, 0)
        keys.join(socket, keys.read(right))
        socket.connect(connections.listen)
        socket.send(b"let me in")
        peer, said = greeted(connections)
        assert said == b"let me in" and peer.port == 1 and connections.is_trusted(peer)
        socket.close()
        connections.close()


def test_an_address_that_cannot_be_bound_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zmq.Context() as context:
        first = Connections(context, "tcp://127.0.0.1:*")
        with pytest.raises(CannotListen, match=r"tcp://127\.0\.0\.1:\d+.*choose another address for listen"):
            Connections(context, first.listen)
        first.close()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
        monkeypatch.setattr("penstock.processing.wire.local.MOST", 1000)
        with pytest.raises(
            CannotListen, match="no folder can be made .* set TMPDIR to one that can be written"
        ):
            Connections(context)


def test_a_folder_with_a_long_name_is_not_taken_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("x" * 100)
    far.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(far))
    with zmq.Context() as context:
        connections = Connections(context)
        assert connections.address.startswith("ipc:///tmp/penstock-workers-")
        connections.close()


def test_workers_on_this_machine_connect_where_no_other_user_can(tmp_path: Path) -> None:
    with zmq.Context() as context:
        connections = Connections(context)
        socket_file = Path(connections.address.removeprefix("ipc://"))
        assert socket_file.is_socket() and socket_file.parent.stat().st_mode & 0o777 == 0o700
        if os.geteuid() == 0:
            code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
            other = subprocess.run(
                [sys.executable, "-P", "-I", "-c", code, str(socket_file)], user=65534, cwd="/",
                capture_output=True, text=True,
            )  # fmt: skip
            assert "PermissionError" in other.stderr
        connections.close()
        assert not socket_file.parent.exists()
