"""Parts of received messages that are kept for a while."""

from __future__ import annotations

from penstock.stins.messages import Buffer

BATCH = 8192
"""libzmq reads messages that are smaller than this into memory of so many bytes, and shares it among them
(`in_batch_size` in src/options.cpp of libzmq 4.3.5)."""


def kept(part: Buffer) -> Buffer:
    """Return a part that may be kept with many others: a small one as a copy.

    A small part as it was received keeps the memory of the whole batch, which is more than twice as long as
    the messages in it (`shared_message_memory_allocator`, src/decoder_allocators.cpp).
    """
    return bytes(part) if len(part) < BATCH else part
