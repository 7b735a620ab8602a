"""The layout of the memory that a receiver shares, and its references."""

from __future__ import annotations

import pytest

from penstock.stins import shared
from penstock.stins.errors import RemoteError
from penstock.stins.shared import Layout, Reference, References


@pytest.mark.parametrize(("nbytes", "frame_bytes"), [(64_000_000, 20_000), (10**6, 1), (10**6, 991_000)])
def test_slots_fill_the_memory_and_do_not_overlap(nbytes: int, frame_bytes: int) -> None:
    layout = Layout.within(nbytes, frame_bytes)

    assert layout.slots >= 1 and layout.nbytes <= nbytes
    assert layout.first >= shared.PAGE + layout.slots
    assert layout.place(0) == layout.first and layout.slot_bytes >= frame_bytes
    assert layout.place(layout.slots - 1) + layout.slot_bytes <= nbytes
    assert Layout(layout.slots + 1, layout.slot_bytes).nbytes > nbytes - shared.PAGE


def test_memory_for_not_even_one_frame_has_no_slot() -> None:
    assert Layout.within(100_000, 200_000).slots == 0
    with pytest.raises(IndexError, match="there is no slot 0"):
        Layout(0, 64).place(0)


def test_references_are_told_from_other_messages_by_their_first_part() -> None:
    message, references = References(msg_number=3, series="s"), [Reference(5, 1, 90, (10, 20))]
    parts = shared.encode(message, references)

    assert shared.is_references(parts[0]) and not shared.is_references(b'{"htype":"image"}')
    assert shared.decode(parts) == (message, references)
    with pytest.raises(RemoteError, match="cannot be decoded"):
        shared.decode(parts[:1])


def test_memory_of_somebody_else_is_refused() -> None:
    nonce = bytes(range(16))
    assert shared.nonce_in(shared.head(nonce)) == nonce
    for page in (b"", bytes(100), shared.head(nonce).replace(b"\x01\x00\x00\x00", b"\x09\x00\x00\x00", 1)):
        with pytest.raises(RemoteError, match="no memory shared by a receiver|version"):
            shared.nonce_in(page)
