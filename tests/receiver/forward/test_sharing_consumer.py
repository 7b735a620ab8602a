"""A consumer that shares memory, and whose distributors come and go in every order."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from penstock.processing.sources.stream import Began, ByValue, Ended, Referenced, Stream
from penstock.processing.wire.shared_frames import SharedFrames, StaleMemory, lock
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.by_reference import BUNCH, SharingConsumer
from penstock.receiver.forward.forwarder import Forwarder
from penstock.stins.messages import Header, SeriesEnd
from penstock.stins.shared import Layout
from tests.receiver.sample_series import frame

DEADLINE_MS = 10_000


@pytest.fixture
def forwarder(tmp_path: Path) -> Iterator[Forwarder]:
    """Of one consumer that shares 1 MB, and whose bunches wait for a second."""
    config = ForwardConfig(
        name="live", endpoint="tcp://127.0.0.1:*", shared=True, shared_folder=str(tmp_path), queue_mb=1,
        gather_seconds=1.0,
    )  # fmt: skip
    made = Forwarder((config,), "sim-1")
    yield made
    for consumer in made.consumers:
        consumer.socket.set(zmq.LINGER, 0)
        consumer._connections.peers.clear()  # nothing has to leave any more
    made.close()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def consumer(forwarder: Forwarder) -> SharingConsumer:
    (made,) = forwarder.consumers
    assert isinstance(made, SharingConsumer)
    return made


@pytest.fixture
def context() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    with zmq.Context() as made:
        yield made
        made.destroy(linger=0)


def connected(consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]) -> Stream:
    stream, before = Stream(consumer.endpoint, context), consumer.peers
    while consumer.peers == before:
        assert consumer._monitor.poll(DEADLINE_MS)
        consumer.step()
    return stream


def disconnected(consumer: SharingConsumer, left: int) -> None:
    while consumer.peers > left:
        assert consumer._monitor.poll(DEADLINE_MS)
        consumer.step()


def begin(forwarder: Forwarder, name: str = "a", *, resumed: bool = False) -> None:
    header = Header(filename="", series=name, shape=(4, 6), type="uint16", compression="none")
    forwarder.begin(header, {}, resumed=resumed)


def events(forwarder: Forwarder, stream: Stream, count: int) -> list[object]:
    found: list[object] = []
    while len(found) < count:
        assert stream.socket.poll(DEADLINE_MS)
        forwarder.step()
        while (event := stream.receive()) is not None:
            found.append(event)
    return found


def test_bunches_are_sent_when_they_are_full_or_due_and_at_the_end(
    forwarder: Forwarder, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    (consumer,) = forwarder.consumers
    assert isinstance(consumer, SharingConsumer)
    stream = connected(consumer, context)
    begin(forwarder)
    assert forwarder.soonest(5.0) == 5.0
    forwarder.frame_run(0, [frame(index) for index in range(BUNCH + 3)])
    assert 0.0 < forwarder.soonest(5.0) <= 1.0
    forwarder.end(SeriesEnd())
    began, first, second, ended = events(forwarder, stream, 4)
    assert isinstance(began, Began) and isinstance(ended, Ended)
    assert isinstance(first, Referenced) and isinstance(second, Referenced)
    assert [len(first.references), len(second.references)] == [BUNCH, 3]
    assert [each.frame for each in second.references] == [64, 65, 66]
    stream.close()


def test_frames_that_come_more_rarely_than_bunches_are_due_are_sent_at_once(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    consumer._gather_seconds = 0.001
    stream = connected(consumer, context)
    begin(forwarder)
    for index in range(3):
        time.sleep(0.002)
        forwarder.frame(index, frame(index))
        assert forwarder.soonest(5.0) == 5.0, "nothing waits"
    forwarder.end(SeriesEnd())
    _, *referenced, _ = events(forwarder, stream, 5)
    assert all(isinstance(each, Referenced) and len(each.references) == 1 for each in referenced)
    stream.close()


def test_when_another_distributor_takes_the_place_of_the_holder_it_gets_the_rest_alone_and_all_slots(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    path = str(consumer.memory.path)
    first_hold, first = lock(path), connected(consumer, context)
    begin(forwarder)
    forwarder.frame(0, frame(0))
    nonce = consumer.memory.nonce
    second = connected(consumer, context)  # before the end of the first is noticed
    first_hold._page.close()  # as if it had been killed: its record stays
    os.close(first_hold._file)
    second_hold = lock(path)
    forwarder.frame(1, frame(1))
    forwarder.step()
    assert consumer.memory.taken == 0 and consumer.memory.nonce != nonce
    assert consumer.dropped == 2
    forwarder.frame(2, frame(2))
    assert consumer.dropped == 3, "with two connections each would get half of the messages"
    first.close()
    disconnected(consumer, 1)
    forwarder.frame(3, frame(3))
    forwarder.end(SeriesEnd())
    began, referenced, ended = events(forwarder, second, 3)
    assert isinstance(began, Began) and began.header.shared is not None
    assert began.header.series == "a" and began.header.shared.nonce == consumer.memory.nonce.hex()
    assert isinstance(referenced, Referenced) and isinstance(ended, Ended)
    assert [(each.frame, each.slot) for each in referenced.references] == [(3, 0)]
    second_hold.close()
    second.close()


def test_a_distributor_that_lets_go_is_told_of_no_series_while_its_connection_ends(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    hold, stream = lock(str(consumer.memory.path)), connected(consumer, context)
    begin(forwarder)
    assert isinstance(events(forwarder, stream, 1)[0], Began)
    hold.close()
    for index in range(3):
        forwarder.step()
        forwarder.frame(index, frame(index))
    assert (consumer.sent, consumer.dropped, consumer.memory.taken) == (1, 3, 0)
    stream.close()


def test_a_distributor_that_reads_the_path_in_the_start_message_keeps_the_series(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    stream = connected(consumer, context)
    begin(forwarder)
    forwarder.frame(0, frame(0))
    (began,) = events(forwarder, stream, 1)
    assert isinstance(began, Began) and began.header.shared is not None
    with lock(began.header.shared.path):
        forwarder.step()
        forwarder.frame(1, frame(1))
        forwarder.end(SeriesEnd())
        referenced, ended = events(forwarder, stream, 2)
        assert isinstance(referenced, Referenced) and isinstance(ended, Ended)
        assert [each.frame for each in referenced.references] == [0, 1]
        assert ended.end.forwarded is not None and ended.end.forwarded.sent == 2
    stream.close()


def test_what_a_distributor_reads_after_it_was_cut_off_is_found_to_be_stale(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    stream = connected(consumer, context)
    begin(forwarder)
    forwarder.frame(0, frame(0))
    forwarder.end(SeriesEnd())
    began, referenced, _ = events(forwarder, stream, 3)
    assert isinstance(began, Began) and isinstance(referenced, Referenced)
    shared = began.header.shared
    assert shared is not None
    frames, layout = SharedFrames(shared.path, shared.nonce), Layout(shared.slots, shared.slot_bytes)
    frames.frame(layout, referenced.references[0])
    stream.close()
    disconnected(consumer, 0)
    assert not frames.is_current
    with pytest.raises(StaleMemory):
        frames.frame(layout, referenced.references[0])
    frames.close()


def test_a_distributor_whose_connection_was_lost_is_still_the_holder_and_gets_the_rest_of_the_series(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    hold, stream = lock(str(consumer.memory.path)), connected(consumer, context)
    begin(forwarder)
    forwarder.frame(0, frame(0))
    stream.close()
    disconnected(consumer, 0)
    assert consumer.memory.taken == 0 and consumer.dropped == 1
    assert consumer.status.holder is not None and consumer.status.holder.pid == os.getpid()

    again = connected(consumer, context)
    (began,) = events(forwarder, again, 1)
    assert isinstance(began, Began) and began.header.series == "a"
    forwarder.frame(1, frame(1))
    hold.close()
    forwarder.step()
    assert consumer.memory.taken == 0 and consumer.dropped == 2, "it has let go of the memory"
    assert consumer.status.holder is None
    again.close()


def test_a_series_that_was_resumed_begins_for_whoever_connects_in_it(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    begin(forwarder, resumed=True)
    forwarder.frame(4, frame(4))
    stream = connected(consumer, context)
    forwarder.frame(5, frame(5))
    forwarder.end(SeriesEnd())
    began, referenced, ended = events(forwarder, stream, 3)
    assert isinstance(began, Began) and isinstance(referenced, Referenced) and isinstance(ended, Ended)
    assert [each.frame for each in referenced.references] == [5]
    stream.close()


def test_a_frame_that_is_larger_than_announced_comes_in_its_turn_as_a_message(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    stream = connected(consumer, context)
    begin(forwarder)
    forwarder.frame(0, frame(0))
    forwarder.frame(1, frame(1, partial="x" * 5000))
    forwarder.frame(2, frame(2))
    forwarder.end(SeriesEnd())
    _, first, large, second, ended = events(forwarder, stream, 5)
    assert isinstance(first, Referenced) and isinstance(second, Referenced)
    assert isinstance(large, ByValue) and large.index == 1
    assert isinstance(ended, Ended) and ended.end.forwarded is not None
    assert (ended.end.forwarded.sent, consumer.sent) == (3, 5)
    stream.close()
