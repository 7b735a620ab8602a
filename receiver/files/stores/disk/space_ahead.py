"""A thread that allocates a file's space ahead of the loop that writes there.

On a RAM disk, allocating the pages takes as long as writing them. The thread stays only a little ahead: what
it has zeroed is still in the processor's cache when it is written. While it holds the lock of the inode
nobody else can write, so it allocates in small blocks. Where no core is free for it, the loop is faster
without: a write allocates what it needs, and zeroes nothing (`has_core`).
"""

from __future__ import annotations

import math
import os
import threading

from penstock.receiver.config import cores
from penstock.receiver.files.stores.allocation import BLOCK_BYTES, allocate_block

AHEAD_BYTES = 2**24
"""How far it stays ahead of the loop, or `AHEAD_FRAMES` if those are more."""
AHEAD_FRAMES = 3

NICE = 10
"""Priority of the thread below that of the loop; see nice(1)."""


def has_core(files: int = 1) -> bool:
    """Return whether this process may use a core that is free for the thread, and for those of other files.

    Args:
        files: number of files in which a series is written; of several each has a thread that writes, too.
    """
    return cores.usable() >= cores.needed(files)


class SpaceAhead:
    """Allocation of one range of a file, ahead of what is written there in about the order of its places.

    Where the file system is full or cannot allocate, it ends, and the later write says why.

    Args:
        descriptor: descriptor of the file; remains the caller's.
        start: first byte.
        end: end of the last one.
        frame_bytes: size of a frame.
    """

    def __init__(self, descriptor: int, start: int, end: int, frame_bytes: int) -> None:
        self.reached = start
        """Offset of the frame written last; set by the loop for every frame."""
        self.wake_at: float = math.inf
        """Offset from which on the loop has to call `wake`."""
        self._descriptor = os.dup(descriptor)
        self._at, self._end = start, end
        self._ahead = max(AHEAD_BYTES, AHEAD_FRAMES * frame_bytes)
        self._due = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="space ahead", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Let the thread go on."""
        self.wake_at = math.inf
        self._due.set()

    def close(self) -> None:
        """End the thread; may be called again."""
        self._closed = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        # Where no core is free it only takes time from those who receive and write.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            while self._at < self._end and not self._closed:
                self._at = max(self._at, self.reached)
                if self._at - self.reached >= self._ahead:
                    self._wait()
                    continue
                size = min(BLOCK_BYTES, self._end - self._at)
                if size > 0 and not allocate_block(self._descriptor, self._at, size):
                    return
                self._at += size
        finally:
            os.close(self._descriptor)

    def _wait(self) -> None:
        """Wait until the loop has used up half of the space ahead of it."""
        self._due.clear()
        self.wake_at = self._at - self._ahead / 2
        # It may have passed this offset before it could know it, and not write again for long.
        if not self._closed and self.reached < self.wake_at:
            self._due.wait()
