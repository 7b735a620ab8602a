"""The program of a process that writes frames; see `writer_process`.

Frames lie in shared memory; what to do with them comes over a socket. When the socket ends, the data process
has died: this one ends at once, and what it has written stays.

Started by `WriterProcess`, never by hand:
python -m penstock.receiver.files.stores.writer_program SOCKET_FD MEMORY_FD
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import sys
from typing import Protocol

import msgspec
import numpy as np

from penstock.receiver.files.stores.data_file import DataFile
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
from penstock.receiver.files.stores.places import Places

MAX_MESSAGE = 2**17


class Target(Protocol):
    """Where the frames of a series go. Methods raise OSError, RuntimeError or ValueError."""

    def write(self, place: int, blob: memoryview, mask: int) -> None:
        """Write one blob."""

    def where(self, place: int) -> tuple[int, int, int]:
        """Offset, bytes and filter mask of a blob that is written."""

    def flush(self) -> None:
        """Hand everything to the kernel."""

    def close(self, rows: int | None, *, failed: bool) -> None:
        """Let go of the file.

        Args:
            rows: to which its dataset is cut; `None` to leave it as it is.
            failed: a blob could not be written.
        """


class WriterProgram:
    """What is written now, and the one side of the socket.

    Args:
        channel: to the data process.
        memory: descriptor of the memory shared with it.
    """

    def __init__(self, channel: socket.socket, memory: int) -> None:
        self._channel = channel
        self._hung_up = select.poll()
        self._hung_up.register(channel, 0)  # tells of nothing else
        self._memory = memory
        self._view = memoryview(b"")
        self._target: Target | None = None
        self._failed = False

    def run(self) -> None:
        """Until the data process is gone."""
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE, 1)
            except ConnectionError:
                message, descriptors = b"", []
            # What a dead process has left to do is not done: nothing may touch the file any more, it is
            # marked as interrupted now, or gone on with.
            if not message or self._hung_up.poll(0):
                os._exit(0)
            if message[:1] == BLOBS:
                self._write(np.frombuffer(message, ENTRY, offset=1).tolist())
                continue
            try:
                answer = self._obey(msgspec.json.decode(message, type=Command), descriptors)
            except (OSError, RuntimeError, ValueError) as error:
                self._tell(Failed(str(error), getattr(error, "errno", None)))
            else:
                self._tell(answer)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _obey(self, command: Command, descriptors: list[int]) -> Answer:
        match command:
            case Begin():
                self._begin(command, descriptors[0])
            case Flush():
                assert self._target is not None
                self._target.flush()
            case Where(row):
                assert self._target is not None
                return Answer(self._target.where(row))
            case Finish(rows):
                self._close(rows)
        return Answer()

    def _begin(self, command: Begin, descriptor: int) -> None:
        self._close(None)
        if len(self._view) != command.memory:
            self._view = memoryview(mmap.mmap(self._memory, command.memory))
        self._failed = False
        match command.target:
            case OpenDataFile():
                self._target = DataFile(command.target, descriptor)
            case OpenPlaces():
                self._target = Places(descriptor)

    def _write(self, entries: list[tuple[int, int, int, int]]) -> None:
        for number, (place, start, size, mask) in enumerate(entries):
            # After a failure the rest is not tried: the series ends, and a disk that is full for one frame
            # but not for the next would leave holes that nobody expects.
            if self._failed:
                return
            try:
                assert self._target is not None
                self._target.write(place, self._view[start : start + size], mask)
            except (OSError, RuntimeError, ValueError) as error:
                self._failed = True
                self._tell(Done(number))
                self._tell(BlobFailed(str(error), getattr(error, "errno", None)))
                return
        self._tell(Done(len(entries)))

    def _close(self, rows: int | None) -> None:
        target, self._target = self._target, None
        if target is not None:
            target.close(rows, failed=self._failed)

    def _tell(self, report: Report) -> None:
        try:
            self._channel.send(msgspec.json.encode(report))
        except ConnectionError:
            os._exit(0)


def main() -> None:
    """Entry of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C: the data process says what to do
    WriterProgram(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])).run()


if __name__ == "__main__":
    main()
