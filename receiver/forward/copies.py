"""Threads that copy large frames into the memory which is shared with a consumer.

The loop takes the slots, in the order of the frames; a reference may be sent once its frame is copied. Nobody
may free a slot before that, so whoever takes all slots back waits for the copies first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from penstock.receiver.config import cores
from penstock.receiver.forward.shared import SharedSlots
from penstock.stins.messages import Buffer

LEAST_BYTES = 2**18
"""Smallest frame that is copied by a thread: to hand over a smaller one takes as long as to copy it."""
MOST_BYTES = 64_000_000
"""Most bytes that are being copied or wait for it; a single larger frame is accepted."""
THREADS = 4
"""Most threads; one copies some 5 GB/s."""


class Copies:
    """The copies into the memory of one consumer.

    Args:
        memory: the memory.
    """

    def __init__(self, memory: SharedSlots) -> None:
        self._memory = memory
        self._pool: ThreadPoolExecutor | None = None
        self._running: deque[tuple[Future[None], int]] = deque()
        """Copies that may not be done, and their bytes, the oldest first."""
        self._nbytes = 0

    def begin(self, slot: int, header: bytes, blobs: Sequence[Buffer], nbytes: int) -> Future[None]:
        """Let a thread copy a frame into a slot that is taken for it; wait while too much is being copied."""
        running = self._running
        while running and (running[0][0].done() or self._nbytes + nbytes > MOST_BYTES):
            self._wait_for_oldest()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(min(THREADS, cores.usable()), "copy for a consumer")
        copy = self._pool.submit(self._memory.copy, slot, header, blobs)
        running.append((copy, nbytes))
        self._nbytes += nbytes
        return copy

    def wait(self) -> None:
        """Return once everything is copied."""
        while self._running:
            self._wait_for_oldest()

    def close(self) -> None:
        """End the threads, once everything is copied."""
        if self._pool is not None:
            self._pool.shutdown()

    def _wait_for_oldest(self) -> None:
        copy, nbytes = self._running.popleft()
        self._nbytes -= nbytes
        copy.result()
