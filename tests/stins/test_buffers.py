"""Parts of received messages that are kept."""

from __future__ import annotations

import zmq

from penstock.stins.messages import BATCH, kept


def test_small_parts_are_copied_and_let_the_received_message_go() -> None:
    part = zmq.Frame(b"abc").buffer
    found = kept(part)
    assert found == part and isinstance(found, bytes)


def test_large_parts_stay_where_they_are() -> None:
    part = memoryview(bytes(BATCH))
    assert kept(part) is part
