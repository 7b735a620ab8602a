"""The forwarded stream, as consumers see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import cbor2
import numpy as np
import pytest
import zmq
from dranspose.data.stream1 import Stream1Packet

from penstock.receiver.config import ForwardConfig
from penstock.receiver.forwarder import Consumer, Forwarder
from penstock.stins import codec
from penstock.stins.messages import Frame, Header, SeriesEnd, Start
from tests.receiver.processes import ReceiverProcess
from tests.receiver.series import frame
from tests.streams import Streamer, pixels

DEADLINE_MS = 10_000


class Reader:
    """A consumer that we did not write would do the same: connect, pull, parse."""

    def __init__(self, endpoint: str, high_water_mark: int = 1000) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self._socket.set(zmq.RCVHWM, high_water_mark)
        self._socket.set(zmq.RCVTIMEO, DEADLINE_MS)
        self._socket.connect(endpoint)

    def poll(self, milliseconds: int) -> bool:
        return bool(self._socket.poll(milliseconds))

    def next(self) -> list[bytes]:
        return self._socket.recv_multipart()

    def series(self) -> list[list[bytes]]:
        """Messages up to the next end message."""
        messages = [self.next()]
        while b"series_end" not in messages[-1][0]:
            messages.append(self.next())
        return messages

    def close(self) -> None:
        self._socket.close(linger=0)
        self._context.term()


@pytest.fixture
def reader() -> Iterator[Callable[..., Reader]]:
    """Connects consumers that are closed in the end."""
    made: list[Reader] = []

    def connect(*arguments: Any) -> Reader:
        made.append(Reader(*arguments))
        return made[-1]

    yield connect
    for item in made:
        item.close()


@pytest.fixture
def forwarder() -> Iterator[Forwarder]:
    """Of one consumer, with a queue of five messages."""
    made = Forwarder((ForwardConfig(name="live", endpoint="tcp://127.0.0.1:*", queue=5),))
    yield made
    for consumer in made.consumers:
        consumer._socket.set(zmq.LINGER, 0)
    made.close()


def only(forwarder: Forwarder) -> Consumer:
    (consumer,) = forwarder.consumers
    return consumer


def wait_for_peer(consumer: Consumer) -> None:
    assert consumer._socket.poll(DEADLINE_MS, zmq.POLLOUT)


def numbers(messages: list[list[bytes]]) -> list[int]:
    return [json.loads(parts[0])["msg_number"] for parts in messages]


def whole(forwarder: Forwarder, frames: int, name: str = "a", metadata: dict[str, Any] | None = None) -> None:
    forwarder.begin(Header(filename="/x.h5", series=name, frames=frames, msg_number=77), metadata or {})
    for index in range(frames):
        forwarder.frame(index, frame(index, 78 + index, name))
    forwarder.end(SeriesEnd(msg_number=99))


def test_a_consumer_gets_the_series_with_numbers_of_its_own(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    messages = []
    for name in ("a", "b"):
        whole(forwarder, 3, name, {"exptime": 0.1})
        messages += consumer.series()
    assert numbers(messages) == list(range(10))
    start, image = codec.decode(messages[0]), codec.decode(messages[1])
    assert isinstance(start, Start)
    assert isinstance(image, Frame)
    assert (start.header.filename, start.metadata) == ("/x.h5", {"exptime": 0.1})
    assert image.blobs == [pixels(0).tobytes()]
    assert (only(forwarder).sent, only(forwarder).dropped) == (10, 0)


def test_frames_without_a_number_are_forwarded_with_their_index(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    forwarder.begin(Header(filename=None), {})
    forwarder.frame(3, frame(None, None, None))
    forwarder.end(SeriesEnd())
    messages = [json.loads(parts[0]) for parts in consumer.series()]
    assert (messages[0]["filename"], messages[1]["frame"]) == ("", 3)


def test_what_json_cannot_hold_is_left_out_of_the_metadata(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    mask = np.zeros((2, 2), np.uint32)
    odd = {"tag": cbor2.CBORTag(4711, 1), "simple": [cbor2.undefined]}
    whole(
        forwarder, 1, "a",
        {"pixel_mask": mask, "nested": {"masks": [mask]}, "blob": b"\xff", "label": "s1", **odd},
    )  # fmt: skip
    start = codec.decode(consumer.series()[0])
    assert isinstance(start, Start)
    assert start.metadata == {"label": "s1"}


def test_a_consumer_that_is_not_there_costs_nothing_and_its_frames_are_counted(forwarder: Forwarder) -> None:
    whole(forwarder, 50)
    assert (only(forwarder).sent, only(forwarder).dropped) == (0, 50)


def test_a_consumer_that_comes_in_mid_series_gets_the_next_one_whole(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    forwarder.begin(Header(filename="", series="a"), {})
    consumer = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    forwarder.frame(0, frame(0))
    forwarder.end(SeriesEnd())
    whole(forwarder, 2, "b")
    messages = consumer.series()
    assert numbers(messages) == [0, 1, 2, 3]
    assert json.loads(messages[0][0])["series"] == "b"
    assert only(forwarder).dropped == 1


def test_a_slow_consumer_loses_frames_that_are_counted_and_never_the_end_nor_a_number(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer, large = reader(only(forwarder).endpoint, 1), pixels(0, (1000, 1000))
    wait_for_peer(only(forwarder))
    forwarder.begin(Header(filename="", series="a"), {})
    for index in range(200):
        forwarder.frame(index, Frame(frame(index).image, [large.tobytes()]))
    forwarder.end(SeriesEnd())
    assert only(forwarder).dropped > 0
    whole(forwarder, 3, "b")  # while the end of the first still waits: none of it is sent
    messages = [consumer.next()]
    while b"series_end" not in messages[-1][0]:
        while not consumer.poll(10):
            forwarder.step()
        messages.append(consumer.next())
    assert numbers(messages) == list(range(len(messages)))
    assert len(messages) - 2 + only(forwarder).dropped == 203
    whole(forwarder, 3, "c")
    assert numbers(consumer.series()) == list(range(len(messages), len(messages) + 5))


class GoneSinceTheLook:
    """A socket whose consumer goes each time between the look at it and the send."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket

    def poll(self, *_: object) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def test_a_consumer_that_goes_at_the_moment_of_the_send_loses_frames_that_are_counted(
    forwarder: Forwarder, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = only(forwarder)
    with monkeypatch.context() as patch:
        patch.setattr(consumer, "_socket", GoneSinceTheLook(consumer._socket))
        whole(forwarder, 3)
    assert (consumer.sent, consumer.dropped) == (0, 3)
    late = reader(consumer.endpoint)
    wait_for_peer(consumer)
    whole(forwarder, 2, "b")
    assert numbers(late.series()) == [0, 1, 2, 3]


def test_every_message_of_the_forwarded_stream_is_accepted_by_dranspose(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, reader: Callable[..., Reader]
) -> None:
    receiver = start_receiver(
        forward=[{"name": name, "endpoint": "tcp://127.0.0.1:*"} for name in ("reduction", "nobody")]
    )
    endpoints = {item.name: item.endpoint for item in receiver.connected().consumers}
    consumer = reader(endpoints["reduction"])
    # A series for each try: a consumer is served from the first that begins when it is connected.
    status = receiver.ended(streamer.series_of(str(receiver.root / "0.h5"), 3))
    tries = 1
    while status.consumers[0].sent == 0:
        status = receiver.ended(streamer.series_of(str(receiver.root / f"{tries}.h5"), 3))
        tries += 1
        assert tries < 200
    series = streamer.series_of(str(receiver.root / "last.h5"), 4)
    messages: list[list[bytes]] = []
    while not messages or json.loads(messages[-1][0])["series"] != series:
        messages += consumer.series()
    for parts in messages:
        Stream1Packet.validate_python(json.loads(parts[0]))
    assert numbers(messages) == list(range(len(messages)))
    frames = [parts for parts in messages[-6:] if b'"image"' in parts[0]]
    assert [json.loads(parts[0])["frame"] for parts in frames] == [0, 1, 2, 3]
    assert [parts[1] for parts in frames] == [pixels(index).tobytes() for index in range(4)]
    counts = {item.name: item.dropped for item in receiver.ended(series).consumers}
    assert counts["nobody"] == 3 * tries + 4


def test_a_consumer_that_hangs_never_stalls_the_file(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, reader: Callable[..., Reader]
) -> None:
    receiver = start_receiver(forward=[{"name": "slow", "endpoint": "tcp://127.0.0.1:*", "queue": 2}])
    status = receiver.connected()
    reader(status.consumers[0].endpoint, 1)  # connected, and reads nothing
    array = pixels(0, (600, 601))
    dropped, tries = 0, 0
    while not dropped:
        path = receiver.root / f"{tries}.h5"
        series = streamer.start(str(path), frames=40)
        for number in range(40):
            streamer.frame(number, array)
        streamer.end()
        status = receiver.ended(series)
        assert (status.series.complete, status.counts.stored) == (True, 40)
        dropped = status.consumers[0].dropped if status.consumers[0].sent else 0
        tries += 1
        assert tries < 50
