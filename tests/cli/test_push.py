"""The socket that a recording is sent through."""

from __future__ import annotations

import zmq

from penstock.cli._recordings.push_socket import PushSocket
from penstock.stins.connections import HANDSHAKE_MS


def test_who_falls_silent_in_mid_handshake_is_cut_off_soon() -> None:
    with PushSocket("tcp://127.0.0.1:0") as push:
        assert push._socket.get(zmq.HANDSHAKE_IVL) == HANDSHAKE_MS <= 3000
