"""Writing of small blobs: several that are adjacent in the file go there in one call.

On a disk, a call takes longer than copying a small frame.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.receiver.files.stores.disk.blob_writes import pwritev_all
from penstock.stins.messages import Buffer

MOST_FRAME_BYTES = 2**16
"""Largest frame that is gathered."""
GATHERED_FRAMES = 32
"""Number of waiting frames at which they are written before the next one is taken."""


class GatheredWrites:
    """Blobs that wait until enough have come, or until `drain`; one call writes all that are adjacent.

    See `BlobWrites`.

    Args:
        descriptor: descriptor of the file; remains the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        self.waiting_bytes = 0
        self.held_seconds = 0.0
        self.lost: set[int] = set()
        """Indices of frames that were taken and could not be written."""
        self._descriptor = descriptor
        self._indices: list[int] = []
        self._parts: list[tuple[int, list[Buffer]]] = []
        """Offset in the file, and blobs, of each run of adjacent ones; all of them in the order of
        `_indices`."""
        self._end = -1
        """Offset in the file behind the last blob."""

    def put(self, index: int, blob: Buffer, offset: int) -> None:
        """Take the blob of a frame that belongs at this offset.

        Raises:
            OSError: earlier frames, in `lost`, could not be written; this one was not taken.
        """
        self.put_run(index, (blob,), (offset,))

    def put_run(self, first: int, blobs: Sequence[Buffer], offsets: Sequence[int]) -> None:
        """Take the blobs, of equal size, of consecutive frames.

        Raises:
            OSError: earlier frames, in `lost`, could not be written; none of these was taken.
        """
        if len(self._indices) >= GATHERED_FRAMES:
            self.drain()
        size = len(blobs[0])
        for blob, offset in zip(blobs, offsets, strict=True):
            if offset != self._end:
                self._parts.append((offset, []))
            self._parts[-1][1].append(blob)
            self._end = offset + size
        self._indices += range(first, first + len(blobs))
        self.waiting_bytes += size * len(blobs)

    def drain(self) -> None:
        """Write what waits.

        Raises:
            OSError: frames, in `lost`, could not be written.
        """
        if not self._indices:
            return
        parts, indices, self._parts, self._indices = self._parts, self._indices, [], []
        self._end, self.waiting_bytes = -1, 0
        written = 0
        try:
            for offset, blobs in parts:
                for count in pwritev_all(self._descriptor, blobs, offset):
                    written += count
        except OSError:
            self.lost.update(indices[written:])
            raise

    def close(self) -> None:
        """Write what waits; what cannot be written is in `lost`. May be called again."""
        try:
            self.drain()
        except OSError:
            return
