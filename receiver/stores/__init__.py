"""Frame stores: how the pixels of a series lie in its file, or files.

One file a store, behind the contract in `contract.py`. The writer (`receiver.writer`) has everything else:
the file's life, what a frame brings beside its pixels, the account.
"""

from __future__ import annotations

from typing import Any

from penstock.receiver.stores.chunked import ChunkedStore
from penstock.receiver.stores.contract import FrameFormat, FrameStore, cut

__all__ = ["FrameFormat", "FrameStore", "create", "cut"]


def create(detector: Any, frames: FrameFormat) -> FrameStore:
    """The store for frames of this format; when it returns, `data` is in the NXdetector group.

    Args:
        detector: NXdetector group of the open file.
        frames: what every frame looks like.

    Raises:
        OSError, RuntimeError, ValueError: a dataset cannot be created.
    """
    return ChunkedStore(detector, frames)
