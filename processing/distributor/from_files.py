"""Series of which nothing has come by the stream: they are taken from their files, a few at a time."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sized

from penstock.processing.distributor.receiver_news import Over

log = logging.getLogger(__name__)

AT_ONCE = 16
"""Series that are not over, beyond which no more are opened: each takes files and memory, and there may be a
thousand after a pipeline was in Error for long. More would not be processed sooner."""


class FromFiles:
    """Those that wait.

    Args:
        runs: all series that are not over.
        begin: begins one, from its file.
        again: is told of one again once there is room: its start message may have come meanwhile.
    """

    def __init__(self, runs: Sized, begin: Callable[[Over], None], again: Callable[[Over], None]) -> None:
        self._runs = runs
        self._begin = begin
        self._again = again
        self._waiting: deque[Over] = deque()
        self.is_held = False
        """Whether none begins at present: no new series is taken."""

    def take(self, over: Over) -> None:
        """Begin a series, now or once there is room."""
        if self._may_begin:
            self._begin(over)
        else:
            self._waiting.append(over)

    def step(self) -> None:
        """Begin those that wait, as far as there is room."""
        while self._waiting and self._may_begin:
            self._again(self._waiting.popleft())

    @property
    def _may_begin(self) -> bool:
        return not self.is_held and len(self._runs) < AT_ONCE

    def drop(self, why: str) -> None:
        """Begin none of those that wait, for a reason."""
        for over in self._waiting:
            log.info("series %s: %s; none of its frames is processed", over.series, why)
        self._waiting.clear()
