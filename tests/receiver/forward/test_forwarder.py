"""The forwarded stream, as consumers see it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cbor2
import numpy as np
import pytest
import zmq
from dranspose.data.stream1 import Stream1Packet

from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.consumer import Consumer
from penstock.receiver.forward.forwarder import Forwarder
from penstock.stins import codec
from penstock.stins.connections import HANDSHAKE_MS
from penstock.stins.messages import Frame, Header, SeriesEnd, Start
from tests.knocks import ask_for_a_page, knock, message, shake_hands
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sample_series import frame
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
        if not self._socket.closed:
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
    """Of one consumer."""
    with forwarding() as made:
        yield made


@contextmanager
def forwarding(**keys: Any) -> Iterator[Forwarder]:
    """A forwarder of one consumer with these keys in its entry."""
    made = Forwarder((ForwardConfig(name="live", endpoint="tcp://127.0.0.1:*", **keys),))
    yield made
    for consumer in made.consumers:
        consumer._socket.set(zmq.LINGER, 0)
        consumer._connections.peers.clear()  # nothing has to leave any more
    made.close()


def only(forwarder: Forwarder) -> Consumer:
    (consumer,) = forwarder.consumers
    return consumer


def wait_for_peer(consumer: Consumer) -> None:
    before = consumer.peers
    while consumer.peers == before:
        assert consumer._monitor.poll(DEADLINE_MS)
        consumer.step()


def numbers(messages: list[list[bytes]]) -> list[int]:
    return [json.loads(parts[0])["msg_number"] for parts in messages]


def rest(forwarder: Forwarder, consumer: Reader) -> list[list[bytes]]:
    """Messages up to the next end message, while the forwarder goes on sending: ZeroMQ holds few of them."""
    messages: list[list[bytes]] = []
    while not messages or b"series_end" not in messages[-1][0]:
        due = time.monotonic() + DEADLINE_MS / 1000
        while not consumer.poll(10):
            assert time.monotonic() < due
            forwarder.step()
        messages.append(consumer.next())
    return messages


def whole(forwarder: Forwarder, frames: int, name: str = "a", metadata: dict[str, Any] | None = None) -> None:
    forwarder.begin(Header(filename="/x.h5", series=name, frames=frames, msg_number=77), metadata or {})
    for index in range(frames):
        forwarder.frame(index, frame(index, 78 + index, name))
    forwarder.end(SeriesEnd(msg_number=99))


def test_a_stranger_that_knocks_takes_no_consumer_away(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer = only(forwarder)
    connected = reader(consumer.endpoint)
    wait_for_peer(consumer)
    for said in (b"", b"\n", b"GET / HTTP/1.0\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", int(consumer.endpoint.rpartition(":")[2]))) as stranger:
            stranger.settimeout(DEADLINE_MS / 1000)
            stranger.sendall(said)
            with contextlib.suppress(ConnectionResetError):
                stranger.recv(64)
        assert consumer._monitor.poll(DEADLINE_MS)
        consumer.step()
    assert consumer.peers == 1
    whole(forwarder, 9)
    assert len(rest(forwarder, connected)) == 11


@pytest.mark.parametrize("leave", [socket.socket.close, ask_for_a_page], ids=["nothing", "http"])
def test_a_stranger_that_comes_within_a_consumers_handshake_does_not_take_its_place(
    forwarder: Forwarder, leave: Callable[[socket.socket], None]
) -> None:
    consumer = only(forwarder)
    with knock(consumer.endpoint) as connected, knock(consumer.endpoint) as stranger:
        shake_hands(connected)
        wait_for_peer(consumer)
        forwarder.begin(Header(filename="/x.h5", series="a", frames=1), {})
        leave(stranger)
        assert consumer._monitor.poll(DEADLINE_MS), "nobody has left"
        consumer.step()
        assert consumer.peers == 1
        forwarder.frame(0, frame(0, 1, "a"))
        forwarder.end(SeriesEnd())
        message(connected, b"series_end")
        assert (consumer.sent, consumer.dropped) == (3, 0)


def test_who_falls_silent_in_mid_handshake_is_cut_off_soon(forwarder: Forwarder) -> None:
    assert only(forwarder)._socket.get(zmq.HANDSHAKE_IVL) == HANDSHAKE_MS <= 3000


def test_a_consumer_gets_the_series_with_numbers_of_its_own(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    consumer = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    messages = []
    for name in ("a", "b"):
        whole(forwarder, 3, name, {"exptime": 0.1})
        messages += rest(forwarder, consumer)
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
    messages = [json.loads(parts[0]) for parts in rest(forwarder, consumer)]
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
    start = codec.decode(rest(forwarder, consumer)[0])
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
    messages = rest(forwarder, consumer)
    assert numbers(messages) == [0, 1, 2, 3]
    assert json.loads(messages[0][0])["series"] == "b"
    assert only(forwarder).dropped == 1


LARGE = pixels(0, (1000, 1000))  # 2 MB: what the kernel and ZeroMQ hold of it is soon full


def large(forwarder: Forwarder, frames: int, name: str = "a", first: int = 0) -> None:
    """A series of large frames, without its end."""
    if not first:
        forwarder.begin(Header(filename="", series=name), {})
    for index in range(first, first + frames):
        forwarder.frame(index, Frame(frame(index).image, [LARGE.tobytes()]))


def indices(messages: list[list[bytes]]) -> list[int]:
    return [json.loads(parts[0])["frame"] for parts in messages if b'"image"' in parts[0]]


@pytest.mark.parametrize("when_full", ["drop_newest", "drop_oldest"])
def test_a_slow_consumer_loses_frames_that_are_counted_and_never_the_end_nor_a_number(
    when_full: str, reader: Callable[..., Reader]
) -> None:
    with forwarding(when_full=when_full, queue_mb=10) as forwarder:
        consumer = reader(only(forwarder).endpoint, 1)
        wait_for_peer(only(forwarder))
        large(forwarder, 60)
        assert only(forwarder).waiting_bytes <= 10e6
        forwarder.end(SeriesEnd())
        messages = rest(forwarder, consumer)
        first, last = indices(messages)[0], indices(messages)[-1]
        assert first == 0
        assert (last == 59) is (when_full == "drop_oldest")
        assert len(messages) - 2 + only(forwarder).dropped == 60
        whole(forwarder, 3, "b")
        messages += rest(forwarder, consumer)
        assert numbers(messages) == list(range(len(messages)))
        assert only(forwarder).waiting_bytes == 0


def test_a_consumer_gets_every_nth_frame_and_what_it_was_not_meant_to_get_is_not_lost(
    reader: Callable[..., Reader],
) -> None:
    with forwarding(every=5) as forwarder:
        consumer = reader(only(forwarder).endpoint)
        wait_for_peer(only(forwarder))
        whole(forwarder, 12)
        messages = rest(forwarder, consumer)
        assert indices(messages) == [0, 5, 10]
        assert numbers(messages) == list(range(5))
        assert (only(forwarder).skipped, only(forwarder).dropped) == (9, 0)


def test_a_frame_larger_than_the_queue_goes_through_an_empty_one(reader: Callable[..., Reader]) -> None:
    with forwarding(queue_mb=0.001) as forwarder:
        consumer = reader(only(forwarder).endpoint)
        wait_for_peer(only(forwarder))
        large(forwarder, 1)
        forwarder.end(SeriesEnd())
        assert indices(rest(forwarder, consumer)) == [0]


def test_a_consumer_that_blocks_holds_the_series_until_it_reads_and_loses_nothing(
    reader: Callable[..., Reader],
) -> None:
    with forwarding(when_full="block", queue_mb=10) as forwarder:
        consumer = reader(only(forwarder).endpoint, 1)
        wait_for_peer(only(forwarder))
        sent = 0
        while not forwarder.stalled_by:
            large(forwarder, 1, first=sent)
            sent += 1
            assert sent < 200
        assert (forwarder.stalled_by, only(forwarder).dropped) == ("live", 0)
        while forwarder.stalled_by:
            consumer.next()
            forwarder.step()
        forwarder.end(SeriesEnd())
        assert indices(rest(forwarder, consumer))[-1] == sent - 1
        assert (only(forwarder).sent, only(forwarder).dropped) == (sent + 2, 0)


def test_a_consumer_that_blocks_and_is_gone_blocks_no_more(reader: Callable[..., Reader]) -> None:
    with forwarding(when_full="block", queue_mb=10) as forwarder:
        consumer = reader(only(forwarder).endpoint, 1)
        wait_for_peer(only(forwarder))
        sent = 0
        while not forwarder.stalled_by:
            large(forwarder, 1, first=sent)
            sent += 1
        consumer.close()
        wait_for_peer(only(forwarder))
        assert (forwarder.stalled_by, only(forwarder).waiting_bytes) == ("", 0)
        assert only(forwarder).dropped + only(forwarder).sent - 1 == sent


def test_whoever_takes_the_place_of_a_consumer_that_died_gets_the_next_series_whole(
    forwarder: Forwarder, reader: Callable[..., Reader]
) -> None:
    first = reader(only(forwarder).endpoint, 1)
    wait_for_peer(only(forwarder))
    large(forwarder, 40)
    first.close()
    wait_for_peer(only(forwarder))
    sent, dropped = only(forwarder).sent, only(forwarder).dropped
    assert sent - 1 + dropped == 40
    second = reader(only(forwarder).endpoint)
    wait_for_peer(only(forwarder))
    large(forwarder, 2, first=40)
    forwarder.end(SeriesEnd())
    assert only(forwarder).dropped == dropped + 2
    whole(forwarder, 2, "b")
    messages = rest(forwarder, second)
    assert json.loads(messages[0][0])["series"] == "b"
    assert numbers(messages) == list(range(sent, sent + 4))


class RefusesToSend:
    """A socket whose consumer goes each time between the look at it and the send."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self._socket = socket

    def send_multipart(self, *_: object, **__: object) -> None:
        raise zmq.Again

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def test_what_could_not_be_sent_after_all_waits_and_takes_no_number(
    forwarder: Forwarder, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = only(forwarder)
    connected = reader(consumer.endpoint)
    wait_for_peer(consumer)
    with monkeypatch.context() as patch:
        patch.setattr(consumer, "_socket", RefusesToSend(consumer._socket))
        whole(forwarder, 3)
    assert consumer.sent == 0
    assert numbers(rest(forwarder, connected)) == [0, 1, 2, 3, 4]


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


class Child:
    """A consumer in a process of its own that reads whatever comes."""

    PROGRAM = (
        "import sys, zmq\n"
        "socket = zmq.Context().socket(zmq.PULL)\n"
        "socket.connect(sys.argv[1])\n"
        "while True: socket.recv_multipart()\n"
    )

    def __init__(self, endpoint: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", self.PROGRAM, endpoint])

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def child() -> Iterator[Callable[[str], Child]]:
    """Starts consumers that are killed in the end."""
    made: list[Child] = []

    def start(endpoint: str) -> Child:
        made.append(Child(endpoint))
        return made[-1]

    yield start
    for item in made:
        item.close()


def large_series(streamer: Streamer, path: Path, frames: int) -> str:
    array = pixels(0, (600, 601))
    series = streamer.start(str(path), frames=frames)
    for number in range(frames):
        streamer.frame(number, array)
    streamer.end(reason="complete", triggered=frames, sent=frames)
    return series


@pytest.mark.parametrize(
    ("number", "when_full"),
    [
        pytest.param(signal.SIGSTOP, "drop_newest", marks=pytest.mark.slow),
        (signal.SIGKILL, "drop_oldest"),
        pytest.param(signal.SIGSTOP, "drop_oldest", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, "drop_newest", marks=pytest.mark.slow),
    ],
)
def test_a_consumer_that_is_stopped_or_killed_never_stalls_the_file(
    number: signal.Signals,
    when_full: str,
    start_receiver: Callable[..., ReceiverProcess],
    streamer: Streamer,
    child: Callable[[str], Child],
) -> None:
    entry = {"name": "slow", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 2, "when_full": when_full}
    receiver = start_receiver(forward=[entry])
    consumer = child(receiver.connected().consumers[0].endpoint)
    receiver.wait(lambda status: status.consumers[0].connected == 1)
    consumer.signal(number)
    if number == signal.SIGKILL:
        receiver.wait(lambda status: status.consumers[0].connected == 0)
    frames, dropped, tries = 40, 0, 0
    while not dropped:
        status = receiver.ended(large_series(streamer, receiver.root / f"{tries}.h5", frames))
        assert status.series is not None
        assert (status.series.complete, status.counts.stored) == (True, frames)
        assert status.consumers[0].waiting_bytes <= 2e6
        dropped = status.consumers[0].dropped
        tries += 1
        assert tries < 50


def test_a_consumer_gets_frames_of_several_sockets_in_the_order_of_sending(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, reader: Callable[..., Reader]
) -> None:
    entry = {"name": "offline", "endpoint": "tcp://127.0.0.1:*"}
    receiver = start_receiver(forward=[entry], source={"sockets": 2})
    connected = receiver.wait(lambda status: status.connections[0].connections == 2)
    consumer = reader(connected.consumers[0].endpoint)
    receiver.wait(lambda status: status.consumers[0].connected == 1)
    for _ in range(3):
        series = streamer.series_of("", 200)
        heads = [json.loads(parts[0]) for parts in consumer.series()]
        assert [head["frame"] for head in heads if head["htype"] == "image"] == list(range(200))
        assert receiver.ended(series).counts.delivered == 200


@pytest.fixture(
    params=[pytest.param(1, id="one socket"), pytest.param(2, id="two sockets", marks=pytest.mark.slow)]
)
def stalled(
    request: pytest.FixtureRequest,
    start_receiver: Callable[..., ReceiverProcess],
    streamer: Streamer,
    child: Callable[[str], Child],
) -> tuple[ReceiverProcess, Child, str, int]:
    """A receiver whose series waits for a consumer that is stopped; id of the series and frames sent."""
    entry = {"name": "offline", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 2, "when_full": "block"}
    source = {"sockets": request.param}
    receiver = start_receiver(forward=[entry], gap={"policy": "fail", "seconds": 0.2}, source=source)
    consumer = child(receiver.connected().consumers[0].endpoint)
    receiver.wait(lambda status: status.consumers[0].connected == 1)
    consumer.signal(signal.SIGSTOP)
    array, frames = pixels(0, (600, 601)), 0
    series = streamer.start(str(receiver.root / "stalled.h5"), trigger_mode="EXTERNAL")
    while not receiver.client.status().consumers[0].stalls:
        for _ in range(5):
            streamer.frame(frames, array)
            frames += 1
    return receiver, consumer, series, frames


@pytest.mark.slow
def test_a_consumer_that_blocks_stalls_the_series_visibly_and_gets_every_frame(
    stalled: tuple[ReceiverProcess, Child, str, int], streamer: Streamer
) -> None:
    receiver, consumer, series, frames = stalled
    log = receiver.log.read_text()
    assert "consumer offline" in log and "may stall series" in log
    assert f"waits for consumer offline (series {series})" in log
    status = receiver.client.status()
    assert status.series is not None
    assert (status.state, status.series.active) == ("running", True)
    assert "waits for consumer offline" in status.series.reason
    consumer.signal(signal.SIGCONT)
    streamer.end(reason="complete", triggered=frames, sent=frames)
    status = receiver.ended(series)
    assert (status.state, status.counts.stored, status.counts.late) == ("idle", frames, 0)
    read = receiver.wait(lambda status: status.consumers[0].sent == frames + 2)
    assert read.consumers[0].dropped == 0


@pytest.mark.slow
def test_a_series_that_a_consumer_stalls_can_be_stopped(
    stalled: tuple[ReceiverProcess, Child, str, int],
) -> None:
    receiver, *_ = stalled
    receiver.client.stop("no patience")
    status = receiver.client.status()
    assert status.series is not None
    assert (status.state, status.series.active) == ("idle", False)
    assert "no patience" in status.series.reason
