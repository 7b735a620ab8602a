"""The data process' own queues: their limits, and which is the fullest.

ZeroMQ's queues are not among them, since ZeroMQ does not tell how full they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.regions.threads import BYTES as REGION_BYTES
from penstock.receiver.transforms.prefetch import BYTES


def limits(config: ReceiverConfig, of_files: int) -> dict[str, int]:
    """Return the limit of each queue in use, in bytes.

    Args:
        config: configuration of the receiver.
        of_files: limit of the frames that wait for the threads of several files; 0 without them.
    """
    source = config.source
    found = {}
    if source.sockets * len(source.endpoints) > 1:
        found["held"] = int(config.hold_mb * 1e6)
    if config.transforms and config.workers > 1:
        found["transforms"] = BYTES
    if of_files:
        found["files"] = of_files
    if config.rois:
        found["rois"] = REGION_BYTES
    return found


def fullest(waiting: Mapping[str, int], config: ReceiverConfig, of_files: int) -> tuple[int, int]:
    """Return bytes and limit of the fullest queue, which stops the stream when full; 0 and 0 without queues.

    Args:
        waiting: bytes by queue.
        config: configuration of the receiver.
        of_files: see `limits`.
    """
    found = [(waiting[name], limit) for name, limit in limits(config, of_files).items()]
    return max(found, key=lambda each: each[0] / each[1], default=(0, 0))
