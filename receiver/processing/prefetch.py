"""Frames that threads transform before it is their turn: in order, bounded in bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from penstock.receiver.processing.frame_processor import FrameProcessor, Result
from penstock.stins.messages import Frame, Message, Start

FRAMES_PER_THREAD = 4
"""So many keep a thread busy while the loop writes; more would only cost memory."""
BYTES = 256_000_000
"""Of the waiting frames, packed and plain; one frame may always wait."""


class Ready(NamedTuple):
    """A message whose turn it is."""

    message: Message
    result: Result | None
    """What a thread makes of its frame; `None` where none does."""
    nbytes: int
    """Of the frame, packed and plain."""


class Prefetch:
    """What was decoded, and not yet handed to the collector.

    Args:
        processor: has the threads.
        threads: their number.
    """

    def __init__(self, processor: FrameProcessor, threads: int) -> None:
        self._processor = processor
        self._frames = threads * FRAMES_PER_THREAD
        self._waiting: deque[Ready] = deque()
        self._bytes = 0
        self._started = False

    def push(self, message: Message, running: bool) -> Iterator[Ready]:
        """Take a message in; yield those whose turn it is meanwhile.

        Args:
            message: as it was decoded.
            running: whether a series runs. Frames of none are not worth a thread's time.
        """
        size, result = 0, None
        if isinstance(message, Frame):
            size = self._size(message)
            if running or self._started:
                result = self._processor.submit(message)
        elif isinstance(message, Start):
            self._started = True
        self._waiting.append(Ready(message, result, size))
        self._bytes += size
        while len(self._waiting) > self._frames or (self._bytes > BYTES and len(self._waiting) > 1):
            yield self._next()

    @property
    def nbytes(self) -> int:
        """Bytes of the frames that wait, packed and plain."""
        return self._bytes

    def drain(self) -> Iterator[Ready]:
        """Yield all that waits: nothing more is there to be read."""
        while self._waiting:
            yield self._next()
        self._started = False

    def _next(self) -> Ready:
        ready = self._waiting.popleft()
        self._bytes -= ready.nbytes
        return ready

    def _size(self, frame: Frame) -> int:
        packed = sum(map(len, frame.blobs))
        unpacked = self._processor.unpacked_bytes(frame)
        # 12-bit pixels grow by a third, and anything else of unknown type is refused.
        return 3 * packed if unpacked is None else packed + unpacked
