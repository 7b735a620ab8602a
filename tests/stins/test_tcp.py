"""What the kernel tells of connections."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.stins.tcp import GREETING, Silence, has_answered, silence

DEADLINE = 10.0


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a connection: ours, which has accepted, and theirs."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with ExitStack() as stack:
        try:
            listener = stack.enter_context(socket.create_server((request.param, 0), family=family))
        except OSError:
            pytest.skip(f"this machine has no {request.param}")
        theirs = stack.enter_context(socket.create_connection(listener.getsockname()[:2], DEADLINE))
        ours = stack.enter_context(listener.accept()[0])
        ours.settimeout(DEADLINE)
        yield ours, theirs


def test_one_that_says_more_than_a_greeting_has_answered(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    assert not has_answered(ours.fileno())
    theirs.sendall(bytes(GREETING))
    assert len(ours.recv(GREETING, socket.MSG_WAITALL)) == GREETING
    assert not has_answered(ours.fileno())
    theirs.sendall(b"\4")
    assert ours.recv(1) == b"\4"
    assert has_answered(ours.fileno())
    assert not has_answered(theirs.fileno())


def test_what_we_say_is_no_answer(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    ours.sendall(bytes(2 * GREETING))
    assert len(theirs.recv(2 * GREETING, socket.MSG_WAITALL)) == 2 * GREETING
    assert not has_answered(ours.fileno())


def test_the_connection_stays_its_holders(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    has_answered(ours.fileno())
    theirs.sendall(b"still here")
    assert ours.recv(10) == b"still here"


def test_a_descriptor_that_is_no_connection_any_more_has_not_answered() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert not has_answered(reading), "one of something else"
    os.close(reading)
    assert not has_answered(reading), "a closed one"


def test_where_the_kernel_does_not_count_everybody_may_have_answered() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert has_answered(ours.fileno())


def test_a_connection_whose_peer_says_nothing_is_not_unanswered(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    theirs.sendall(b"data")
    assert ours.recv(4) == b"data"
    unanswered, without_data = silence(ours.fileno())
    assert unanswered == 0.0
    assert without_data < DEADLINE


def test_of_what_is_no_connection_there_is_no_silence() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert silence(ours.fileno()) == Silence(0.0, 0.0)
    assert silence(-1) == Silence(0.0, 0.0)
