"""The socket through which frames and recordings are sent."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing

import zmq

from penstock.stins.connections import HANDSHAKE_MS
from penstock.streamer.camera.push_socket import COPY_BELOW, PushSocket

DEADLINE = 30.0
DEAF = """
import signal, sys, zmq

context, sockets = zmq.Context(), []
for _ in range(2):
    sockets.append(context.socket(zmq.PULL))
    sockets[-1].rcvhwm = 1
    sockets[-1].connect(sys.argv[1])
signal.pause()
"""
"""Two sockets of a receiver that reads nothing."""


def test_who_falls_silent_in_mid_handshake_is_cut_off_soon() -> None:
    with closing(PushSocket("tcp://127.0.0.1:0")) as push:
        assert push._socket.get(zmq.HANDSHAKE_IVL) == HANDSHAKE_MS <= 3000


def test_what_a_dead_receiver_has_not_taken_does_not_keep_the_next_one_from_its_frames() -> None:
    blob = bytes(2**20)
    assert len(blob) >= COPY_BELOW, "it is sent without a copy"
    with closing(PushSocket("tcp://127.0.0.1:0", linger=0.0)) as push:
        push.limit(8)
        with subprocess.Popen([sys.executable, "-c", DEAF, push.endpoint]) as receiver:
            assert push.wait_peers(2, DEADLINE)
            while push.try_send([b"frame", blob]) or push.wait_writable(0.5):
                pass
            receiver.kill()
        with push.peers_changed:
            assert push.peers_changed.wait_for(lambda: not push.peers, DEADLINE)
        with zmq.Context() as context, context.socket(zmq.PULL) as pull:
            pull.connect(push.endpoint)
            assert push.wait_peers(1, DEADLINE)
            end = time.monotonic() + DEADLINE
            while push.try_send([b"next", blob]) is None:
                assert time.monotonic() < end, "the next receiver gets nothing"
                push.wait_writable(0.1)
            assert pull.poll(int(DEADLINE * 1000)) and pull.recv_multipart()[0] == b"next"
