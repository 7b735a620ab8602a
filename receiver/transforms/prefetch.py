"""Frames that threads transform, or whose checksums they compute, ahead of their turn: in order, bounded in
bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from penstock.receiver.transforms.frame_processor import FrameProcessor, Result, summing_threads
from penstock.stins.messages import Frame, Message, Start

FRAMES_PER_THREAD = 4
"""Frames that wait per thread: enough to keep it busy while the loop writes; more would only cost memory."""
BYTES = 256_000_000
"""Most bytes of waiting frames, as received and unpacked; one frame may always wait."""
SUMMED_BYTES = 64_000_000
"""The same if only checksums are computed: more would have left the processor's cache."""


class Ready(NamedTuple):
    """A message whose turn it is."""

    message: Message
    result: Result | None
    """Result of the threads that have its frame; `None` if none has."""
    nbytes: int
    """Bytes of the frame, as received and unpacked."""


class Prefetch:
    """The queue of decoded messages in front of the collector.

    Args:
        processor: frame processor with the threads.
        threads: number of those that transform.
    """

    def __init__(self, processor: FrameProcessor, threads: int) -> None:
        self._processor = processor
        self._frames = threads * FRAMES_PER_THREAD
        self.waiting: deque[Ready] = deque()
        """The messages whose turn has not come, the next one first."""
        self.nbytes = 0
        """Bytes of the waiting frames, as received and unpacked."""
        self._started = False

    def takes(self, message: Message) -> bool:
        """Return whether a message has to be pushed: threads take frames of its series, or messages before it
        wait."""
        if type(message) is Start:
            self._processor.expect(message)
        return self._processor.parallel or bool(self.waiting)

    def push(self, message: Message, running: bool) -> Iterator[Ready]:
        """Queue a message; yield those whose turn it is now.

        Args:
            message: the message as decoded.
            running: whether a series is running. Frames outside a series are not worth a thread's time.
        """
        size, result = 0, None
        if isinstance(message, Frame):
            size = self._size(message)
            if running or self._started:
                result = self._processor.submit(message)
        elif isinstance(message, Start):
            self._started = True
            self._processor.expect(message)
        self.waiting.append(Ready(message, result, size))
        self.nbytes += size
        frames, nbytes = self._most
        while len(self.waiting) > frames or (self.nbytes > nbytes and len(self.waiting) > 1):
            yield self._next()

    @property
    def _most(self) -> tuple[int, int]:
        """Most messages that wait, and most bytes of them."""
        if self._processor.transforms_ahead:
            return self._frames, BYTES
        return summing_threads() * FRAMES_PER_THREAD, SUMMED_BYTES

    def drain(self) -> Iterator[Ready]:
        """Yield all waiting messages: the sockets have no more at the moment."""
        while self.waiting:
            yield self._next()
        self._started = False

    def _next(self) -> Ready:
        ready = self.waiting.popleft()
        self.nbytes -= ready.nbytes
        return ready

    def _size(self, frame: Frame) -> int:
        packed = sum(map(len, frame.blobs))
        if not self._processor.transforms_ahead:
            return packed
        unpacked = self._processor.unpacked_bytes(frame)
        # 12-bit pixels grow by a third, and anything else of unknown type is refused.
        return 3 * packed if unpacked is None else packed + unpacked
