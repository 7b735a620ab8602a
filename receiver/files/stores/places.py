"""Known places of the one file of a series, as a process writes to them: by pwrite, without HDF5."""

from __future__ import annotations

import os

from penstock.receiver.files.stores.write_threads import pwrite_all


class Places:
    """A `writer_program.Target`.

    Args:
        descriptor: of the file; stays the caller's. With it comes a lock that all who write hold together, so
            that nobody takes the file for left behind while one of them is at it; see `write_processes`.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)

    def write(self, place: int, blob: memoryview, mask: int) -> None:
        """Write the blob of a frame at this offset."""
        pwrite_all(self._descriptor, blob, place)

    def where(self, place: int) -> tuple[int, int, int]:
        """Nobody asks: the data process knows the places itself."""
        raise ValueError("places are known to who has given them")

    def flush(self) -> None:
        """Nothing: the kernel has it."""

    def close(self, rows: int | None, *, failed: bool) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
