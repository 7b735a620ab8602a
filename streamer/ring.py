"""The buffer ring between the camera and the PUSH socket: memory allocated once, bounded in bytes."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Protocol

import numpy as np

LEAST_SLOTS = 2
"""Fewest slots: one is filled while the other is sent."""
MOST_SLOTS = 65536


class Overrun(Exception):
    """Every buffer is in use: frames are sent more slowly than the camera delivers them."""


class Tracker(Protocol):
    """The state of a buffer that was passed to ZeroMQ without a copy."""

    @property
    def done(self) -> bool:
        """True if the buffer may be written again."""


class Ring:
    """Equal slots of `slot_bytes` in one block of at most `budget` bytes (but at least two slots).

    A slot is acquired by the camera's thread and released by the sender's; a slot that ZeroMQ still reads is
    free once its tracker is done. Pages take memory at first use, so a large budget costs nothing before.
    """

    def __init__(self, slot_bytes: int, budget: int) -> None:
        if slot_bytes < 1:
            raise ValueError(f"a slot of {slot_bytes} bytes")
        self.slot_bytes = slot_bytes
        self.slots = min(MOST_SLOTS, max(LEAST_SLOTS, budget // slot_bytes))
        self._memory = np.empty((self.slots, slot_bytes), np.uint8)
        self._free = deque(range(self.slots))
        self._in_flight: deque[tuple[int, Tracker]] = deque()
        self._lock = Lock()

    def acquire(self) -> int:
        """Return the number of a free slot.

        Raises:
            Overrun: no slot is free.
        """
        with self._lock:
            if not self._free:
                self._sweep()
            if not self._free:
                raise Overrun(
                    f"buffer overrun: all {self.slots} buffers of {self.slot_bytes} bytes wait to be sent; "
                    "take frames more slowly, or raise the receiver's speed or --buffers-mb"
                )
            return self._free.popleft()

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
