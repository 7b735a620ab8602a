"""Series on their way to a receiver: a PUSH socket of STINS that numbers its messages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.stins.messages import Buffer, Header, Image, SeriesEnd
from penstock.stins.series import SeriesEncoder
from penstock.stins.texts import plural
from penstock.streamer.camera.push_socket import PushSocket, default_hwm

log = logging.getLogger(__name__)

TICK = 0.02
"""Seconds between two tries while no receiver has room."""
NOBODY, STALLED = 5.0, 30.0
"""Seconds for which a message waits for a receiver, and for one that is connected and takes nothing."""


class Sender:
    """A sender of series; used by one thread.

    Args:
        endpoint: where receivers connect to.
        ends: returns true once nothing is waited for any more.

    Raises:
        OSError: the address is in use, or not one of this machine.
    """

    def __init__(self, endpoint: str, ends: Callable[[], bool]) -> None:
        self._push = PushSocket(endpoint)
        self._ends = ends
        self._encoder = SeriesEncoder()
        self.sent = 0
        """Frames of the series that ZeroMQ has taken."""

    @property
    def endpoint(self) -> str:
        """Where receivers connect to."""
        return self._push.endpoint

    @property
    def receivers(self) -> int:
        """Number of receivers that are connected."""
        return len(self._push.peers)

    @property
    def crowd(self) -> str:
        """What is wrong with more receivers than one, in a sentence; or ""."""
        if (count := self.receivers) < 2:
            return ""
        many, rest = ("two receivers", "one") if count == 2 else (plural(count, "receiver"), "all but one")
        return f"{many} are connected to {self.endpoint}, which would share the frames out: end {rest}"

    def begin(self, header: Header, metadata: Mapping[str, Any]) -> bool:
        """Send the start message; return whether a receiver has taken it."""
        self._encoder.give_up()  # one before, of which nobody has taken the end
        self._push.limit(default_hwm(header.frame_bytes or 0))
        self.sent = 0
        return self._hand_over(lambda: self._encoder.start(header, metadata))

    def frame(self, image: Image, blobs: Sequence[Buffer]) -> bool:
        """Send a frame; return whether a receiver has taken it."""
        taken = self._hand_over(lambda: [self._encoder.image(image), *blobs])
        self.sent += taken
        return taken

    def end(self, end: SeriesEnd) -> bool:
        """Send the end message, to each receiver; return whether one has taken it."""
        state, number = self._encoder.state, self._encoder.msg_number
        if not self._hand_over(lambda: self._encoder.end(end)):
            return False
        for _ in range(self.receivers - 1):  # ZeroMQ takes turns: the one that has the series is among them
            self._encoder.state, self._encoder.msg_number = state, number
            self._hand_over(lambda: self._encoder.end(end))
        return True

    def close(self) -> None:
        """Close the socket, once what ZeroMQ holds is sent."""
        self._push.close(stopping=self._ends)

    def _hand_over(self, encode: Callable[[], Sequence[Buffer]]) -> bool:
        """Send a message when there is room; one that nobody takes leaves no gap in the numbers."""
        state, number = self._encoder.state, self._encoder.msg_number
        parts = encode()
        began = time.monotonic()
        while self._push.try_send(parts) is None:
            if self._ends() or time.monotonic() - began > (STALLED if self.receivers else NOBODY):
                self._encoder.state, self._encoder.msg_number = state, number
                return False
            self._push.wait_writable(TICK)
        return True
