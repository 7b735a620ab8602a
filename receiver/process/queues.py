"""The data process' own queues: their limits, and which is the fullest.

ZeroMQ's queues are not among them, since ZeroMQ does not tell how full they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.regions.threads import BYTES as REGION_BYTES
from penstock.receiver.transforms.prefetch import BYTES


def limits(config: ReceiverConfig) -> dict[str, int]:
    """Return the limit of each queue in use, in bytes."""
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
    """Return bytes and limit of the fullest queue, which stops the stream when full; 0 and 0 without queues.

    Args:
        waiting: bytes by queue.
        config: configuration of the receiver.
    """
    found = [(waiting[name], limit) for name, limit in limits(config).items()]
    return max(found, key=lambda each: each[0] / each[1], default=(0, 0))
