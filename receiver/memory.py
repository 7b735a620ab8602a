"""How much memory the data process of a receiver may take: from its configuration and the size of a frame.

Each queue is bounded by itself, ZeroMQ's in messages and the others in bytes; here they are added up, and
compared with the budget `memory_mb`. The high-water mark cannot follow the frames: libzmq takes it at the
connect. So what would not fit is refused at the check, with the mark that would.

The HTTP process is not on the path of the frames and not in the budget: it takes about three frames, plain,
for each answer that is under way.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.forwarder import IN_SOCKET
from penstock.receiver.transforms.ahead import BYTES, FRAMES_PER_THREAD
from penstock.stins.blobs import blob_layout
from penstock.stins.errors import BlobError
from penstock.stins.messages import Header

log = logging.getLogger(__name__)

BASE = 160_000_000
"""Python, its libraries, HDF5's caches, and what comes with a series of ten million frames; 71 MB at rest."""
MESSAGE = 1_000
"""Bytes of a message beside its blobs: header, and libzmq's own."""
IN_HAND = 2
"""Messages of a socket that are in no queue: one is being read from the network, one is given out."""
SLACK = 1.1
"""Freed memory is kept for the next frame, and not all of it fits that."""


def parts(config: ReceiverConfig, frame_bytes: int, plain_bytes: int) -> dict[str, int]:
    """Upper bounds in bytes, by what takes them; the names say which keys of the configuration they hang on.

    Args:
        config: of the receiver.
        frame_bytes: of one frame, as it is sent.
        plain_bytes: of one frame, unpacked.
    """
    source = config.source
    endpoints = len(source.endpoints)
    sockets = endpoints * source.sockets
    message = (frame_bytes // endpoints if source.join else frame_bytes) + MESSAGE
    found = {
        "Python and its libraries": BASE,
        "ZeroMQ's queues (source.high_water_mark, source.sockets)": (
            sockets * (source.high_water_mark + IN_HAND) * message
        ),
        # Under way through the loop, handed over for the live view, being copied; and two copies.
        "frames at work and for the live view": 5 * frame_bytes,
    }
    if sockets > 1:
        found["frames ahead of their header (hold_mb)"] = int(config.hold_mb * 1e6)
    if config.transforms:
        each = frame_bytes + plain_bytes
        waiting = min(BYTES, config.workers * FRAMES_PER_THREAD * each) if config.workers > 1 else 0
        found["transforms (workers)"] = waiting + each
    if config.writers > 1:
        # The ring of each holds two frames at least, and packed ones may be a little larger than plain.
        queue = max(int(config.write_queue_mb * 1e6), 2 * config.writers * plain_bytes)
        found["several writers (writers, write_queue_mb)"] = queue
    if config.forward:
        queues = sum(int(consumer.queue_mb * 1e6) for consumer in config.forward)
        found["consumers (forward, queue_mb)"] = queues + len(config.forward) * (IN_SOCKET + 1) * frame_bytes
    return found


def bound(found: Mapping[str, int]) -> int:
    """The sum, with what the allocator cannot use again."""
    return math.ceil(SLACK * sum(found.values()))


def objection(
    name: str, config: ReceiverConfig, frame_bytes: int, plain_bytes: int | None = None
) -> str | None:
    """Why frames of this size do not fit into the budget, and what to change; `None` where they do."""
    plain = frame_bytes if plain_bytes is None else plain_bytes
    found = parts(config, frame_bytes, plain)
    total, budget = bound(found), config.memory_mb * 1e6
    if total <= budget:
        return None
    greatest = max(found, key=lambda part: found[part])
    return (
        f"frames of {frame_bytes / 1e6:.3g} MB may take up to {total / 1e6:,.0f} MB of memory in receiver "
        f"{name}, {found[greatest] / 1e6:,.0f} MB of it {greatest}; "
        f"its memory_mb allows {config.memory_mb:,.0f}. "
        f"{_remedy(config, found, frame_bytes, budget)}"
    )


def announced(name: str, config: ReceiverConfig, header: Header) -> int | None:
    """The bound for a series that begins; `None` where its start message has no size.

    Over the budget it is taken all the same, and the log says so: nobody asked before, and frames that come
    are worth more than a bound that may never be reached.
    """
    try:
        count, each = blob_layout(header.shape or (), header.type or "")
        plain = count * each
    except BlobError:
        plain = header.frame_bytes or 0
    sent = header.frame_bytes or plain
    if not sent:
        return None
    if over := objection(name, config, sent, plain):
        log.warning("%s", over)
    return bound(parts(config, sent, plain))


def _remedy(config: ReceiverConfig, found: Mapping[str, int], frame_bytes: int, budget: float) -> str:
    """The high-water mark that would fit, if there is one."""
    queues = next(value for part, value in found.items() if part.startswith("ZeroMQ"))
    one = queues // (config.source.high_water_mark + IN_HAND)
    fits = int((budget / SLACK - (sum(found.values()) - queues)) // one) - IN_HAND
    if fits >= 1:
        return f"Set source.high_water_mark to {fits} or less, or raise memory_mb"
    return "Raise memory_mb, or lower hold_mb, queue_mb of the consumers, source.sockets"
