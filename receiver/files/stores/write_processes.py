"""Who writes blobs to known places of one file: processes, where `write_threads` has threads.

They cost a copy of each frame, and share nothing with the loop but memory: neither its interpreter lock nor
its fate. One that dies takes along what waits for it; all that it has written stays.
"""

from __future__ import annotations

import contextlib
import os

from penstock.receiver.files.stores import all_writers, process_lease
from penstock.receiver.files.stores.messages import OpenPlaces
from penstock.receiver.files.stores.writer_process import BATCH_BYTES, WriterProcess
from penstock.stins.messages import Buffer


class WriteProcesses:
    """What `WriteThreads` does, by processes: each gets blocks of frames in turn, by their index.

    Args:
        descriptor: of the file; stays the caller's.
        processes: that write.
        frame_bytes: of each frame.

    Raises:
        OSError: a process cannot begin.
    """

    def __init__(self, descriptor: int, processes: tuple[WriterProcess, ...], frame_bytes: int) -> None:
        self._processes = processes
        self._file = process_lease.hold(descriptor)
        try:
            for process in processes:
                process.begin(OpenPlaces(), self._file, frame_bytes)
        except BaseException:
            self.close()
            raise
        # A block is what is told of at once: nothing of it waits until it is the process' turn again.
        most = min(process.memory for process in processes) // (2 * frame_bytes)
        self._block = max(1, min(most, -(-BATCH_BYTES // frame_bytes)))

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the frames that are not written yet."""
        return all_writers.waiting_bytes(self._processes)

    @property
    def lost(self) -> set[int]:
        """Frames that were taken and could not be written."""
        return all_writers.lost(self._processes)

    def put(self, index: int, blob: Buffer, offset: int) -> None:
        """Let the blob of a frame be written at this offset; waits while too much is queued.

        Raises:
            OSError: an earlier frame, in `lost`, could not be written, or a process is dead; this one was not
                taken.
        """
        turn = index // self._block % len(self._processes)
        try:
            self._processes[turn].put(index, offset, blob)
        except OSError:
            # What the others have lost is told too, before anybody counts what is in the file.
            with contextlib.suppress(OSError):
                self.drain()
            raise

    def drain(self) -> None:
        """Return when everything is written.

        Raises:
            OSError: a frame, in `lost`, could not be, or a process is dead.
        """
        all_writers.flush(self._processes)

    def close(self) -> None:
        """Let the processes go of the file once all is written; calling it again does nothing."""
        if self._file < 0:
            return
        for process in self._processes:
            with contextlib.suppress(OSError):  # `drain` has said it
                process.finish()
        os.close(self._file)
        self._file = -1
