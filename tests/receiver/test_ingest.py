"""The sockets of a receiver: what has come over a connection is read, whatever became of the connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import zmq

from penstock.receiver import ingest as ingest_module
from penstock.receiver.config import SourceConfig
from penstock.receiver.ingest import Ingest
from penstock.receiver.modules.ingest import ModuleIngest
from tests.streams import Streamer

DEADLINE = 10.0
MESSAGES = [[b"%d" % number] for number in range(5)]


def until(ingest: Ingest, condition: Callable[[], bool]) -> None:
    """Let the sockets work until this is true."""
    due = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < due
        ingest.wait(0.05, paused=True)


@pytest.fixture(params=[Ingest, ModuleIngest])
def lost(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ingest]:
    """Sockets whose only streamer has sent everything and left, and of which nobody has heard since.

    ZeroMQ tells of a lost connection and of its next attempt one after the other, and its thread may have to
    wait for a processor in between. Here the second is never told, which is the longest that it can take.
    """
    monkeypatch.setattr(ingest_module, "EVENTS", ingest_module.EVENTS & ~zmq.EVENT_CONNECT_RETRIED)
    monkeypatch.setattr(ingest_module, "REFUSED_AFTER", 0.0)
    streamer = Streamer()
    ingest = request.param(SourceConfig(endpoints=(streamer.endpoint,)))
    try:
        until(ingest, lambda: ingest.connections()[0].connections == 1)
        for message in MESSAGES:
            streamer.send(message)
        streamer.close(linger=DEADLINE)
        until(ingest, lambda: ingest.connections()[0].connections == 0)
        yield ingest
    finally:
        ingest.close()


def test_what_has_arrived_is_read_before_a_lost_connection_is_made_again(lost: Ingest) -> None:
    assert lost.reopen() == []
    assert [[bytes(part) for part in parts] for parts in lost.messages()] == MESSAGES


def test_a_connection_that_is_not_tried_again_is_made_again_once_all_is_read(lost: Ingest) -> None:
    assert len(list(lost.messages())) == len(MESSAGES)
    assert [error.kind for error in lost.reopen()] == ["message_refused"]
    assert lost.reopen() == []
