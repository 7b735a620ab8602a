"""Who writes the blobs of frames to their places in a file: the caller, or threads behind a bounded queue.

The caller is the data process' loop. `pwrite` releases the interpreter lock while it copies, and a frame
reaches a thread by reference, where another process would need a copy of it.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from penstock.stins.messages import Buffer
from penstock.stins.texts import plural

LEAST_HANDED_BYTES = 2**18
"""Of a blob. Below, handing it to a thread costs as much as writing it."""


class WriteThreads:
    """A bounded queue and the threads that empty it; the caller writes blobs below `LEAST_HANDED_BYTES`, and
    every blob where it is the only writer.

    Args:
        descriptor: of the file; stays the caller's.
        number: of writers, as configured; one is the caller, without a thread.
        most_bytes: bytes that may be queued or being written; a single larger frame is accepted.
    """

    def __init__(self, descriptor: int, number: int, most_bytes: int) -> None:
        self.waiting_bytes = 0
        self.lost: set[int] = set()
        """Frames that were taken and could not be written."""
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
        """Return when there is room in the queue for a blob of so many bytes, if it goes there.

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
        """Let the blob of a frame be written at this offset; waits while too much is queued.

        Raises:
            OSError: an earlier frame, in `lost`, could not be written, or this one; it was not taken.
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
        """Return when everything is written.

        Raises:
            OSError: a frame, in `lost`, could not be.
        """
        with self._changed:
            while self.waiting_bytes:
                self._changed.wait()
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """End the threads once the queue is empty; calling it again does nothing."""
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
                # After a failure the rest is not tried: the series ends, and a disk that is full for one
                # frame but not for the next would leave holes that nobody expects.
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
    """Write all of it: a call may write less, at most 2 GiB (write(2)).

    Raises:
        OSError: it could not be written, or not all of it.
    """
    written = os.pwrite(descriptor, blob, offset)
    while written < len(blob):
        more = os.pwrite(descriptor, memoryview(blob)[written:], offset + written)
        if more == 0:
            raise OSError(f"only {written} of {plural(len(blob), 'byte')} could be written")
        written += more
