"""The part of a series that has a frame, and the row there: frames are dealt in blocks, by their index.

A frame's place follows from its index alone. So there is no table to write or to recover, and late and
repeated frames find their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

BLOCK_BYTES = 2**23
"""Bytes of a block, unless a single frame has more: what waits for a part is twice that, and should still be
in the processor's cache when it is written."""


@dataclass(frozen=True)
class Dealing:
    """How the frames of one series are dealt."""

    files: int
    """Number of parts."""
    block: int
    """Frames in a row that go to one part."""

    @classmethod
    def of(cls, files: int, frame_bytes: int) -> Dealing:
        """Return how frames of so many bytes are dealt to so many parts."""
        return cls(files, max(1, BLOCK_BYTES // max(frame_bytes, 1)))

    def place(self, index: int) -> tuple[int, int]:
        """Return the part, counted from 0, of the frame at this index, and its row there."""
        block, within = divmod(index, self.block)
        turn, part = divmod(block, self.files)
        return part, turn * self.block + within

    def index(self, part: int, row: int) -> int:
        """Return the index of the frame in this row of a part."""
        turn, within = divmod(row, self.block)
        return (turn * self.files + part) * self.block + within

    def rows(self, part: int, length: int) -> int:
        """Return how many of the first `length` frames belong to a part; they are its first rows."""
        turns, rest = divmod(length, self.block * self.files)
        return turns * self.block + min(max(rest - part * self.block, 0), self.block)

    def indices(self, part: int, length: int) -> np.ndarray[Any, Any]:
        """Return which of the first `length` frames belong to a part: int64, in the order of its rows."""
        turn, within = np.divmod(np.arange(self.rows(part, length), dtype=np.int64), self.block)
        found: np.ndarray[Any, Any] = (turn * self.files + part) * self.block + within
        return found
