"""What the HTTP process and its data process say to each other."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.live.request import FrameAnswer
from penstock.receiver.models import Connection, ConsumerStatus, Counts, PastSeries, Series, Status
from penstock.receiver.process.link import ENDED_AT_ONCE, GONE, HEARTBEAT, Command, Link, Setup, Snapshot
from penstock.receiver.process.stage_times import Measures

CONFIG = ReceiverConfig(source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root="/data")


class Told:
    """A pipeline, as far as the link asks it."""

    def __init__(self) -> None:
        self.shown = Status(state="idle", detector="sim-1")
        self.answer = FrameAnswer(0)
        self.ended: deque[PastSeries] = deque()

    def status(self, version: int) -> Status:
        return replace(self.shown, version=version)

    def measures(self) -> Measures:
        return Measures()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Link]]:
    parent, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent.setblocking(False)
    with parent, child:
        yield parent, Link(child)


def received(parent: socket.socket) -> list[Snapshot]:
    found = []
    while True:
        try:
            found.append(msgspec.json.decode(parent.recv(2**20), type=Snapshot))
        except BlockingIOError:
            return found


def say(parent: socket.socket, what: msgspec.Struct) -> None:
    parent.send(msgspec.json.encode(what))


def test_name_and_configuration_come_first_then_commands_in_their_order(
    ends: tuple[socket.socket, Link],
) -> None:
    parent, link = ends
    say(parent, Setup("sim-1", CONFIG))
    commands = [Command(1, "stop", "enough"), Command(2, "reset")]
    for command in commands:
        say(parent, command)
    assert link.setup() == Setup("sim-1", CONFIG)
    assert link.commands() == commands
    assert link.commands() == []


def test_a_parent_that_is_gone_says_leave_after_what_it_had_asked(ends: tuple[socket.socket, Link]) -> None:
    parent, link = ends
    say(parent, Command(1, "stop"))
    parent.close()
    assert link.commands() == [Command(1, "stop"), Command(0, "leave", GONE)]


def test_a_snapshot_goes_out_when_something_has_changed_and_once_in_a_heartbeat(
    ends: tuple[socket.socket, Link],
) -> None:
    parent, link = ends
    pipeline: Any = Told()
    link.handled = 7
    moments = (0.0, HEARTBEAT / 2, HEARTBEAT * 1.1, HEARTBEAT * 1.2)
    for now in moments:
        pipeline.shown = replace(pipeline.shown, cpu_seconds=now)  # changes all the time, and is no change
        link.send(pipeline, now)
    assert [(told.status.version, told.handled) for told in received(parent)] == [(1, 7), (1, 7)]
    pipeline.shown = replace(pipeline.shown, drained=1)
    link.send(pipeline, moments[-1])
    assert [told.status.version for told in received(parent)] == [2]
    link.send(pipeline, moments[-1], fresh=True)
    assert [told.status.version for told in received(parent)] == [2]


def test_a_parent_that_does_not_read_holds_nothing_up_and_gets_the_next_one(
    ends: tuple[socket.socket, Link],
) -> None:
    parent, link = ends
    pipeline: Any = Told()
    for number in range(5_000):  # more than a socket takes
        pipeline.shown = replace(pipeline.shown, drained=number)
        link.send(pipeline, 0.0)
    assert len(received(parent)) < 5_000
    link.send(pipeline, 0.0)
    assert [told.status.drained for told in received(parent)] == [4_999]


LONG = 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "shown",
    [
        {"error": "x" * LONG},
        {"last_error": "\n" * LONG},
        {"refused": "\U0001f4a5" * LONG},
        {
            "series": Series(
                id="i" * LONG, filename="/" * LONG, active=True, reason="r" * LONG, checksum="c" * LONG
            )
        },
        {"errors": {f"{number}" * 10: number for number in range(100_000)}},
        {
            "connections": [
                Connection(endpoint=f"tcp://{'h' * 200}:{n}", connections=1) for n in range(65_535)
            ]
        },
        {
            "consumers": [
                ConsumerStatus(name="n" * LONG, endpoint=f"tcp://*:{number}", sent=0, dropped=0)
                for number in range(100)
            ]
        },
    ],
    ids=lambda shown: next(iter(shown)),
)
def test_a_snapshot_of_any_length_is_made_short_enough_to_be_told_and_says_so(
    ends: tuple[socket.socket, Link], shown: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    parent, link = ends
    pipeline: Any = Told()
    pipeline.shown = replace(pipeline.shown, drained=7, **shown)
    for now in (0.0, 1.0, 2.0):
        link.send(pipeline, now, fresh=True)
    told = received(parent)
    assert [snapshot.status.drained for snapshot in told] == [7, 7, 7]
    assert [snapshot.status.state for snapshot in told] == ["idle"] * 3
    assert len(caplog.messages) == 1 and "was cut to" in caplog.messages[0]
    cut = getattr(told[0].status, next(iter(shown)))
    assert not isinstance(cut, str) or cut.endswith(" …")


def test_an_answer_of_any_length_is_told_too(ends: tuple[socket.socket, Link]) -> None:
    parent, link = ends
    pipeline: Any = Told()
    pipeline.answer = FrameAnswer(3, "unreadable", "why " * LONG)
    link.send(pipeline, 0.0)
    (told,) = received(parent)
    assert (told.answer.ticket, told.answer.kind) == (3, "unreadable")
    assert told.answer.message.startswith("why why") and len(told.answer.message) <= 1002


def past(number: int) -> PastSeries:
    return PastSeries(series=Series(id=str(number), filename="/" * 4000, active=False), counts=Counts())


def test_every_series_that_has_ended_is_told_once_and_in_order(ends: tuple[socket.socket, Link]) -> None:
    parent, link = ends
    pipeline: Any = Told()
    pipeline.ended.extend(map(past, range(2 * ENDED_AT_ONCE + 1)))
    while link.send(pipeline, 0.0):
        pass
    told = [item.series.id for snapshot in received(parent) for item in snapshot.ended]
    assert told == [str(number) for number in range(2 * ENDED_AT_ONCE + 1)]
    assert not pipeline.ended


def test_a_series_that_has_ended_waits_for_a_parent_that_does_not_read(
    ends: tuple[socket.socket, Link],
) -> None:
    parent, link = ends
    pipeline: Any = Told()
    while link.send(pipeline, 0.0, fresh=True):
        pass
    pipeline.ended.append(past(7))
    assert not link.send(pipeline, 0.0) and len(pipeline.ended) == 1
    assert len(received(parent)) > 0
    assert link.send(pipeline, 0.0)
    assert [item.series.id for item in received(parent)[-1].ended] == ["7"]


def test_of_series_that_have_ended_none_is_left_out_however_short_a_snapshot_is_made(
    ends: tuple[socket.socket, Link],
) -> None:
    parent, link = ends
    pipeline: Any = Told()
    pipeline.shown = replace(pipeline.shown, errors={f"{number}" * 10: number for number in range(100_000)})
    pipeline.ended.extend(map(past, range(ENDED_AT_ONCE)))
    link.send(pipeline, 0.0)
    assert [item.series.id for item in received(parent)[0].ended] == [str(n) for n in range(ENDED_AT_ONCE)]
