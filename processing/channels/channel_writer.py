"""What one channel gives to the recording: its values, when they end, and what is said of it."""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import Any

import numpy as np

from penstock.processing.channels.recording import NO_NUMBER, News, Writer
from penstock.processing.config.pipeline_config import ChannelConfig

log = logging.getLogger("penstock.processing.channels.recorder")


class Unsuitable(Exception):
    """A channel is no number, or nobody knows where it is served; the sentence says what to do."""


class ChannelWriter:
    """Writes the values of one channel.

    Args:
        place: of the channel in the pipeline's file.
        config: of the channel.
        writer: of the recording.
        ended: since when values that hold are over, because an earlier process that recorded them has died.
    """

    def __init__(self, place: int, config: ChannelConfig, writer: Writer, ended: float | None = None) -> None:
        self.config = config
        self.how = ""
        """How it is read, in words; "" as long as it is not."""
        self.unit = ""
        """Unit of its values, as its source says; "" if it does not."""
        self.alive = -np.inf
        """Time at which it was last known to answer."""
        self._place = place
        self._writer = writer
        self._said = News(place, problem="has not answered yet")
        self._lock = Lock()
        self._last: tuple[Any, ...] = ()
        self._holds = config.by == "time" and config.how == "hold"
        self._ended = np.inf if ended is None else ended
        """Time since which it has no value; inf as long as it has one."""

    def take(self, moment: float, value: float, number: int = NO_NUMBER) -> None:
        """Record a value, unless it is the last one once more.

        Args:
            moment: its time, in s since 1970.
            value: the value.
            number: of its frame, if it says so.
        """
        self.alive = time.time()
        if self._ended < np.inf:  # back, if with a value that was taken before it was away
            moment, self._last = moment if moment > self._ended else self.alive, ()
            self._ended = np.inf
        if (moment, value, number) != self._last:  # a subscription begins with the value that is known
            self._last = moment, value, number
            self._writer.value(self._place, moment, value, number)

    def end(self, moment: float) -> None:
        """Let no value hold from a time on."""
        if self._holds and self._ended == np.inf:
            self._ended = max(moment, self._last[0] if self._last else moment)
            if self._last:
                self._writer.ends(self._place, self._ended)

    def say(self, problem: str) -> None:
        """Say what has changed: how it is read, its unit, and why there are no values ("": there are)."""
        news = News(self._place, self.how, problem, self.unit)
        with self._lock:
            if news != self._said:
                if problem:
                    log.warning("channel %s: %s", self.config.name, problem)
                self._said = news
                self._writer.say(news)


def now() -> str:
    """Return the time as sentences have it."""
    return time.strftime("%Y-%m-%d %H:%M:%S")
