"""Writing of blobs to their offsets in a file: by the caller, or by threads behind a bounded queue.

The caller is the loop of the data process. `pwrite` releases the interpreter lock while it copies, and
threads share frames by reference, where processes would need copies.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from penstock.stins.messages import Buffer
from penstock.stins.texts import plural

LEAST_HANDED_BYTES = 2**18
"""Smallest blob handed to a thread. Below this size, handing it over takes as long as writing it."""


class WriteThreads:
    """A bounded queue and the threads that empty it; the caller writes blobs below `LEAST_HANDED_BYTES`, and
    every blob where it is the only writer.

    Args:
        descriptor: descriptor of the file; remains the caller's.
        number: configured number of writers; a single one is the caller, without threads.
        most_bytes: most bytes that may be queued or being written; a single larger frame is accepted.
    """

    def __init__(self, descriptor: int, number: int, most_bytes: int) -> None:
        self.waiting_bytes = 0
        self.lost: set[int] = set()
        """Indices of frames that were taken and could not be written."""
        self._descriptor = descriptor
        self._most_bytes = most_bytes
        self._queue: deque[tuple[int, Buffer, int]] = deque()
        self._changed = threading.Condition()
        self._error: OSError | None = None
        self._ended = False
        self._threads = [
            threading.Thread(target=self._run, name=f"writer {n + 1}", daemon=True)
            for n in range(number if number > 1 else 0)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, nbytes: int) -> None:
        """Wait until the queue has room for a blob of so many bytes, if it would be queued.

        Raises:
            OSError: an earlier frame, in `lost`, could not be written.
        """
        if nbytes < LEAST_HANDED_BYTES:
            return
        with self._changed:
            most = self._most_bytes - nbytes
            while self._error is None and self.waiting_bytes and self.waiting_bytes > most:
                self._changed.wait()
            if self._error is not None:
                raise self._error

    def put(self, index: int, blob: Buffer, offset: int) -> None:
        """Write the blob of a frame at this offset, or queue it; waits while the queue is full.

        Raises:
            OSError: an earlier frame, in `lost`, or this one could not be written; this one was not taken.
        """
        if not self._threads or len(blob) < LEAST_HANDED_BYTES:
            pwrite_all(self._descriptor, blob, offset)
            return
        self.wait(len(blob))
        with self._changed:
            self.waiting_bytes += len(blob)
            self._queue.append((index, blob, offset))
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until everything is written.

        Raises:
            OSError: a frame, in `lost`, could not be written.
        """
        with self._changed:
            while self.waiting_bytes:
                self._changed.wait()
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """End the threads once the queue is empty; may be called again."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._ended:
                    self._changed.wait()
                if not self._queue:
                    return
                index, blob, offset = self._queue.popleft()
                failed = self._error is not None
            error = None
            try:
                # After a failure nothing more is written: the series ends, and a disk that is full for one
                # frame but not for the next would leave unexpected gaps.
                if not failed:
                    pwrite_all(self._descriptor, blob, offset)
            except OSError as reason:
                failed, error = True, reason
            with self._changed:
                self.waiting_bytes -= len(blob)
                if failed:
                    self.lost.add(index)
                    self._error = self._error or error
                self._changed.notify_all()


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
