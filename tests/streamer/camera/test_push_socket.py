"""The socket through which frames and recordings are sent."""

from __future__ import annotations

from contextlib import closing

import zmq

from penstock.stins.connections import HANDSHAKE_MS
from penstock.streamer.camera.push_socket import PushSocket


def test_who_falls_silent_in_mid_handshake_is_cut_off_soon() -> None:
    with closing(PushSocket("tcp://127.0.0.1:0")) as push:
        assert push._socket.get(zmq.HANDSHAKE_IVL) == HANDSHAKE_MS <= 3000
