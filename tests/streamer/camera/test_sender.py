from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import zmq

from penstock.streamer.camera.push_socket import COPY_BELOW, LARGE_HWM, SMALL_HWM, PushSocket, default_hwm
from tests.knocks import GREETING, ask_for_a_page, knock, message, shake_hands, until_cut_off
from tests.streamer.rig import DEADLINE, wait_for

Connect = Callable[[], "zmq.Socket[bytes]"]


@pytest.fixture
def push() -> Iterator[PushSocket]:
    push = PushSocket("tcp://127.0.0.1:0", linger=0.0)
    yield push
    push.close()


@pytest.fixture
def connect(push: PushSocket) -> Iterator[Connect]:
    """Connects one more receiver."""
    context = zmq.Context()
    pulls: list[zmq.Socket[bytes]] = []

    def connect() -> zmq.Socket[bytes]:
        pulls.append(context.socket(zmq.PULL))
        pulls[-1].connect(push.endpoint)
        assert wait_for(push, lambda push: len(push.peers) == len(pulls))
        assert push.wait_peers(len(pulls), DEADLINE)
        return pulls[-1]

    yield connect
    context.destroy(0)


def come_and_go(push: PushSocket, times: int) -> None:
    """One receiver after another, each of which gets the one message that is sent while it is there."""
    with zmq.Context() as context:
        for number in range(times):
            with context.socket(zmq.PULL) as pull:
                pull.linger = 0
                pull.connect(push.endpoint)
                assert push.wait_peers(1, DEADLINE)
                while push.try_send([b"%d" % number]) is None:
                    assert push.wait_writable(DEADLINE)
                assert pull.poll(int(DEADLINE * 1000)), f"message {number} did not come"
                assert pull.recv() == b"%d" % number
            assert wait_for(push, lambda push: not push.peers)


def until_seen(stranger: socket.socket) -> None:
    """Wait until ZeroMQ has greeted a stranger, or has cut it off."""
    stranger.settimeout(DEADLINE)
    with contextlib.suppress(ConnectionResetError):
        stranger.recv(64)


def test_without_a_receiver_nothing_is_sent(push: PushSocket) -> None:
    assert push.try_send([b"header", b"blob"]) is None


def test_it_counts_its_receivers_as_they_come_and_go(push: PushSocket, connect: Connect) -> None:
    pulls = [connect() for _ in range(3)]
    assert len(push.peers) == 3
    pulls[1].close(0)
    assert wait_for(push, lambda push: len(push.peers) == 2)
    pulls[0].close(0)
    pulls[2].close(0)
    assert wait_for(push, lambda push: not push.peers)


def test_a_receiver_that_comes_back_at_once_gets_what_is_sent_then(push: PushSocket) -> None:
    """Not the connection of the one before, which ZeroMQ has not put away yet."""
    come_and_go(push, 50)


def test_it_knows_the_addresses_of_its_receivers(push: PushSocket, connect: Connect) -> None:
    pull = connect()
    port = push.endpoint.rpartition(":")[2]
    assert push.peers[0].startswith("127.0.0.1:")
    assert not push.peers[0].endswith(f":{port}"), "its own address is no receiver's"
    pull.close(0)


def test_a_probe_of_its_port_is_no_receiver_afterwards(push: PushSocket) -> None:
    with socket.create_connection(("127.0.0.1", int(push.endpoint.rpartition(":")[2]))) as probe:
        probe.sendall(b"GET / HTTP/1.0\r\n\r\n")
        until_seen(probe)
        assert push.peers == ()
        assert push.try_send([b"header"]) is None
    assert push.try_send([b"header"]) is None


@pytest.mark.parametrize("said", [b"", b"\n", b"GET / HTTP/1.0\r\n\r\n"], ids=["nothing", "newline", "http"])
def test_a_stranger_beside_a_receiver_takes_no_message(
    push: PushSocket, connect: Connect, said: bytes
) -> None:
    pull = connect()
    with socket.create_connection(("127.0.0.1", int(push.endpoint.rpartition(":")[2]))) as stranger:
        stranger.sendall(said)
        until_seen(stranger)
        for number in range(100):
            while push.try_send([b"%d" % number]) is None:
                assert push.wait_writable(DEADLINE)
            assert pull.poll(int(DEADLINE * 1000)), f"message {number} did not come"
            assert pull.recv() == b"%d" % number
    assert len(push.peers) == 1


def test_a_stranger_that_stays_hides_no_receiver_that_comes_back(push: PushSocket) -> None:
    with socket.create_connection(("127.0.0.1", int(push.endpoint.rpartition(":")[2]))):
        come_and_go(push, 30)


def closed(stranger: socket.socket) -> None:
    """One that leaves without a word."""
    stranger.close()


def refused(stranger: socket.socket) -> None:
    """One that speaks ZeroMQ, but is no PULL socket."""
    shake_hands(stranger, b"SUB")
    until_cut_off(stranger)


@pytest.mark.parametrize("leave", [closed, ask_for_a_page, refused])
def test_a_stranger_that_comes_within_a_receivers_handshake_does_not_take_its_place(
    push: PushSocket, leave: Callable[[socket.socket], None]
) -> None:
    with knock(push.endpoint) as receiver, knock(push.endpoint) as stranger:
        shake_hands(receiver)
        assert push.wait_peers(1, DEADLINE)
        (name,) = push.peers
        assert name == "{}:{}".format(*receiver.getsockname())
        with push.peers_changed:
            leave(stranger)
            assert push.peers_changed.wait(DEADLINE), "nobody has left"
        assert push.peers == (name,)
        assert push.try_send([b"frame"]) is not None
        message(receiver, b"frame")


def test_a_stranger_that_came_within_a_receivers_handshake_does_not_stand_in_for_it(push: PushSocket) -> None:
    with knock(push.endpoint) as receiver, knock(push.endpoint):
        shake_hands(receiver)
        assert push.wait_peers(1, DEADLINE)
        receiver.close()
        assert wait_for(push, lambda push: not push.peers)
        assert push.try_send([b"frame"]) is None
        come_and_go(push, 3)


def test_a_stranger_that_falls_silent_in_mid_handshake_is_cut_off_within_seconds(push: PushSocket) -> None:
    with knock(push.endpoint) as receiver, knock(push.endpoint) as stranger:
        stranger.sendall(GREETING + b"\x04")
        shake_hands(receiver)
        assert push.wait_peers(2, DEADLINE), "it has said more than a greeting"
        until_cut_off(stranger)
        assert wait_for(push, lambda push: push.peers == ("{}:{}".format(*receiver.getsockname()),))


def test_a_small_message_is_copied_so_its_memory_is_free_at_once(push: PushSocket, connect: Connect) -> None:
    connect()
    tracker = push.try_send([b"header", memoryview(np.zeros(1000, np.uint8))])
    assert tracker is not None
    assert tracker.done


def test_a_large_blob_is_not_copied_and_its_memory_is_free_once_it_has_left(
    push: PushSocket, connect: Connect
) -> None:
    pull = connect()
    # More than the kernel's buffers take, so that ZeroMQ must hold the last of them.
    blob = np.ones(2**24, np.uint8)
    trackers = [push.try_send([b"header", memoryview(blob)]) for _ in range(4)]
    assert not all(tracker is None or tracker.done for tracker in trackers)
    for _ in trackers:
        assert pull.poll(int(DEADLINE * 1000))
        assert pull.recv_multipart() == [b"header", blob.tobytes()]
    last = trackers[-1]
    assert isinstance(last, zmq.MessageTracker)
    last.wait(DEADLINE)


def test_the_high_water_mark_is_small_for_large_frames() -> None:
    assert default_hwm(2 * 2**20) == LARGE_HWM
    assert default_hwm(100 * 2**20) == LARGE_HWM
    assert default_hwm(20_000) == SMALL_HWM
    assert LARGE_HWM < default_hwm(500_000) < SMALL_HWM


def test_after_many_small_messages_larger_ones_are_sent(push: PushSocket, connect: Connect) -> None:
    pull = connect()
    blob = memoryview(np.zeros(COPY_BELOW, np.uint8))
    # ZeroMQ counts a message as read only after some hundred others, as many as its first mark says.
    for messages, parts in [(SMALL_HWM, [b"small"]), (LARGE_HWM, [b"large", blob])] * 2:
        push.limit(messages)
        for number in range(3 * LARGE_HWM):
            while push.try_send(parts) is None:
                assert push.wait_writable(DEADLINE), f"message {number} of {messages} has no room"
            assert pull.poll(int(DEADLINE * 1000))
            assert len(pull.recv_multipart()) == len(parts)


def test_no_more_large_messages_wait_than_its_limit(push: PushSocket, connect: Connect) -> None:
    pull = connect()
    blob = memoryview(np.zeros(2**24, np.uint8))  # more than the kernel's buffers take
    push.limit(3)
    trackers = []
    while (tracker := push.try_send([b"large", blob])) is not None:
        trackers.append(tracker)
    assert sum(not tracker.done for tracker in trackers) == 3
    assert not push.wait_writable(0.0)
    for _ in trackers:
        assert pull.poll(int(DEADLINE * 1000))
        pull.recv_multipart()
    assert push.wait_writable(DEADLINE)
    assert push.try_send([b"large", blob]) is not None


def test_the_limit_is_that_of_each_receiver(push: PushSocket, connect: Connect) -> None:
    for _ in range(2):
        connect()
    blob = memoryview(np.zeros(2**24, np.uint8))
    push.limit(3)
    trackers = []
    while (tracker := push.try_send([b"large", blob])) is not None:
        trackers.append(tracker)
    assert sum(not tracker.done for tracker in trackers) == 2 * 3


def test_an_address_in_use_is_refused_with_the_address(push: PushSocket) -> None:
    with pytest.raises(OSError, match=push.endpoint):
        PushSocket(push.endpoint)
