"""What the writer asks of a frame store, and what stores share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.stins.messages import Frame

COMPRESSED = "bslz4"
"""The one compression that HDF5 has a filter for, by hdf5plugin; everything else is stored plain."""


@dataclass(frozen=True)
class FrameFormat:
    """What every frame of a series looks like."""

    shape: tuple[int, ...]
    """(rows, cols), or (k, rows, cols) with k blobs a frame."""
    dtype: str
    compression: str
    planned: int | None
    """Frames announced; `None` where nobody said."""
    channels: tuple[str, ...] = ()
    """Names of the datasets of the k blobs, where each is an image of its own; else none."""

    @property
    def nbytes(self) -> int:
        """Of a frame, uncompressed."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Writing:
    """Who writes, as it is configured."""

    writers: int = 1
    queue_bytes: int = 2**28
    """What waits for several writers, at most; any one frame is taken."""
    path: Path | None = None
    """File of the series, for data files beside it."""
    space_seconds: float = 0.05
    """For which a series may wait for space that is set aside ahead of its frames."""
    overwrite: bool = False
    """Whether files that are there may be replaced."""
    replace_empty: bool = False
    """Whether those may be that hold no frame: a process that was killed had begun them."""
    frames_per_file: int = 0
    """Frames of a segment; 0: no segments."""
    swmr: bool = False
    """Whether others may read the one file while it grows (HDF5's single writer, multiple readers)."""
    late_seconds: float = 2.0
    """A segment waits so long for its late frames."""


class FrameStore(ABC):
    """Where frames go by their index, in any order; by default a store that writes them at once.

    Every dataset that has a place for each frame has an unlimited first dimension and stands in the
    NXdetector group, and no other dataset there has: so `reopen.finish` finds them after a writer was killed.

    Methods raise OSError, RuntimeError or ValueError; the writer makes a sentence of it. After one has
    raised, only `lost`, `finish` and `close` are called, and what was written before must stay readable.
    """

    data: Any
    """Dataset `data` of the NXdetector group, which every program opens: (frames, *shape), or what a store
    that splits frames up shows instead. The writer links to it and describes it."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the frames that were taken and are not written yet."""
        return 0

    @abstractmethod
    def write(self, index: int, frame: Frame) -> None:
        """Store the blobs of a frame for which there is room (`grow`)."""

    @abstractmethod
    def read(self, index: int) -> Frame:
        """A stored frame, its blobs as they were received: nothing is unpacked. Only shape, type,
        compression and frame number stand in its image header."""

    def grow(self, rows: int) -> None:
        """Frames below `rows` may come now: never fewer than before. Where room is dear, a store may make
        it in steps of its own."""

    def flush(self) -> None:
        """All that was taken is with the kernel when the writer has flushed its own file next."""

    def lost(self) -> Collection[int]:
        """After a failure: frames that `write` had taken and that could not be written."""
        return ()

    @abstractmethod
    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """The series has ended: cut to the length of `statuses` (uint8, `FrameStatus`, one an index), and
        make what is not stored there read as the fill value. The writer closes its file next."""

    def close(self, *, synced: bool) -> None:
        """Let go of everything the store has opened beside the writer's file; again, it does nothing.

        Args:
            synced: return only when it is on the disk.
        """
