"""Messages that wait for their turn while threads transform their frames: in order, bounded in bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from penstock.receiver.processing.frame_processor import FrameProcessor
from penstock.stins.messages import Frame, Message, Start

FRAMES_PER_THREAD = 4
"""So many keep a thread busy while the loop writes; more would only cost memory."""
BYTES = 256_000_000
"""Of the waiting frames, packed and plain; one frame may always wait."""


class Prefetch:
    """What was decoded, and not yet handed to the collector.

    Args:
        processor: has the threads.
        threads: their number.
    """

    def __init__(self, processor: FrameProcessor, threads: int) -> None:
        self._processor = processor
        self._frames = threads * FRAMES_PER_THREAD
        self._waiting: deque[tuple[Message, int]] = deque()
        self._bytes = 0
        self._started = False

    def push(self, message: Message, running: bool) -> Iterator[Message]:
        """Take a message in; yields those whose turn it is meanwhile.

        Args:
            running: whether a series runs. Frames of none are not worth a thread's time.
        """
        size = 0
        if isinstance(message, Frame):
            size = self._size(message)
            if running or self._started:
                self._processor.prefetch(message)
        elif isinstance(message, Start):
            self._started = True
        self._waiting.append((message, size))
        self._bytes += size
        while len(self._waiting) > self._frames or (self._bytes > BYTES and len(self._waiting) > 1):
            yield self._next()

    @property
    def nbytes(self) -> int:
        """Bytes of the frames that wait, packed and plain."""
        return self._bytes

    def drain(self) -> Iterator[Message]:
        """Nothing more has come: yields all that waits."""
        while self._waiting:
            yield self._next()
        self._started = False

    def _next(self) -> Message:
        message, size = self._waiting.popleft()
        self._bytes -= size
        return message

    def _size(self, frame: Frame) -> int:
        packed = sum(map(len, frame.blobs))
        unpacked = self._processor.unpacked_bytes(frame)
        # 12-bit pixels grow by a third, and anything else of unknown type is refused.
        return 3 * packed if unpacked is None else packed + unpacked
