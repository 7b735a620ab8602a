"""A consumer that shares memory, and whose distributors come and go in every order."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import zmq

from penstock.processing.sources.stream import Began, ByValue, Ended, Referenced, Stream
from penstock.processing.wire.shared_frames import SharedFrames, StaleMemory, lock
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward import copies
from penstock.receiver.forward.by_reference import BUNCH, COPY_SECONDS, SharingConsumer
from penstock.receiver.forward.forwarder import Forwarder
from penstock.stins.messages import Buffer, Header, SeriesEnd
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
    end = time.monotonic() + DEADLINE_MS / 1000
    while len(found) < count:
        assert time.monotonic() < end
        forwarder.step()  # also before anything comes: a connection may take its messages only now
        stream.socket.poll(20)
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


class HeldCopy:
    """The copy of the frame into slot 1 waits until it is let go."""

    def __init__(self, consumer: SharingConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by: dict[int, str] = {}
        """Threads by slot, once they have copied."""
        self.may_go = threading.Event()
        copy = consumer.memory.copy

        def held(slot: int, header: bytes, blobs: Sequence[Buffer]) -> None:
            assert slot != 1 or self.may_go.wait(DEADLINE_MS / 1000)
            copy(slot, header, blobs)
            self.by[slot] = threading.current_thread().name

        monkeypatch.setattr(copies, "LEAST_BYTES", 0)
        monkeypatch.setattr(consumer.memory, "copy", held)

    def let_go_soon(self) -> None:
        threading.Timer(0.05, self.may_go.set).start()


def test_a_reference_is_sent_after_its_copy_and_those_behind_it_and_the_end_wait(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    held, stream = HeldCopy(consumer, monkeypatch), connected(consumer, context)
    begin(forwarder)
    forwarder.frame_run(0, [frame(index) for index in range(3)])
    due = time.monotonic() + DEADLINE_MS / 1000
    while not {0, 2} <= held.by.keys():
        assert time.monotonic() < due
    consumer._due = time.monotonic()
    began, first = events(forwarder, stream, 2)
    assert isinstance(first, Referenced) and [each.frame for each in first.references] == [0]
    consumer._due = time.monotonic()
    forwarder.step()
    assert 0.0 < forwarder.soonest(5.0) <= COPY_SECONDS, "it is looked at again soon"
    held.let_go_soon()
    forwarder.end(SeriesEnd())
    assert held.may_go.is_set()
    second, ended = events(forwarder, stream, 2)
    assert isinstance(second, Referenced) and isinstance(ended, Ended) and isinstance(began, Began)
    assert [(each.frame, each.slot) for each in second.references] == [(1, 1), (2, 2)]
    assert began.header.shared is not None
    memory = SharedFrames(began.header.shared.path, began.header.shared.nonce)
    for reference in (*first.references, *second.references):
        _, blobs = memory.frame(consumer.memory.layout, reference)
        assert bytes(blobs[0]) == bytes(frame(reference.frame).blobs[0])
    assert all(name.startswith("copy for a consumer") for name in held.by.values())
    stream.close()


def test_slots_are_taken_back_after_the_copies_into_them(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    held, stream = HeldCopy(consumer, monkeypatch), connected(consumer, context)
    at_take_back: list[set[int]] = []
    take_back = consumer.memory.take_back

    def noted() -> None:
        at_take_back.append({*held.by})
        take_back()

    monkeypatch.setattr(consumer.memory, "take_back", noted)
    begin(forwarder)
    forwarder.frame_run(0, [frame(index) for index in range(3)])
    held.let_go_soon()
    stream.close()
    disconnected(consumer, 0)
    assert at_take_back == [{0, 1, 2}]
    assert (consumer.dropped, consumer.memory.taken) == (3, 0)


def test_the_loop_copies_what_is_small_or_comes_rarely_and_waits_while_too_much_is_copied(
    forwarder: Forwarder, consumer: SharingConsumer, context: zmq.Context[zmq.Socket[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    small, here = len(frame(0).blobs[0]), threading.current_thread().name
    held, stream = HeldCopy(consumer, monkeypatch), connected(consumer, context)
    held.may_go.set()
    begin(forwarder)
    monkeypatch.setattr(copies, "LEAST_BYTES", 10 * small + 1000)
    forwarder.frame(0, frame(0))
    assert held.by.pop(0) == here
    monkeypatch.setattr(copies, "LEAST_BYTES", 0)
    consumer._last -= 2.0  # seconds: a bunch is due after one
    forwarder.frame(1, frame(1))
    assert held.by.pop(1) == here
    held.may_go.clear()
    consumer.memory.take_back()
    monkeypatch.setattr(copies, "MOST_BYTES", 1)
    forwarder.frame_run(2, [frame(2), frame(3)])  # in slots 0 and 1
    held.let_go_soon()
    forwarder.frame(4, frame(4))
    assert held.by.keys() >= {0, 1}
    forwarder.end(SeriesEnd())
    stream.close()
