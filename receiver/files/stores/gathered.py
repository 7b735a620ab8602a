"""Writing of small blobs: several that are adjacent in the file go there in one call.

On a disk, a call takes longer than copying a small frame.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator

from penstock.receiver.files.stores.write_threads import pwrite_all
from penstock.stins.messages import Buffer

MOST_FRAME_BYTES = 2**16
"""Largest frame that is gathered."""
GATHERED_FRAMES = 32
"""Most frames that are written in one call."""


class GatheredWrites:
    """Blobs that wait until enough adjacent ones have come, or until `drain`; one call then writes them all.

    Used by the loop alone, in place of `WriteThreads`, whose interface it has.

    Args:
        descriptor: descriptor of the file; remains the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        self.waiting_bytes = 0
        self.lost: set[int] = set()
        """Indices of frames that were taken and could not be written."""
        self._descriptor = descriptor
        self._blobs: list[Buffer] = []
        self._indices: list[int] = []
        self._start = self._end = 0
        """Where the waiting blobs belong."""

    def put(self, index: int, blob: Buffer, offset: int) -> None:
        """Take the blob of a frame that belongs at this offset.

        Raises:
            OSError: earlier frames, in `lost`, could not be written; this one was not taken.
        """
        if offset != self._end or len(self._blobs) >= GATHERED_FRAMES:
            self.drain()
        if not self._blobs:
            self._start = self._end = offset
        self._blobs.append(blob)
        self._indices.append(index)
        size = len(blob)
        self.waiting_bytes += size
        self._end += size

    def drain(self) -> None:
        """Write what waits.

        Raises:
            OSError: frames, in `lost`, could not be written.
        """
        if not self._blobs:
            return
        blobs, indices, self._blobs, self._indices = self._blobs, self._indices, [], []
        self.waiting_bytes = 0
        done = self._start
        try:
            done += os.pwritev(self._descriptor, blobs, done)
            for blob, end in zip(blobs, self._ends(blobs), strict=True):
                if end > done:  # the call has written less (write(2))
                    pwrite_all(self._descriptor, memoryview(blob)[done - end :], done)
                    done = end
        except OSError:
            self.lost.update(
                index for index, end in zip(indices, self._ends(blobs), strict=True) if end > done
            )
            raise

    def close(self) -> None:
        """Write what waits; what cannot be written is in `lost`. May be called again."""
        try:
            self.drain()
        except OSError:
            return

    def _ends(self, blobs: Iterable[Buffer]) -> Iterator[int]:
        """Return where each blob ends in the file."""
        ends = itertools.accumulate(map(len, blobs), initial=self._start)
        next(ends)
        return ends
