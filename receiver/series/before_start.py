"""Messages ahead of their start message, as several sockets bring them: bounded in bytes and time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from penstock.receiver.series.running_series import held_bytes
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Message


class _Held(NamedTuple):
    since: float
    nbytes: int
    message: Message


class EarlyMessages:
    """What waits for its start message.

    Args:
        seconds: for which a message waits.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held: deque[_Held] = deque()
        self.nbytes = 0
        """Memory of what waits."""

    def __len__(self) -> int:
        return len(self._held)

    def add(self, message: Message, now: float, most_bytes: float) -> list[StinsError]:
        """This one waits; returns what was dropped to make room for it, oldest first.

        Args:
            message: of a series that has not begun.
            now: moment on the clock, in seconds.
            most_bytes: memory that all may take which wait.
        """
        held = _Held(now, held_bytes(message), message)
        self._held.append(held)
        self.nbytes += held.nbytes
        dropped: list[StinsError] = []
        while self._held and self.nbytes > most_bytes:
            dropped.append(
                self._drop("hold_overflow", "more messages are ahead of their header than hold_mb allows")
            )
        return dropped

    def put_back(self, messages: Sequence[Message], now: float) -> None:
        """These wait on: one before them could not be taken."""
        for message in messages:
            nbytes = held_bytes(message)
            self._held.append(_Held(now, nbytes, message))
            self.nbytes += nbytes

    def has_frame_of(self, name: str | None) -> bool:
        """Whether a frame of this series waits."""
        return any(
            isinstance(each.message, Frame) and each.message.image.series == name for each in self._held
        )

    def take(self) -> list[Message]:
        """All of them, in the order in which they came: they wait no longer."""
        held, self._held, self.nbytes = self._held, deque(), 0
        return [each.message for each in held]

    def is_late(self, now: float) -> bool:
        """Whether the oldest has waited for too long."""
        return bool(self._held) and now - self._held[0].since > self._seconds

    def drop_late(self) -> StinsError:
        """The oldest is dropped: its start message has not come."""
        return self._drop("no_header", f"no start message within {self._seconds:g} s")

    def _drop(self, kind: str, why: str) -> StinsError:
        _, nbytes, message = self._held.popleft()
        self.nbytes -= nbytes
        number = message.image.frame if isinstance(message, Frame) else "end"
        return StinsError(kind, f"message dropped (frame {number}): {why}")
