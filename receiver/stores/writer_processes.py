"""The processes that write data files, seen from the data process: each gets its frames in one copy.

A frame is copied into a ring of shared memory, and a message says where it lies; messages are batched. A
process that dies is noticed when its end of the socket closes.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from typing import NoReturn

import msgspec
import numpy as np

from penstock.receiver.stores.contract import COMPRESSED, FrameFormat
from penstock.receiver.stores.messages import (
    BLOBS,
    ENTRY,
    Answer,
    BlobFailed,
    Command,
    Done,
    Failed,
    Finish,
    Flush,
    Open,
    Report,
    Where,
)  # fmt: skip
from penstock.stins.messages import Buffer

BATCH_BLOBS = 64
BATCH_BYTES = 2**22
"""A message goes out when so many blobs, or so many bytes, wait to be told of, or the ring is full: to wake a
process costs as much as to write 100 kB. What waits for a message is told of at the next flush."""
END_SECONDS = 5.0


class WriterProcess:
    """One process, started at once, and the ring of memory that is shared with it.

    Args:
        number: of the process, from 1; stands in errors.
        memory: bytes of the ring; made larger where two frames have more.
    """

    def __init__(self, number: int, memory: int) -> None:
        self.number = number
        self.lost: set[int] = set()
        """Frames of this series that were taken and are not in the file."""
        self._descriptor = os.memfd_create(f"penstock-writer-{number}")
        self._least = memory
        self._map(memory)
        self._begin()
        self._start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def memory(self) -> int:
        """Bytes of the ring."""
        return self._size

    @property
    def waiting_bytes(self) -> int:
        """Bytes in the ring that are not written yet."""
        return self._head - self._tail

    def open(self, folder: int, name: str, frames: FrameFormat) -> None:
        """Create the file of a series; starts the process again where it has died.

        Args:
            folder: descriptor of its folder.
            name: of the file in it; must not exist.
            frames: what every frame looks like.

        Raises:
            FileExistsError: there is such a file.
            OSError: it cannot be created.
        """
        if self._process.poll() is not None:
            self._end()
            self._start()
        self._begin()
        # What does not shrink gets longer: 12 bytes, and one in 255 at most.
        self._map(max(self._least, 2 * (frames.nbytes + frames.nbytes // 255 + 4096)))
        compressed = frames.compression == COMPRESSED
        self._send(Open(name, frames.shape, frames.dtype, compressed, self._size), folder)
        self._answer()

    def put(self, index: int, row: int, blob: Buffer, mask: int) -> None:
        """Take a frame in; waits while the ring is full.

        Raises:
            OSError: an earlier frame could not be written, or the process is dead; this one is not taken.
            ValueError: it is larger than the ring.
        """
        self._hear(wait=False)
        self._raise_failure()
        size = len(blob)
        start = self._room(size)
        self._view[start : start + size] = blob
        self._batch.append((row, start, size, mask))
        self._batch_bytes += size
        self._outstanding.append((index, self._head))
        self._unflushed.add(index)
        if len(self._batch) >= BATCH_BLOBS or self._batch_bytes >= BATCH_BYTES:
            self._tell_batch()

    def begin_flush(self) -> None:
        """Ask for what was put to be handed to the kernel; `end_flush` waits for it.

        Raises:
            OSError: the process is dead.
        """
        self._hear(wait=False)
        if self._unflushed:
            self._tell_batch()
            self._send(Flush())
            self._flushing = True

    def end_flush(self) -> None:
        """Return when it is with the kernel.

        Raises:
            OSError: not all of it is; the rest is in `lost`.
        """
        if self._flushing:
            self._flushing = False
            self._answer()
            self._unflushed.clear()
        self._raise_failure()

    def where(self, row: int) -> tuple[int, int, int]:
        """Offset, bytes and filter mask of the blob of a row, in the file.

        Raises:
            OSError: the process cannot tell.
        """
        self._tell_batch()
        self._send(Where(row))
        return self._answer().place

    def finish(self, rows: int) -> None:
        """Cut the dataset to so many rows, and close the file.

        Raises:
            OSError: not everything could be written; the rest is in `lost`.
        """
        self._tell_batch()
        self._send(Finish(rows))
        try:
            self._answer()
        except OSError:
            self._lose()
            raise
        self._unflushed.clear()
        self._raise_failure()

    def close(self) -> None:
        """End the process, and give the memory back."""
        self._end()
        os.close(self._descriptor)

    # -- the process ---------------------------------------------------------------------------

    def _end(self) -> None:
        self._channel.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # -- the ring ------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._head = self._tail = 0
        self._batch: list[tuple[int, int, int, int]] = []
        self._batch_bytes = 0
        self._outstanding: deque[tuple[int, int]] = deque()  # index, and where its blob ends
        self._unflushed: set[int] = set()
        self._flushing = False
        self._failure: OSError | None = None
        self.lost = set()

    def _map(self, size: int) -> None:
        if size == getattr(self, "_size", 0):
            return
        os.ftruncate(self._descriptor, size)
        self._size = size
        self._view = memoryview(mmap.mmap(self._descriptor, size))

    def _room(self, size: int) -> int:
        """Where a blob of this size goes; waits until it is free."""
        if size > self._size:
            raise ValueError(f"a blob of {size} bytes is larger than any frame of this series can be")
        if not self._outstanding:
            self._head = self._tail = 0  # memory that was just used is in the processor's cache
        left = self._size - self._head % self._size
        skipped = left if left < size else 0  # a blob lies in one piece
        while self._head + skipped + size - self._tail > self._size:
            if not self._outstanding:  # then neither half has to be large enough
                self._head = self._tail = skipped = 0
                break
            self._tell_batch()
            self._hear(wait=True)
            self._raise_failure()
        self._head += skipped + size
        return (self._head - size) % self._size

    def _tell_batch(self) -> None:
        if self._batch:
            message = BLOBS + np.array(self._batch, ENTRY).tobytes()
            self._batch, self._batch_bytes = [], 0
            self._send_bytes(message)

    # -- the socket ----------------------------------------------------------------------------

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptors = (theirs.fileno(), self._descriptor)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock.receiver.stores.data_file", *map(str, descriptors)],
                pass_fds=descriptors, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._channel = ours

    def _send(self, command: Command, descriptor: int | None = None) -> None:
        self._send_bytes(msgspec.json.encode(command), [] if descriptor is None else [descriptor])

    def _send_bytes(self, message: bytes, descriptors: Sequence[int] = ()) -> None:
        while True:
            try:
                socket.send_fds(self._channel, [message], list(descriptors), socket.MSG_DONTWAIT)
                return
            except BlockingIOError:
                # Never wait to be heard by somebody who may wait for the same.
                self._hear(wait=True)
            except ConnectionError:
                self._died()

    def _answer(self) -> Answer:
        """The answer to the command that was sent last."""
        while True:
            report = self._hear(wait=True)
            if isinstance(report, Answer):
                return report
            if isinstance(report, Failed):
                raise _error(report)

    def _hear(self, *, wait: bool) -> Report | None:
        """Take in what has come; with `wait`, one report. Returns the last.

        Raises:
            OSError: the process is dead.
        """
        report: Report | None = None
        while report is None or not wait:
            try:
                message = self._channel.recv(2**16, 0 if wait else socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except ConnectionError:
                message = b""
            if not message:
                self._died()
            report = msgspec.json.decode(message, type=Report)
            if isinstance(report, Done):
                # Those of a series that failed are not waited for any more.
                for _ in range(min(report.blobs, len(self._outstanding))):
                    _, self._tail = self._outstanding.popleft()
            elif isinstance(report, BlobFailed):
                unwritten = {index for index, _ in self._outstanding}
                self.lost |= unwritten
                self._unflushed -= unwritten
                self._forget_ring()
                self._failure = _error(report)
        return report

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _died(self) -> NoReturn:
        code = self._process.wait()
        self._lose()
        how = f"was killed by {signal.Signals(-code).name} ({code})" if code < 0 else f"has ended with {code}"
        self._failure = OSError(f"writer process {self.number} {how}; see the log")
        raise self._failure

    def _lose(self) -> None:
        """What it had not flushed went with it."""
        self.lost |= self._unflushed
        self._unflushed.clear()
        self._forget_ring()

    def _forget_ring(self) -> None:
        self._outstanding.clear()
        self._batch, self._batch_bytes = [], 0
        self._tail = self._head


def _error(report: BlobFailed | Failed) -> OSError:
    return OSError(report.message) if report.errno is None else OSError(report.errno, report.message)
