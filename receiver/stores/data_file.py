"""The process that writes one data file of a series after another; see `writer_processes`.

Frames lie in shared memory; what to do with them, and with the file, comes over a socket. When the socket
ends, the data process has died: this one ends at once, and what it has flushed stays.

Started by `WriterProcess`, never by hand: python -m penstock.receiver.stores.data_file SOCKET_FD MEMORY_FD
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

import h5py
import hdf5plugin
import msgspec
import numpy as np

from penstock.receiver.stores.contract import fill_value
from penstock.receiver.stores.messages import (
    BLOBS,
    DATASET,
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
from penstock.receiver.stores.side_file import SideFile
from penstock.receiver.stores.superblock import put_end_ahead

ROWS_PER_STEP = 1024
MAX_MESSAGE = 2**17


class DataFile:
    """The file that is written now, and the one side of the socket.

    Args:
        channel: to the data process.
        memory: descriptor of the memory shared with it.
    """

    def __init__(self, channel: socket.socket, memory: int) -> None:
        self._channel = channel
        self._memory_fd = memory
        self._memory: mmap.mmap | None = None
        self._view = memoryview(b"")
        self._file: h5py.File | None = None
        self._failed = False
        self._rows = 0
        self._write_chunk: Any = None

    def run(self) -> None:
        """Until the data process is gone."""
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE, 1)
            except ConnectionError:
                message, descriptors = b"", []
            if not message:
                os._exit(0)  # nothing may touch the file any more: it is marked as interrupted now
            if message[:1] == BLOBS:
                self._blobs(np.frombuffer(message, ENTRY, offset=1).tolist())
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
            case Open():
                self._open(command, descriptors[0])
            case Flush():
                assert self._file is not None
                put_end_ahead(self._file)
                self._file.flush()
            case Where(row):
                assert self._file is not None
                chunk = self._file[DATASET].id.get_chunk_info_by_coord((row, 0, 0))
                return Answer((chunk.byte_offset, chunk.size, chunk.filter_mask))
            case Finish(rows):
                self._close(rows)
        return Answer()

    def _open(self, command: Open, folder: int) -> None:
        self._close(None)
        if self._memory is None or len(self._memory) != command.memory:
            self._memory = mmap.mmap(self._memory_fd, command.memory)
            self._view = memoryview(self._memory)
        # It is locked as long as it is open, so that nobody cuts it meanwhile; see `spread.cut`.
        self._side = SideFile(folder, command.name)
        self._file, shape = self._side.file, command.shape
        dataset = self._side.group.create_dataset(
            "data", (0, *shape), command.dtype, maxshape=(None, *shape),
            chunks=(1, *shape),
            fillvalue=fill_value(command.dtype),
            **(dict(hdf5plugin.Bitshuffle(cname="lz4")) if command.compressed else {}),
        )  # fmt: skip
        dataset.attrs["units"] = "counts"
        self._file.flush()
        self._write_chunk = dataset.id.write_direct_chunk
        self._rows, self._failed = 0, False

    def _blobs(self, entries: list[tuple[int, int, int, int]]) -> None:
        for number, (row, start, size, mask) in enumerate(entries):
            if self._failed:
                return
            try:
                if row >= self._rows:
                    assert self._file is not None
                    self._rows = max(row + 1, self._rows + ROWS_PER_STEP, self._rows + self._rows // 2)
                    self._file[DATASET].resize(self._rows, axis=0)
                self._write_chunk((row, 0, 0), self._view[start : start + size], mask)
            except (OSError, RuntimeError, ValueError) as error:
                self._failed = True
                self._tell(Done(number))
                self._tell(BlobFailed(str(error), getattr(error, "errno", None)))
                return
        self._tell(Done(len(entries)))

    def _close(self, rows: int | None) -> None:
        if self._file is None:
            return
        file, self._file, self._write_chunk = self._file, None, None
        try:
            if rows is not None:
                dataset = file[DATASET]
                if self._failed and self._rows:
                    with suppress(OSError):  # see `ChunkedStore.finish`
                        dataset[(0,) * dataset.ndim]
                dataset.resize(rows, axis=0)
        finally:
            self._side.close()

    def _tell(self, report: Report) -> None:
        try:
            self._channel.send(msgspec.json.encode(report))
        except ConnectionError:
            os._exit(0)


def main() -> None:
    """Entry of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C: the data process says what to do
    DataFile(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])).run()


if __name__ == "__main__":
    main()
