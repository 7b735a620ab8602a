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
from queue import SimpleQueue
from typing import TypeAlias

from penstock.receiver.files.stores.disk.blob_writes import pwritev_all
from penstock.stins.messages import Buffer

CALL_BYTES, CALL_BLOBS = 2**22, 256
"""Most bytes and blobs per call; a single larger blob is one call."""
BATCH_BYTES = 2 * CALL_BYTES
"""The thread is handed so many bytes at once, or what there is when the caller waits for it, as in a flush:
to wake it up takes the caller longer than to gather a frame, and then they hand the interpreter lock to and
fro. So it is woken up when the caller is about to wait, and needs that lock no more."""

Batch: TypeAlias = deque[tuple[int, Buffer, int]]
"""Frame, blob and offset, in the order in which they came."""


class WriteThread:
    """See `BlobWrites`; frames that wait are held by reference.

    Caller and thread share no lock, for which each would wait: batches go through a queue, and
    each counter is written by one of the two.

    Args:
        descriptor: descriptor of the file; remains the caller's.
        most_bytes: most bytes that may be waiting or being written; a single larger frame is accepted.
        before_wait: calls that the caller makes before it waits for messages or frames, and every few
            milliseconds of a long turn; this object adds its own. `None` if it makes none.
    """

    def __init__(
        self, descriptor: int, most_bytes: int, before_wait: list[Callable[[], None]] | None = None
    ) -> None:
        self.held_seconds = 0.0
        self.lost: set[int] = set()
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._batch_bytes = min(BATCH_BYTES, most_bytes // 2)
        self._gathered: Batch = deque()
        """What the thread was not handed yet."""
        self._taken_bytes = self._handed_bytes = self._done_bytes = 0
        """Bytes taken, handed to the thread, and no longer waiting; the last one is counted by the thread."""
        self._before_wait = before_wait
        self._is_due = False
        """True if there is a batch, which is handed over before the caller waits."""
        self._handed: SimpleQueue[Batch | None] = SimpleQueue()
        """Batches for the thread; `None` for its end."""
        self._is_awaited = False
        self._called: SimpleQueue[None] = SimpleQueue()
        """One entry for each call that has ended while the caller waited."""
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="frames of a part", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """Bytes taken and not written yet."""
        return self._taken_bytes - self._done_bytes

    def wait(self, nbytes: int) -> None:
        """Wait until the queue has room for so many bytes.

        Raises:
            OSError: an earlier frame, in `lost`, could not be written.
        """
        self._wait_for(max(0, self._most_bytes - nbytes))
        self._check()

    def put(self, frame: int, blob: Buffer, offset: int) -> None:
        """Take a blob; waits while the queue is full. See `BlobWrites`."""
        nbytes = len(blob)
        self._make_room(nbytes)
        self._gathered.append((frame, blob, offset))
        self._take(nbytes)

    def put_run(self, first: int, blobs: Sequence[Buffer], offsets: Sequence[int]) -> None:
        """Take blobs; waits while the queue is full. See `BlobWrites`."""
        nbytes = len(blobs) * len(blobs[0])
        self._make_room(nbytes)
        self._gathered.extend(zip(range(first, first + len(blobs)), blobs, offsets, strict=True))
        self._take(nbytes)

    def drain(self) -> None:
        """See `BlobWrites`."""
        self._wait_for(0)
        self._check()

    def close(self) -> None:
        """End the thread once everything is written; see `BlobWrites`."""
        self._hand_over()
        self._handed.put(None)
        self._thread.join()

    # -- the caller ------------------------------------------------------------------------------

    def _make_room(self, nbytes: int) -> None:
        if self._error is not None or self._taken_bytes - self._done_bytes + nbytes > self._most_bytes:
            self.wait(nbytes)

    def _take(self, nbytes: int) -> None:
        self._taken_bytes += nbytes
        if self._taken_bytes - self._handed_bytes >= self._batch_bytes:
            if self._before_wait is None:
                self._hand_over()
            elif not self._is_due:
                self._is_due = True
                self._before_wait.append(self._hand_over_batch)

    def _hand_over_batch(self) -> None:
        if self._is_due:
            self._hand_over()

    def _hand_over(self) -> None:
        self._is_due = False
        if self._gathered:
            batch, self._gathered = self._gathered, deque()
            self._handed_bytes = self._taken_bytes
            self._handed.put(batch)

    def _wait_for(self, most: int) -> None:
        """Wait until at most so many bytes wait."""
        if self.waiting_bytes <= most:
            return
        self._hand_over()
        for hand_over in self._before_wait or ():
            hand_over()
        began = time.monotonic()
        self._is_awaited = True  # before the look at what the thread has counted
        while self.waiting_bytes > most:
            self._called.get()
        self._is_awaited = False
        self.held_seconds += time.monotonic() - began

    def _check(self) -> None:
        if self._error is not None:
            raise OSError(*self._error.args)

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        # Where no core is free, to be woken up must not take the core from the loop (sched(7)).
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        while (batch := self._handed.get()) is not None:
            while batch:
                self._done_bytes += self._write(batch)
                if self._is_awaited:
                    self._called.put(None)
            del batch  # not held while the thread waits

    def _write(self, batch: Batch) -> int:
        """Write the beginning of a batch in one call, remove it from there, and return its bytes."""
        frames, blobs, offset, nbytes = _next(batch)
        written = 0
        try:
            # After a failure nothing more is written: the series ends, and a disk that is full for one
            # frame but not for the next would leave unexpected gaps.
            if self._error is None:
                for count in pwritev_all(self._descriptor, blobs, offset):
                    written += count
        except OSError as error:
            self._error = error
        self.lost.update(frames[written:])
        return nbytes


def _next(batch: Batch) -> tuple[list[int], list[Buffer], int, int]:
    """Remove from a batch what lies one behind the other in the file; return frames, blobs, offset, bytes."""
    frame, blob, offset = batch.popleft()
    frames, blobs, nbytes = [frame], [blob], len(blob)
    while batch and len(blobs) < CALL_BLOBS:
        frame, blob, place = batch[0]
        if place != offset + nbytes or nbytes + len(blob) > CALL_BYTES:
            break
        batch.popleft()
        frames.append(frame)
        blobs.append(blob)
        nbytes += len(blob)
    return frames, blobs, offset, nbytes
