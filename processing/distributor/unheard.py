"""The series that the receiver has now, if the stream has not told of it: nothing of it is live."""

from __future__ import annotations

from collections.abc import Callable

from penstock.processing.distributor.receiver_news import Running

SECONDS = 1.0
"""The receiver's word and its stream come by two ways: so long the one may be ahead of the other."""


class Unheard:
    """What is said of that series."""

    def __init__(self) -> None:
        self._running = Running("", None)
        self._since = 0.0

    def take(self, running: Running, now: float) -> None:
        """Take the receiver's word.

        Args:
            running: the series.
            now: monotonic seconds.
        """
        if running.series != self._running.series:
            self._since = now
        self._running = running

    def sentence(self, is_known: Callable[[str], bool], now: float) -> str:
        """Return what the pipeline waits for; "" if it knows the series.

        Args:
            is_known: tells of the id of a series whether the stream has told of it, or it is over.
            now: monotonic seconds.
        """
        series, file = self._running.series, self._running.file
        if not series or now - self._since < SECONDS or is_known(series):
            return ""
        rest = (
            f"its frames are taken from {file} then"
            if file is not None
            else "none of its frames is processed, since it is not written to a file"
        )
        return (
            f"waits for the end of series {series}, of whose start this pipeline was not told: {rest}, and "
            "live results begin with the next series"
        )
