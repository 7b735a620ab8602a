"""The data process' own queues: what may wait in each, and which of them is the fullest.

ZeroMQ's queues are not among them: nobody can ask how much is in them.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.processing.prefetch import BYTES
from penstock.receiver.regions.threads import BYTES as REGION_BYTES


def limits(config: ReceiverConfig) -> dict[str, int]:
    """Bytes that may wait, by queue; those that the configuration has no use for are left out."""
    source = config.source
    found = {}
    if source.sockets * len(source.endpoints) > 1:
        found["held"] = int(config.hold_mb * 1e6)
    if config.transforms and config.workers > 1:
        found["transforms"] = BYTES
    if config.writers > 1:
        found["writers"] = int(config.write_queue_mb * 1e6)
    if config.rois:
        found["rois"] = REGION_BYTES
    return found


def fullest(waiting: Mapping[str, int], config: ReceiverConfig) -> tuple[int, int]:
    """Bytes in the fullest queue, and what it may hold: it is the one that stops the stream when it is full.
    0 and 0 where there is none.

    Args:
        waiting: bytes by queue.
        config: of the receiver.
    """
    found = [(waiting[name], limit) for name, limit in limits(config).items()]
    return max(found, key=lambda each: each[0] / each[1], default=(0, 0))
