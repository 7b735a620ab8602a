"""A process that writes frames, seen from the data process: it gets each in one copy.

A frame is copied into shared memory, and a message says where it lies and where it goes; messages
are batched. What it writes, a data file of its own or places of the one file, is said when a series begins.
A process that dies is noticed when its end of the socket closes. One that somebody has stopped is noticed
when it is waited for, and ended: it would hold everything up, and write one day into a file that is closed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
from collections.abc import Sequence
from typing import NoReturn

import msgspec
import numpy as np

from penstock.receiver.files.stores.child_process import LOOK_SECONDS, ChildProcess
from penstock.receiver.files.stores.errors import WriterDiedError
from penstock.receiver.files.stores.messages import (
    BLOBS,
    ENTRY,
    Answer,
    Begin,
    BlobFailed,
    Command,
    Done,
    Failed,
    Finish,
    Flush,
    OpenDataFile,
    OpenPlaces,
    Report,
    Where,
)
from penstock.receiver.files.stores.shared_memory import SharedMemory
from penstock.stins.messages import Buffer

log = logging.getLogger(__name__)

PROGRAM = "penstock.receiver.files.stores.writer_program"
BATCH_BLOBS = 64
BATCH_BYTES = 2**22
"""A message goes out when so many blobs, or so many bytes, wait to be told of, or the memory is full: to wake
a process costs as much as to write 100 kB. What waits for a message is told of at the next flush."""
HOT_BYTES = 2 * BATCH_BYTES
"""When more waits, the process is given a moment first: what is read soon after it was copied is in the
processor's cache still, which is a tenth of what a frame of 2 MB costs."""
PATIENCE_MS = 20
"""That moment, anew for each frame as long as something is written in it. So more memory is used only where
nothing is: the file system stands still, and memory is for that. A writer that is just slower than the stream
holds it back."""
STOPPED_LOOKS = 4
"""A process that is waited for, and is stopped at so many looks in a row, is ended. Not at the first: after
a terminal's Ctrl-Z all processes of the receiver go on, but not all in the same moment."""


class WriterStoppedError(WriterDiedError):
    """Somebody has stopped a process that writes frames; it was ended."""


class WriterNotBegunError(WriterDiedError):
    """No process could be brought to begin a series; the sentence says what to do."""


class WriterProcess:
    """One process, started at once, and the memory that is shared with it.

    Args:
        number: of the process, from 1; stands in errors.
        memory: bytes that may wait; made larger where two frames have more.
    """

    def __init__(self, number: int, memory: int) -> None:
        self.number = number
        self.lost: set[int] = set()
        """Frames of this series that were taken and are not in the file."""
        self._memory = SharedMemory(f"penstock-writer-{number}", memory)
        self._kept_when_done = False
        self._patient = True
        self._failure: OSError | None = None
        self._forget()
        self._start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can still be told something."""
        return self._child.is_alive

    @property
    def memory(self) -> int:
        """Bytes that may wait."""
        return len(self._memory)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not written yet."""
        return self._memory.waiting_bytes

    def begin(self, target: OpenDataFile | OpenPlaces, descriptor: int, frame_bytes: int) -> None:
        """Begin a series; another process takes the place of one that has died, or is stopped.

        Args:
            target: what is written.
            descriptor: that goes with it.
            frame_bytes: of a frame, uncompressed.

        Raises:
            FileExistsError: there is a file of that name.
            OSError: it cannot be created.
        """
        if self._child.is_stopped:
            self._replace(f"writer process {self.number} was stopped (SIGSTOP)")
        elif not self.is_alive:
            self._replace(f"writer process {self.number} {self._child.fate()}")
        try:
            self._begin(target, descriptor, frame_bytes)
        except WriterDiedError as error:
            self._replace(str(error))
            if isinstance(target, OpenDataFile):
                with contextlib.suppress(OSError):  # there was none before: it is what the process has left
                    os.unlink(target.name, dir_fd=descriptor)
            try:
                self._begin(target, descriptor, frame_bytes)
            except WriterDiedError as again:
                raise WriterNotBegunError(
                    f"{again} as the series began, and the one before it did no better; look into the "
                    "receiver's log and the kernel's (dmesg) whether memory was short, or somebody ended or "
                    "stopped it"
                ) from again

    def _begin(self, target: OpenDataFile | OpenPlaces, descriptor: int, frame_bytes: int) -> None:
        self._forget()
        # The kernel has what pwrite was given, but HDF5 keeps its index until it is flushed.
        self._kept_when_done = isinstance(target, OpenPlaces)
        # What does not shrink when it is packed gets longer: 12 bytes, and one in 255 at most.
        self._memory.fit(frame_bytes + frame_bytes // 255 + 4096)
        self._send(Begin(target, len(self._memory)), descriptor)
        self._answer()

    def put(self, index: int, place: int, blob: Buffer, mask: int = 0) -> None:
        """Take a frame in; waits while the memory is full.

        Args:
            index: of the frame.
            place: where it goes; see `messages.ENTRY`.
            blob: its pixels.
            mask: of the filters that it has not passed.

        Raises:
            OSError: an earlier frame could not be written, or the process is dead; this one is not taken.
            ValueError: it is larger than the memory.
        """
        self._hear(wait=False)
        self._raise_failure()
        if self._patient and self._memory.waiting_bytes > max(HOT_BYTES, 2 * len(blob)):
            self._patient = bool(self._readable.poll(PATIENCE_MS))
            self._hear(wait=False)
            self._raise_failure()
        while (start := self._memory.put(index, blob)) is None:
            self._tell_batch()
            self._hear(wait=True)
            self._raise_failure()
        self._batch.append((place, start, len(blob), mask))
        self._batch_bytes += len(blob)
        self._unsafe.add(index)
        if len(self._batch) >= BATCH_BLOBS or self._batch_bytes >= BATCH_BYTES:
            self._tell_batch()

    def begin_flush(self) -> None:
        """Ask for what was put to be handed to the kernel; `end_flush` waits for it.

        Raises:
            OSError: the process is dead.
        """
        self._hear(wait=False)
        if self._unsafe:
            self._tell_batch()
            self._send(Flush())

    def end_flush(self) -> None:
        """Return when it is with the kernel.

        Raises:
            OSError: not all of it is; the rest is in `lost`.
        """
        if self._unanswered:
            self._answer()
            self._unsafe.clear()
        self._raise_failure()

    def where(self, row: int) -> tuple[int, int, int]:
        """Offset, bytes and filter mask of the blob of a row, in the data file.

        Raises:
            OSError: the process cannot tell.
        """
        self._tell_batch()
        self._send(Where(row))
        return self._answer().place

    def finish(self, rows: int | None = None) -> None:
        """End the series: everything is written, and the file closed.

        Args:
            rows: to which the dataset of a data file is cut.

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
        self._unsafe.clear()
        self._raise_failure()

    def close(self) -> None:
        """End the process, and give the memory back."""
        self._child.close()
        self._memory.close()

    # -- the process ---------------------------------------------------------------------------

    def _start(self) -> None:
        self._child = ChildProcess(PROGRAM, self._memory.descriptor)
        self._channel = self._child.channel
        self._readable = select.poll()
        self._readable.register(self._channel, select.POLLIN)
        self._unanswered = 0

    def _replace(self, what: str) -> None:
        log.warning("%s before there was anything to write; another one takes its place", what)
        self._child.close()
        self._start()

    def _died(self) -> NoReturn:
        self._gone(WriterDiedError(f"writer process {self.number} {self._child.fate()}"))

    def _look_whether_stopped(self) -> None:
        """Nothing has come for `LOOK_SECONDS`: it may be slow, but if it is stopped it is ended."""
        looks = 1
        while self._child.is_stopped:
            if looks == STOPPED_LOOKS:
                self._child.kill()
                what = f"was stopped (SIGSTOP) and was ended after {looks * LOOK_SECONDS:g} s"
                self._gone(WriterStoppedError(f"writer process {self.number} {what}"))
            if self._readable.poll(LOOK_SECONDS * 1000):
                return
            looks += 1

    def _gone(self, failure: WriterDiedError) -> NoReturn:
        self._lose()
        if not isinstance(self._failure, WriterDiedError):
            self._failure = failure
        raise self._failure

    # -- the frames ----------------------------------------------------------------------------

    def _forget(self) -> None:
        self._drop_waiting()
        self._patient = True
        self._unsafe: set[int] = set()  # frames that would go with the process if it died now
        self._failure = None
        self.lost = set()

    def _drop_waiting(self) -> None:
        self._memory.clear()
        self._batch: list[tuple[int, int, int, int]] = []
        self._batch_bytes = 0

    def _lose(self) -> None:
        """What it had not made safe went with it."""
        self.lost |= self._unsafe
        self._unsafe.clear()
        self._drop_waiting()

    def _tell_batch(self) -> None:
        if self._batch:
            message = BLOBS + np.array(self._batch, ENTRY).tobytes()
            self._batch, self._batch_bytes = [], 0
            self._send_bytes(message)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # -- the socket ----------------------------------------------------------------------------

    def _send(self, command: Command, descriptor: int | None = None) -> None:
        self._send_bytes(msgspec.json.encode(command), [] if descriptor is None else [descriptor])
        self._unanswered += 1

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
        """The answer to the command that was sent last; earlier ones may wait since somebody else failed."""
        while True:
            report = self._hear(wait=True)
            if self._unanswered == 0:
                if isinstance(report, Answer):
                    return report
                if isinstance(report, Failed):
                    raise _error(report)

    def _hear(self, *, wait: bool) -> Report | None:
        """Take in what has come; with `wait`, one report. Returns the last.

        Raises:
            OSError: the process is dead, or was stopped and is dead by now.
        """
        report: Report | None = None
        while report is None or not wait:
            try:
                message = self._channel.recv(2**16, 0 if wait else socket.MSG_DONTWAIT)
            except BlockingIOError:
                if not wait:
                    break
                self._look_whether_stopped()
                continue
            except ConnectionError:
                message = b""
            if not message:
                self._died()
            report = msgspec.json.decode(message, type=Report)
            if isinstance(report, Done):
                self._patient = True
                # Those of a series that failed are not waited for any more.
                for _ in range(report.blobs):
                    if not self._memory:
                        break
                    index = self._memory.pop()
                    if self._kept_when_done:
                        self._unsafe.discard(index)
            elif isinstance(report, BlobFailed):
                unwritten = self._memory.indices
                self.lost |= unwritten
                self._unsafe -= unwritten
                self._drop_waiting()
                self._failure = _error(report)
            else:
                self._unanswered -= 1
        return report


def _error(report: BlobFailed | Failed) -> OSError:
    return OSError(report.message) if report.errno is None else OSError(report.errno, report.message)
