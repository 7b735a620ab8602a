"""The buffer ring between the camera and the PUSH socket: memory allocated once, bounded in bytes."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Protocol

import numpy as np

from penstock.streamer.camera.unit import Overrun

ALIGNMENT = 64
"""A slot begins at a multiple of so many bytes, which SDKs that fill it demand: a line of the cache."""
LEAST_SLOTS = 2
"""Fewest slots: one is filled while the other is sent."""
MOST_SLOTS = 65536


class Tracker(Protocol):
    """The state of a buffer that was passed to ZeroMQ without a copy."""

    @property
    def done(self) -> bool:
        """True if the buffer may be written again."""


class Ring:
    """Equal slots of `slot_bytes`, of at most `budget` bytes together (but at least two slots), in one block.

    A slot is acquired by the camera's thread and released by the sender's; a slot that ZeroMQ still reads is
    free once its tracker is done. Pages take memory at first use, so a large budget costs nothing before.
    """

    def __init__(self, slot_bytes: int, budget: int) -> None:
        if slot_bytes < 1:
            raise ValueError(f"a slot of {slot_bytes} bytes")
        self.slot_bytes = slot_bytes
        self.slots = min(MOST_SLOTS, max(LEAST_SLOTS, budget // slot_bytes))
        stride = -(-slot_bytes // ALIGNMENT) * ALIGNMENT
        block = np.empty(self.slots * stride + ALIGNMENT, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        self._memory = block[start : start + self.slots * stride].reshape(self.slots, stride)[:, :slot_bytes]
        self._free = deque(range(self.slots))
        self._in_flight: deque[tuple[int, Tracker]] = deque()
        self._lock = Lock()

    def acquire(self) -> int:
        """Return the number of a free slot.

        Raises:
            Overrun: no slot is free.
        """
        if (slot := self.acquire_if_free()) is None:
            raise Overrun(
                f"buffer overrun: all {self.slots} buffers of {self.slot_bytes} bytes wait to be sent; "
                "take frames more slowly, or raise the receiver's speed or --buffers-mb"
            )
        return slot

    def acquire_if_free(self) -> int | None:
        """Return the number of a free slot; `None` if no slot is free."""
        with self._lock:
            if not self._free:
                self._sweep()
            return self._free.popleft() if self._free else None

    def memory(self, slot: int) -> np.ndarray:
        """Return the bytes of a slot: uint8, `slot_bytes` long."""
        view: np.ndarray = self._memory[slot]
        return view

    def release(self, slot: int, tracker: Tracker | None = None) -> None:
        """Release a slot, at once or when `tracker` is done."""
        with self._lock:
            if tracker is None or tracker.done:
                self._free.append(slot)
            else:
                self._in_flight.append((slot, tracker))

    @property
    def used(self) -> int:
        """Number of slots that are filled, being filled, or still read by ZeroMQ."""
        with self._lock:
            self._sweep()
            return self.slots - len(self._free)

    def _sweep(self) -> None:
        for _ in range(len(self._in_flight)):
            slot, tracker = self._in_flight.popleft()
            if tracker.done:
                self._free.append(slot)
            else:
                self._in_flight.append((slot, tracker))
