"""Frame stores: how the pixels of a series are laid out in its file, or files.

One module per store, behind the contract in `contract.py`. Everything else is the writer's
(`receiver.files.writer`): the life of the file, the values per frame, the account.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from penstock.receiver.files.limit import most_bytes
from penstock.receiver.files.stores.channels import ChannelStore
from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk_file import descriptor_of
from penstock.receiver.files.stores.errors import OverLimitError
from penstock.receiver.files.stores.preallocated import PreallocatedStore
from penstock.receiver.files.stores.reopen import finish
from penstock.receiver.files.stores.segments.store import SegmentStore

__all__ = ["FrameFormat", "FrameStore", "OverLimitError", "Writing", "create", "finish"]

log = logging.getLogger(__name__)

LEAST_PREALLOCATED_BYTES = 2**12
"""Smallest frame. Below this size, pages shared by two frames cost as much as HDF5."""
MOST_PREALLOCATED = 2**18
"""Most frames of a series. HDF5 lists the offsets of all frames at each step: a microsecond each."""


def create(detector: Any, frames: FrameFormat, writing: Writing) -> FrameStore:
    """Create the store for frames of this format, and `data` in the NXdetector group.

    Args:
        detector: NXdetector group of the open file.
        frames: format of the frames.
        writing: configuration of the writers.

    Raises:
        OSError, RuntimeError, ValueError: a dataset cannot be created.
    """
    if frames.is_split:
        _say_without_effect(frames, writing)
    if frames.channels:
        return ChannelStore(detector, frames)
    if writing.frames_per_file and writing.path is not None and not frames.is_split:
        return SegmentStore(detector, frames, writing.path, writing)
    # Not with SWMR, for which HDF5 keeps its writes in order.
    if frames.nbytes >= LEAST_PREALLOCATED_BYTES and not writing.swmr and _has_places(detector, frames):
        return PreallocatedStore(detector, frames, writing)
    return ChunkedStore(detector, frames, writing=writing)


def _say_without_effect(frames: FrameFormat, writing: Writing) -> None:
    """Warn of keys without effect: only the start of a series tells that a frame has several images."""
    keys = {"writers": writing.writers > 1, "frames_per_file": writing.frames_per_file > 0}
    if without := [key for key, is_set in keys.items() if is_set]:
        what = f"channels ({', '.join(frames.channels)})" if frames.channels else "images"
        log.warning(
            "each frame has %d %s: the receiver's loop writes them into one file, %s has no effect",
            frames.shape[0], what, " and ".join(without),
        )  # fmt: skip


def _has_places(detector: Any, frames: FrameFormat) -> bool:
    """Return whether the offset of each frame can be known ahead, and the disk has space for all frames.

    Without space, the failure would show only at the end, when missing frames are filled.
    """
    planned = frames.planned
    if frames.compression != "none" or frames.is_split:
        return False
    if planned is None:
        return most_bytes() is None  # places beyond the limit of a file cannot be had, whatever arrives
    if not 0 < planned <= MOST_PREALLOCATED:
        return False
    disk = os.fstatvfs(descriptor_of(detector.file))
    return frames.nbytes * planned <= disk.f_bavail * disk.f_frsize
