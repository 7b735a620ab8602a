"""Frame stores: how the pixels of a series are laid out in its file, or files.

One module per store, behind the contract in `contract.py`. Everything else is the writer's
(`receiver.files.writer`): the life of the file, the values per frame, the account.
"""

from __future__ import annotations

import logging
from typing import Any

from penstock.receiver.files.stores.channels import ChannelStore
from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.errors import OverLimitError
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.preallocated import PreallocatedStore, has_places
from penstock.receiver.files.stores.reopen import finish
from penstock.receiver.files.stores.segments.store import SegmentStore

__all__ = ["FrameFormat", "FrameStore", "OverLimitError", "Writing", "create", "finish"]

log = logging.getLogger(__name__)


def create(detector: Any, frames: FrameFormat, writing: Writing) -> FrameStore:
    """Create the store for frames of this format, and `data` in the NXdetector group.

    Args:
        detector: NXdetector group of the open file.
        frames: format of the frames.
        writing: how frames are written.

    Raises:
        OSError, RuntimeError, ValueError: a dataset cannot be created.
    """
    if frames.is_split:
        _say_without_effect(frames, writing)
    if frames.channels:
        return ChannelStore(detector, frames)
    if writing.frames_per_file and writing.path is not None and not frames.is_split:
        return SegmentStore(detector, frames, writing.path, writing)
    placed = has_places(detector, frames, writing)
    if writing.files > 1 and writing.path is not None and not frames.is_split:
        return PartsStore(detector, frames, writing.path, writing, placed=placed)
    if placed:
        return PreallocatedStore(detector, frames, writing)
    return ChunkedStore(detector, frames, writing=writing)


def _say_without_effect(frames: FrameFormat, writing: Writing) -> None:
    """Warn of keys without effect: only the start of a series tells that a frame has several images."""
    keys = {"files": writing.files > 1, "frames_per_file": writing.frames_per_file > 0}
    if without := [key for key, is_set in keys.items() if is_set]:
        what = f"channels ({', '.join(frames.channels)})" if frames.channels else "images"
        log.warning(
            "each frame has %d %s: the receiver's loop writes them into one file, %s has no effect",
            frames.shape[0], what, " and ".join(without),
        )  # fmt: skip
