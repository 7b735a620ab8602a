"""The link between the HTTP process and the distributor."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import msgspec
import pytest

from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.distributor.link import HEARTBEAT, Command, Link, Setup, Snapshot
from penstock.processing.distributor.receiver.events import REMEMBERED
from penstock.processing.models import Counts, Parameters, Series, Status, Worker
from penstock.processing.wire import Step
from penstock.service.datagrams import Datagrams, pair


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Link]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(5)
        yield ours, Link(theirs)


def received(end: socket.socket) -> Snapshot:
    return msgspec.json.decode(end.recv(2**20), type=Snapshot)


def test_setup_and_commands_come_as_they_were_sent(ends: tuple[socket.socket, Link]) -> None:
    ours, link = ends
    config = PipelineConfig(name="p", steps=(StepConfig(processor="a.py:A", parameters={"x": 1}),))
    setup = Setup(config=config, steps=(Step(name="A", source="class A: pass"),), since=3.0)
    ours.send(msgspec.json.encode(setup))
    assert link.setup() == setup
    assert link.commands() == []
    command = Command(number=1, action="parameters", parameters={"x": 2})
    ours.send(msgspec.json.encode(command))
    assert link.commands() == [command]


def test_a_parent_that_is_gone_is_a_quit(ends: tuple[socket.socket, Link]) -> None:
    ours, link = ends
    ours.close()
    assert [command.action for command in link.commands()] == ["quit"]


def test_a_snapshot_is_sent_on_change_and_as_heartbeat(ends: tuple[socket.socket, Link]) -> None:
    ours, link = ends
    link.send(Status(state="idle"), 1.0)
    assert received(ours).status.version == 1
    link.send(Status(state="idle"), 1.1)
    link.send(Status(state="idle"), 1.0 + HEARTBEAT)
    assert received(ours).status.version == 1
    series = Series(id="s", active=True, counts=Counts(frames=3, pending=3))
    link.handled = 4
    link.send(Status(state="running", series=series), 2.0)
    told = received(ours)
    assert (told.status.version, told.status.series, told.handled) == (2, series, 4)


def test_a_parent_that_does_not_read_stalls_nothing(ends: tuple[socket.socket, Link]) -> None:
    ours, link = ends
    for number in range(2000):
        link.send(Status(state="idle", stray=number), float(number))
    assert received(ours).status.stray == 0


def test_marks_of_series_that_are_over_are_told_at_once_and_it_is_said_whether_they_were(
    ends: tuple[socket.socket, Link],
) -> None:
    ours, link = ends
    assert link.send(Status(state="idle"), 1.0) and received(ours).over == b""
    assert not link.send(Status(state="idle"), 1.1)
    assert link.send(Status(state="idle"), 1.2, over=b"8 bytes.") and received(ours).over == b"8 bytes."
    while link.send(Status(state="idle"), 1.3, over=b"8 bytes."):
        pass  # until the parent is slow


def test_the_largest_setup_fits_into_one_message() -> None:
    """100 kB of source, 20 kB of parameters, and all that is known of series that are over."""
    ours, theirs = pair()
    with ours, theirs:
        large = Parameters(values={"a": "x" * 20_000})
        series = Series(id="i" * 100, active=False, file="f" * 200, reason="r" * 500, result_file="f" * 200)
        config = PipelineConfig(name="p", steps=(StepConfig(processor="a.py:A", parameters=large.values),))
        setup = Setup(
            config=config, steps=(Step(name="A", source="\n" * 100_000),), since=3.0, parameters=large,
            over=bytes(range(8)) * REMEMBERED, shown=(series,) * 10,
        )  # fmt: skip
        Datagrams(ours).send(setup)
        assert Link(theirs).setup() == setup


def test_a_status_that_is_too_long_for_a_message_is_cut(ends: tuple[socket.socket, Link]) -> None:
    ours, link = ends
    workers = [
        Worker(name=f"w{number}", host="h", pid=number, state="ready", last_error="x" * 2000)
        for number in range(200)
    ]
    link.send(Status(state="running", pipeline="p", workers=workers), 100.0)
    told = received(ours).status
    assert (told.state, told.pipeline, told.workers[0].name) == ("running", "p", "w0")
    assert len(told.workers[0].last_error) < 300
