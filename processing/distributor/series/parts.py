"""What comes after one start message of a series, and the shared memory in which its frames lie."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from penstock.processing.wire.shared_frames import SharedFrames, SharedMemoryError
from penstock.stins.messages import Header
from penstock.stins.shared import Layout

log = logging.getLogger(__name__)


class Part(msgspec.Struct):
    """What came after one start message: a receiver that was killed sends a second one for its series."""

    number: int
    """The distributor's own, by which workers know it."""
    header: Header
    metadata: bytes
    memory: SharedFrames | None = None
    layout: Layout | None = None

    @property
    def is_stale(self) -> bool:
        """True if the receiver has taken the frames back that are in shared memory."""
        return self.memory is not None and not self.memory.is_current


class Parts:
    """The parts of all series, and the memory that the stream's frames come in.

    That is one memory for all series of a connection, or a burst of them would take all descriptors. It is
    closed when no series has it.
    """

    def __init__(self) -> None:
        self._memory: SharedFrames | None = None
        self._made = 0

    @property
    def next_number(self) -> int:
        """The number of the next part."""
        return self._made + 1

    def make(self, header: Header, metadata: bytes) -> Part:
        """Return a part with the next number; its frames come by value if the memory cannot be opened."""
        self._made += 1
        part = Part(self._made, header, metadata)
        if (shared := header.shared) is not None:
            try:
                part.memory = self._opened(shared.path, shared.nonce)
                part.layout = Layout(shared.slots, shared.slot_bytes)
            except SharedMemoryError as error:
                log.warning("%s", error)
        return part

    def free(self, slots: Iterable[int]) -> None:
        """Free slots of frames that nobody wants."""
        if self._memory is not None:
            self._memory.free(slots)

    def close(self) -> None:
        """Close the memory."""
        if self._memory is not None:
            self._memory.close()

    def _opened(self, path: str, nonce: str) -> SharedFrames:
        memory = self._memory
        if memory is None or (memory.path, memory.nonce) != (path, nonce):
            self._memory = None
            memory = self._memory = SharedFrames(path, nonce)
        return memory
