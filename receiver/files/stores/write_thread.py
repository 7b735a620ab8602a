"""A thread that writes the frames of one file, behind a bounded queue.

`pwrite` releases the interpreter lock while it copies, and a thread shares frames by reference. Whatever lies
one behind the other in the file goes there in one call: the fewer calls, the fewer hand-overs of the
interpreter lock between this thread and the loop.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from penstock.receiver.files.stores.blob_writes import pwritev_all
from penstock.stins.messages import Buffer

CALL_BYTES, CALL_BLOBS = 2**22, 256
"""Most bytes and blobs per call; a single larger blob is one call."""
WAKE_BYTES = CALL_BYTES
"""The thread sleeps until so many bytes wait, or the caller waits for it, as in each flush: to wake it up
takes the caller longer than to queue a frame, and then they hand the interpreter lock to and fro."""


class WriteThread:
    """See `BlobWrites`; frames that wait are held by reference.

    Args:
        descriptor: descriptor of the file; remains the caller's.
        most_bytes: most bytes that may be queued or being written; a single larger frame is accepted.
    """

    def __init__(self, descriptor: int, most_bytes: int) -> None:
        self.waiting_bytes = 0
        self.held_seconds = 0.0
        self.lost: set[int] = set()
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._wake_at = min(WAKE_BYTES, most_bytes)
        self._queue: deque[tuple[int, Buffer, int]] = deque()
        self._lock = threading.Lock()
        self._come = threading.Condition(self._lock)
        """Something is queued, or the thread shall end."""
        self._written = threading.Condition(self._lock)
        """Something is no longer queued."""
        self._sleeps = self._held = False
        """Whether the thread waits for frames, and whether the caller waits for room."""
        self._error: OSError | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="frames of a part", daemon=True)
        self._thread.start()

    def wait(self, nbytes: int) -> None:
        """Wait until the queue has room for so many bytes.

        Raises:
            OSError: an earlier frame, in `lost`, could not be written.
        """
        with self._lock:
            self._make_room(nbytes)

    def put(self, frame: int, blob: Buffer, offset: int) -> None:
        """Queue a blob; waits while the queue is full. See `BlobWrites`."""
        nbytes = len(blob)
        with self._lock:
            if self._error is not None or self.waiting_bytes + nbytes > self._most_bytes:
                self._make_room(nbytes)
            self._queue.append((frame, blob, offset))
            self._add(nbytes)

    def put_run(self, first: int, blobs: Sequence[Buffer], offsets: Sequence[int]) -> None:
        """Queue blobs; waits while the queue is full. See `BlobWrites`."""
        nbytes = sum(map(len, blobs))
        with self._lock:
            self._make_room(nbytes)
            self._queue.extend(zip(range(first, first + len(blobs)), blobs, offsets, strict=True))
            self._add(nbytes)

    def drain(self) -> None:
        """See `BlobWrites`."""
        with self._lock:
            self._wait_for(lambda: not self.waiting_bytes)
            self._check()

    def close(self) -> None:
        """End the thread once the queue is empty; see `BlobWrites`."""
        with self._lock:
            self._ended = True
            self._come.notify()
        self._thread.join()

    # -- with the lock ---------------------------------------------------------------------------

    def _make_room(self, nbytes: int) -> None:
        most = max(0, self._most_bytes - nbytes)
        if self.waiting_bytes > most:
            self._wait_for(lambda: self._error is not None or self.waiting_bytes <= most)
        self._check()

    def _wait_for(self, done: Callable[[], bool]) -> None:
        if done():
            return
        began = time.monotonic()
        self._held = True
        self._come.notify()
        self._written.wait_for(done)
        self._held = False
        self.held_seconds += time.monotonic() - began

    def _add(self, nbytes: int) -> None:
        self.waiting_bytes += nbytes
        if self._sleeps and self.waiting_bytes >= self._wake_at:
            self._sleeps = False
            self._come.notify()

    def _check(self) -> None:
        if self._error is not None:
            raise OSError(*self._error.args)

    def _has_work(self) -> bool:
        return self._ended or (bool(self._queue) and (self._held or self.waiting_bytes >= self._wake_at))

    def _next(self) -> list[tuple[int, Buffer, int]]:
        """Return what the next call writes; nothing if the thread shall end."""
        while not self._has_work():
            self._sleeps = True
            self._come.wait()
        self._sleeps = False
        batch: list[tuple[int, Buffer, int]] = []
        end, nbytes = -1, 0
        while self._queue and len(batch) < CALL_BLOBS:
            _, blob, offset = self._queue[0]
            nbytes += len(blob)
            if batch and (offset != end or nbytes > CALL_BYTES):
                break
            batch.append(self._queue.popleft())
            end = offset + len(blob)
        return batch

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        # Where no core is free, to be woken up must not take the core from the loop (sched(7)).
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        done, error = 0, None
        lost: tuple[int, ...] = ()
        while True:
            with self._lock:
                self.waiting_bytes -= done
                self.lost.update(lost)
                self._error = self._error or error
                if self._held:
                    self._written.notify()
                batch = self._next()
                failed = self._error is not None
            if not batch:
                return
            frames, blobs, offsets = zip(*batch, strict=True)
            done, error, written = sum(map(len, blobs)), None, 0
            try:
                # After a failure nothing more is written: the series ends, and a disk that is full for one
                # frame but not for the next would leave unexpected gaps.
                if not failed:
                    for count in pwritev_all(self._descriptor, blobs, offsets[0]):
                        written += count
            except OSError as reason:
                error = reason
            lost = frames[written:]
            del batch, blobs  # not held while the thread waits
