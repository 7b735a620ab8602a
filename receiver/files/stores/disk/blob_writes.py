"""Writing of blobs to their offsets in a file: what a store needs for it, and the simplest way."""

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
