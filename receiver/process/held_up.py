"""The finding that the writing holds a series up while cores are idle, so that more files would be faster.

A single file is written by the loop: then the loop never waits for messages, and spends most of its time in
the stages write and flush. Of several files each has a thread and a queue: then the loop waits most of its
time for room in them, or for their being empty at a flush. How full the queues are says less: while one is
full, the others empty by a block, and after a flush all of them are empty.

It is looked at about once per second, never per frame.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from penstock.receiver.config import MOST_FILES, ReceiverConfig, cores
from penstock.stins.texts import of_series

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks."""
WINDOW = 5.0
"""Seconds for which a series must have been held up."""
BUSY = 0.9
"""Share of its time for which a loop that is held up does not wait for messages."""
WRITING = 0.5
"""Share of the loop's time in which it writes one file, or waits for the threads of several."""
IDLE = 2
"""Fewest cores that must be idle: for a further file's two threads."""


class Look(NamedTuple):
    """The data process at one moment."""

    at: float
    """Monotonic seconds."""
    waited: float
    """Seconds for which the loop has waited for messages, since it started."""
    writing: float
    """Seconds of the stages write and flush, since it started."""
    held: float
    """Seconds for which the loop has waited for the threads of several files, since the series began."""


def machine() -> tuple[int, float]:
    """Return how many cores this process may use, and how many are in use, on average over a minute."""
    return cores.usable(), os.getloadavg()[0]


class HeldUp:
    """Says of the running series what more files would help.

    Args:
        name: name of the receiver.
        config: configuration of the receiver.
        machine: returns the number of usable cores, and the load.
    """

    def __init__(
        self, name: str, config: ReceiverConfig, machine: Callable[[], tuple[int, float]] = machine
    ) -> None:
        self._name = name
        self._files = config.files
        self._next = len(config.source.endpoints) if config.keeps_modules else config.files + 1
        """The next larger number that the configuration takes."""
        instead = "frames_per_file" if config.frames_per_file else "swmr" if config.swmr else ""
        self._remedy = (
            f"set files: {self._next}{f' instead of {instead}' if instead else ''} "
            f"(penstock check-storage {config.data_root} says how many help)"
        )
        self._machine = machine
        self._series: str | None = None
        self._looks: deque[Look] = deque()
        self._sentence = ""
        self._logged = False

    def look(self, series: str | None, look: Look) -> str:
        """Return that the series is held up, in a sentence for its status; "" if it is not. Once per series
        it is logged, with figures.

        Args:
            series: id of the running series; `None` if none runs, or nothing is written.
            look: the data process now.
        """
        if series != self._series:
            self._series, self._sentence, self._logged = series, "", False
            self._looks.clear()
        looks = self._looks
        if series is None or (looks and look.at - looks[-1].at < EVERY):
            return self._sentence
        looks.append(look)
        while len(looks) > 2 and look.at - looks[1].at >= WINDOW:
            looks.popleft()
        cause = self._cause()
        idle = self._idle() if cause else ""
        self._sentence = ""
        if idle:
            self._sentence = f"the writing holds the series up while cores are idle: {self._remedy}"
            if not self._logged:
                self._logged = True
                log.warning(
                    "%s: the writing holds the series up: %s, %s; %s%s",
                    self._name, cause, idle, self._remedy, of_series(series),
                )  # fmt: skip
        return self._sentence

    def _cause(self) -> str:
        """Return by what the series is held up, with the figure; "" if it is not."""
        first, last = self._looks[0], self._looks[-1]
        seconds = last.at - first.at
        if seconds < WINDOW:
            return ""
        if self._files > 1:
            held = (last.held - first.held) / seconds
            waits = (
                f"the loop waits for the threads of its {self._files} files {100 * held:.0f} % of the time"
            )
            return waits if held > WRITING else ""
        busy = 1 - (last.waited - first.waited) / seconds
        writing = min(1.0, (last.writing - first.writing) / seconds)
        if busy < BUSY or writing <= WRITING:
            return ""
        return f"write and flush take {100 * writing:.0f} % of the loop"

    def _idle(self) -> str:
        """Return how many cores are idle, in words; "" if they are too few for a further file."""
        usable, load = self._machine()
        is_next = self._files < self._next <= MOST_FILES
        if not is_next or usable < cores.needed(self._next) or usable - load < IDLE:
            return ""
        return f"{int(usable - load)} of {usable} cores are idle"
