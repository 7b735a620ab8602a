"""What is sent, how a receiver is set up to take it, and what that took."""

from __future__ import annotations

from typing import Literal

import msgspec

LARGE_FRAME = 2_000_000
LARGE_MARK, SMALL_MARK = 8, 64
"""Messages queued by the receiving socket: ZeroMQ counts messages, memory counts bytes. 64 is the
receiver's default, 8 is what its documentation advises from 2 MB on; every contender gets the same."""

Storage = Literal["live", "ram", "disk"]
"""Nothing is written; a RAM disk; a disk."""


def high_water_mark(frame_bytes: int) -> int:
    """Return the number of messages that a receiving socket queues, for frames of this size."""
    return LARGE_MARK if frame_bytes >= LARGE_FRAME else SMALL_MARK


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One series, to be taken again and again."""

    contender: str
    """One of `contenders.CONTENDERS`."""
    frame_bytes: int
    frames: int
    storage: Storage = "ram"
    announced: bool = True
    """Whether the start message says how many frames will come."""
    rate: float = 0.0
    """Offered frames per second; 0: as fast as possible."""
    sockets: int = 1
    io_threads: int = 1
    """ZeroMQ's, on both sides."""
    workers: int = 1
    compress: bool = False
    """The receiver's workers turn the frames into bitshuffle/LZ4."""
    synced: bool = False
    """The series has ended once the file is on the disk."""

    @property
    def nbytes(self) -> int:
        """Bytes of all frames."""
        return self.frames * self.frame_bytes


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One series through one contender."""

    frames: int
    seconds: float
    """From its start message to its closed file; of the limits, to the last frame."""
    cpu: dict[str, float]
    """Seconds of processor time, user and system, of each thread or process: see `THREADS`."""

    @property
    def rate(self) -> float:
        """Frames per second."""
        return self.frames / self.seconds

    @property
    def thread_us(self) -> float:
        """Microseconds per frame of the thread that receives and writes, without ZeroMQ's."""
        return self.cpu["loop"] / self.frames * 1e6

    @property
    def cpu_us(self) -> float:
        """Microseconds per frame of all threads that receive and write: everything but HTTP."""
        return sum(self.cpu.get(name, 0.0) for name in ("loop", "I/O", "others")) / self.frames * 1e6


THREADS = {
    "loop": "thread that receives and writes",
    "I/O": "ZeroMQ's I/O threads",
    "others": "workers, and others",
    "HTTP": "HTTP process",
    "generator": "the sender, all threads",
}
"""Threads and processes whose processor time a run has."""
