"""Writing of blobs to their offsets in a file: what a store needs for it; one by one, or many in a call."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from penstock.stins.messages import Buffer
from penstock.stins.texts import plural


class BlobWrites(Protocol):
    """Writes blobs of frames, at once or later; used by one thread, the loop of the data process."""

    held_seconds: float
    """Seconds for which callers have waited for a thread."""
    lost: set[int]
    """Frames that were taken and could not be written."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes taken and not written yet."""

    def put(self, frame: int, blob: Buffer, offset: int) -> None:
        """Take the blob of a frame that belongs at this offset.

        Raises:
            OSError: earlier frames, in `lost`, or this one could not be written; this one was not taken.
        """

    def put_run(self, first: int, blobs: Sequence[Buffer], offsets: Sequence[int]) -> None:
        """Take the blobs, of equal size, of consecutive frames.

        Raises:
            OSError: earlier frames, in `lost`, could not be written; none of these was taken.
        """

    def drain(self) -> None:
        """Return once everything is written.

        Raises:
            OSError: a frame, in `lost`, could not be written.
        """

    def close(self) -> None:
        """Write what waits; what cannot be written is in `lost`. May be called again."""


class DirectWrites:
    """Every blob is written at once.

    Args:
        descriptor: descriptor of the file; remains the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        self.waiting_bytes = 0
        self.held_seconds = 0.0
        self.lost: set[int] = set()
        self._descriptor = descriptor

    def put(self, frame: int, blob: Buffer, offset: int) -> None:
        """See `BlobWrites`."""
        pwrite_all(self._descriptor, blob, offset)

    def put_run(self, first: int, blobs: Sequence[Buffer], offsets: Sequence[int]) -> None:
        """See `BlobWrites`."""
        for blob, offset in zip(blobs, offsets, strict=True):
            pwrite_all(self._descriptor, blob, offset)

    def drain(self) -> None:
        """See `BlobWrites`: nothing waits."""

    def close(self) -> None:
        """See `BlobWrites`: nothing waits."""


def pwrite_all(descriptor: int, blob: Buffer, offset: int) -> None:
    """Write a whole blob: a single call writes at most 2 GiB, and may write less (write(2)).

    Raises:
        OSError: the blob could not be written, or only in part.
    """
    written = os.pwrite(descriptor, blob, offset)
    while written < len(blob):
        more = os.pwrite(descriptor, memoryview(blob)[written:], offset + written)
        if more == 0:
            raise OSError(f"only {written} of {plural(len(blob), 'byte')} could be written")
        written += more


def pwritev_all(descriptor: int, blobs: Sequence[Buffer], offset: int) -> Iterator[int]:
    """Write blobs one behind the other; yield after each call how many more are written.

    Raises:
        OSError: the next blob could not be written, or only in part.
    """
    done = offset + os.pwritev(descriptor, blobs, offset)
    ends = [*itertools.accumulate(map(len, blobs), initial=offset)][1:]
    yield sum(end <= done for end in ends)
    for blob, end in zip(blobs, ends, strict=True):
        if end > done:  # the call has written less (write(2))
            pwrite_all(descriptor, memoryview(blob)[done - end :], done)
            done = end
            yield 1


MOST_FRAME_BYTES = 2**16
"""Largest frame that is gathered."""
GATHERED_FRAMES = 32
"""Number of waiting frames at which they are written before the next one is taken."""


class GatheredWrites:
    """Blobs that wait until enough have come, or until `drain`; one call writes all that are adjacent.

    On a disk, a call takes longer than copying a small frame. See `BlobWrites`.

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
