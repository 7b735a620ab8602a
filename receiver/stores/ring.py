"""Memory that is shared with a process that writes: blobs lie in it from when they are taken until they are
written, in the order in which they came.
"""

from __future__ import annotations

import mmap
import os
from collections import deque

from penstock.stins.messages import Buffer


class Ring:
    """The memory, and which blobs are in it.

    Args:
        name: of the memory, as the kernel shows it.
        least: bytes; made larger where two blobs have more.
    """

    def __init__(self, name: str, least: int) -> None:
        self.descriptor = os.memfd_create(name)
        self.waiting_bytes = 0
        """Of blobs that are not written yet."""
        self._least = least
        self._blobs: deque[tuple[int, int, int]] = deque()  # index, start, end
        self._view = memoryview(b"")
        self.fit(0)

    def __len__(self) -> int:
        """Bytes that can be used."""
        return len(self._view)

    def __bool__(self) -> bool:
        """Whether a blob waits."""
        return bool(self._blobs)

    @property
    def indices(self) -> set[int]:
        """Of the frames that wait."""
        return {index for index, _, _ in self._blobs}

    def fit(self, largest: int) -> None:
        """Forget everything, and have room for two blobs of so many bytes."""
        self.clear()
        size = max(self._least, 2 * largest, mmap.PAGESIZE)
        if size != len(self._view):
            os.ftruncate(self.descriptor, size)
            self._view = memoryview(mmap.mmap(self.descriptor, size))

    def put(self, index: int, blob: Buffer) -> int | None:
        """Copy a blob to where there is room; returns where it begins, or `None` where there is none yet.

        Raises:
            ValueError: it is larger than the ring.
        """
        size = len(blob)
        if size > len(self._view):
            raise ValueError(f"a blob of {size} bytes is larger than any frame of this series can be")
        start = self._room(size)
        if start is not None:
            self._view[start : start + size] = blob
            self._blobs.append((index, start, start + size))
            self.waiting_bytes += size
        return start

    def _room(self, size: int) -> int | None:
        if not self._blobs:
            return 0  # memory that was just used is in the processor's cache
        (_, first, _), (_, last, end) = self._blobs[0], self._blobs[-1]
        if last < first:
            return end if end + size <= first else None
        if end + size <= len(self._view):  # a blob lies in one piece
            return end
        return 0 if size <= first else None

    def pop(self) -> int:
        """The oldest blob is written: its memory is free. Returns its index."""
        index, start, end = self._blobs.popleft()
        self.waiting_bytes -= end - start
        return index

    def clear(self) -> None:
        """Nothing waits any more."""
        self._blobs.clear()
        self.waiting_bytes = 0

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.descriptor)
