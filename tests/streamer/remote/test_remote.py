from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import msgspec
import pytest
import zmq

from penstock.streamer.camera.engine import Engine
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.remote.client import (
    StreamerClient,
    StreamerRefused,
    StreamerStatus,
    StreamerUnavailable,
)
from penstock.streamer.remote.protocol import MAX_REQUEST_BYTES, Answer
from penstock.streamer.remote.server import REQUESTS_AT_ONCE, RemoteServer
from tests.streamer.rig import DEADLINE, FakeCamera, settings

HOSTILE: dict[str, list[bytes]] = {
    "nothing": [b""],
    "not JSON": [b"{"],
    "not UTF-8": [b'{"id":1,"op":"\xff"}'],
    "not an object": [b"[1,2]"],
    "no op": [b'{"id":7}'],
    "unknown op": [b'{"id":7,"op":"format_disk"}'],
    "no id": [b'{"op":"status"}'],
    "id of the wrong type": [b'{"id":"x","op":"status"}'],
    "unknown key": [b'{"id":7,"op":"status","sudo":true}'],
    "missing settings": [b'{"id":7,"op":"prepare"}'],
    "settings of the wrong type": [b'{"id":7,"op":"prepare","settings":[]}'],
    "an object as value": [b'{"id":7,"op":"set","values":{"Gain":{}}}'],
    "deep nesting": [b"[" * 100_000],
    "several parts": [b'{"id":7,"op":"status"}', b"more"],
    "no part": [],
    "an enormous number": [b'{"id":' + b"9" * 4000 + b',"op":"status"}'],
}


class Served:
    """An engine behind its remote interface, in this process."""

    def __init__(self) -> None:
        self.camera: Any = FakeCamera({})
        self.remote = RemoteServer("tcp://127.0.0.1:0")
        self.push = PushSocket("tcp://127.0.0.1:0", linger=0.0)
        self.engine = Engine(self.camera, self.push, changed=self.remote.changed)
        self.thread = Thread(target=self.remote.serve, args=(self.engine,))
        self.thread.start()
        self.client = StreamerClient(self.remote.endpoint, timeout=DEADLINE)
        self.context = zmq.Context()
        self.pull = self.context.socket(zmq.PULL)
        self.pull.connect(self.push.endpoint)
        assert self.push.wait_peers(1, DEADLINE)

    def close(self) -> None:
        self.client.close()
        self.remote.stop()
        self.thread.join(DEADLINE)
        self.engine.close(patience=0.5)
        self.remote.close(self.engine)
        self.context.destroy(0)

    def arm(self, **changes: Any) -> None:
        self.client.prepare(settings(**changes))
        self.client.announce()
        self.client.start()


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.close()


@pytest.fixture
def stranger(served: Served) -> Iterator[zmq.Socket[bytes]]:
    """Someone who can reach the control port."""
    socket = served.context.socket(zmq.DEALER)
    socket.connect(served.remote.endpoint)
    yield socket
    socket.close(0)


class Snapshots:
    """Collects what a subscriber is told."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[StreamerStatus | None] = SimpleQueue()

    def until_state(self, state: str) -> StreamerStatus:
        while (status := self.queue.get(timeout=DEADLINE)) is None or status.state != state:
            pass
        return status

    def until_silent(self) -> None:
        while self.queue.get(timeout=DEADLINE) is not None:
            pass


def test_a_signal_after_the_end_wakes_nobody() -> None:
    served = Served()
    served.close()
    reused = os.open(os.devnull, os.O_RDONLY)  # has the number that the pipe had: a write to it fails
    served.remote.stop()
    os.close(reused)


def test_a_series_from_prepare_to_the_end(served: Served) -> None:
    prepared = served.client.prepare(settings(n_triggers=2))
    assert (prepared.shape, prepared.dtype, prepared.frame_bytes, prepared.frames) == (
        (3, 4),
        "uint16",
        24,
        2,
    )
    served.client.announce()
    snapshots = Snapshots()
    served.client.subscribe(snapshots.queue.put)
    served.client.start()
    status = snapshots.until_state("idle")
    assert (status.series, status.planned, status.sent, status.end_sent) == (prepared.series, 2, 2, True)
    assert status.peers == 1


def test_describe_says_all_that_a_device_needs(served: Served) -> None:
    description = served.client.describe()
    assert description.camera == "FakeCamera"
    assert description.parameters == FakeCamera.parameters
    assert description.trigger_modes == FakeCamera.trigger_modes
    assert description.limits["ExposureTime"].maximum == 100.0
    assert description.data_endpoint == served.push.endpoint
    assert description.values == {"Gain": 1.0, "Mode": "fast"}


def test_a_refusal_arrives_with_its_kind_and_sentence(served: Served) -> None:
    with pytest.raises(StreamerRefused, match=r"Gain 6\.0; the greatest is 5") as caught:
        served.client.set({"Gain": 6.0})
    assert caught.value.kind == "out_of_range"


def test_a_slow_camera_holds_up_nobody_but_who_asked_it(served: Served) -> None:
    entered, leave = Event(), Event()

    def slow() -> None:
        entered.set()
        leave.wait(DEADLINE)

    served.camera.on_prepare = slow
    asking = Thread(target=served.client.prepare, args=(settings(),))
    asking.start()
    assert entered.wait(DEADLINE)
    assert served.client.status().state == "idle"
    with pytest.raises(StreamerRefused, match=r"has not returned from the last call \(prepare\)"):
        served.client.set({"Gain": 2.0})
    leave.set()
    asking.join(DEADLINE)
    assert served.client.status().state == "prepared"


def test_an_abort_overtakes_a_start_that_is_waited_for(served: Served) -> None:
    def script(acquisition: Any) -> Iterator[Any]:
        acquisition.wait_until(float("inf"))
        yield from ()

    served.camera.script = script
    served.client.prepare(settings())
    served.client.announce()
    refusals: SimpleQueue[StreamerRefused] = SimpleQueue()

    def start() -> None:
        try:
            served.client.start()
        except StreamerRefused as refused:
            refusals.put(refused)

    asking = Thread(target=start)
    asking.start()
    while served.client.status().state != "acquiring":
        pass
    served.client.abort()
    assert refusals.get(timeout=DEADLINE).message == "aborted"
    asking.join(DEADLINE)


def test_a_trigger_that_comes_too_early_is_an_error_of_its_caller(served: Served) -> None:
    busy = Event()

    def script(acquisition: Any) -> Iterator[Any]:
        acquisition.wait_trigger()
        busy.wait(DEADLINE)
        yield served.camera.frame(acquisition, 0)

    served.camera.script = script
    served.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=1)
    while not served.client.status().ready_for_trigger:
        pass
    served.client.trigger()
    with pytest.raises(StreamerRefused, match="wait for ReadyForSwTrigger"):
        served.client.trigger()
    busy.set()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_refused_by_name_and_the_next_one_served(
    name: str, served: Served, stranger: zmq.Socket[bytes]
) -> None:
    parts = HOSTILE[name]
    if parts:
        stranger.send_multipart(parts)
        assert stranger.poll(int(DEADLINE * 1000))
        answer = msgspec.json.decode(stranger.recv(), type=Answer)
        assert answer.refused is not None
        assert answer.refused.kind == "bad_request"
        assert answer.id == 7 or b'"id":7' not in parts[0]
    assert served.client.status().state == "idle"


def test_a_request_beyond_the_size_limit_costs_its_sender_the_connection(
    served: Served, stranger: zmq.Socket[bytes]
) -> None:
    stranger.send(b" " * (MAX_REQUEST_BYTES + 1))
    assert served.client.status().state == "idle"


def test_a_flood_of_requests_does_not_keep_the_rest_from_its_turn(
    served: Served, stranger: zmq.Socket[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    flooded = Event()
    served_requests = 0

    def describe() -> None:
        nonlocal served_requests
        served_requests += 1
        assert flooded.wait(DEADLINE)
        served.remote.stop()

    monkeypatch.setattr(served.engine, "describe", describe)
    for _ in range(5 * REQUESTS_AT_ONCE):
        stranger.send(b'{"id":1,"op":"describe"}')
    flooded.set()
    served.thread.join(DEADLINE)
    assert not served.thread.is_alive()
    assert served_requests <= REQUESTS_AT_ONCE


def test_bytes_that_are_not_zeromq_are_survived(served: Served) -> None:
    import socket

    host, _, port = served.remote.endpoint.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
    assert served.client.status().state == "idle"


def test_a_subscriber_hears_of_every_change_and_without_one_twice_a_second(served: Served) -> None:
    snapshots = Snapshots()
    served.client.subscribe(snapshots.queue.put)
    assert snapshots.until_state("idle").series == ""
    served.client.prepare(settings())
    assert snapshots.until_state("prepared").planned == 4
    # Nothing changes now, and still they come.
    for _ in range(3):
        assert snapshots.until_state("prepared")


def test_an_ended_subscription_ends_its_snapshots(served: Served) -> None:
    snapshots = Snapshots()
    end = served.client.subscribe(snapshots.queue.put)
    snapshots.until_state("idle")
    end()
    seen = snapshots.queue.qsize()
    served.client.prepare(settings())
    assert served.client.status().state == "prepared"
    assert snapshots.queue.qsize() == seen


def test_a_subscriber_that_raises_gets_the_next_snapshot_all_the_same(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = Snapshots()

    def clumsy(status: StreamerStatus | None) -> None:
        snapshots.queue.put(status)
        raise RuntimeError("clumsy")

    served.client.subscribe(clumsy)
    snapshots.until_state("idle")
    snapshots.until_state("idle")
    assert "a subscriber of the streamer failed" in caplog.text


def test_a_streamer_that_is_not_there_is_unavailable_in_time() -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as free:
        port = free.bind_to_random_port("tcp://127.0.0.1")
    client = StreamerClient(f"tcp://127.0.0.1:{port}", timeout=0.1)
    with pytest.raises(StreamerUnavailable, match=f"tcp://127.0.0.1:{port} did not answer status in 0.1 s"):
        client.status()
    silent = Snapshots()
    client.subscribe(silent.queue.put, stale_after=0.1)
    silent.until_silent()
    client.close()


def test_a_closed_client_says_so(served: Served) -> None:
    client = StreamerClient(served.remote.endpoint)
    client.close()
    with pytest.raises(StreamerUnavailable, match="is closed"):
        client.status()
    with pytest.raises(StreamerUnavailable, match="is closed"):
        client.subscribe(lambda status: None)


def test_a_client_may_be_closed_while_it_subscribes(served: Served) -> None:
    for _ in range(50):
        client = StreamerClient(served.remote.endpoint)
        begun = Event()

        def subscribe(client: StreamerClient = client, begun: Event = begun) -> None:
            begun.set()
            with suppress(StreamerUnavailable):
                client.subscribe(lambda status: None)

        subscribing = Thread(target=subscribe)
        subscribing.start()
        begun.wait(DEADLINE)
        client.close()
        subscribing.join(DEADLINE)
        assert not subscribing.is_alive()
