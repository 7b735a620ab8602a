"""A watch on the user's code: a frame that takes too long ends the worker, and others go on with its frames.

Only the worker knows when a frame of a bunch began. A thread looks, so that a frame costs two assignments.
Code that never lets other threads run (it holds Python's lock) is noticed by the distributor, which waits for
the time of all frames of the bunch.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from pathlib import PurePath
from types import FrameType

log = logging.getLogger(__name__)

SHORTEST_LOOK, LONGEST_LOOK = 0.02, 1.0
"""Seconds between two looks, which are a tenth of the time for a frame."""
GIVEN_UP = 75
"""Exit status of a worker that has taken too long: EX_TEMPFAIL of sysexits.h."""


class FrameWatch:
    """Ends the process if a frame takes too long.

    Args:
        seconds: for one frame.
        files: names of the user's files, of which the place is said.
        leave: ends the process with a status, at once.
    """

    def __init__(
        self, seconds: float, files: Collection[str], leave: Callable[[int], object] = os._exit
    ) -> None:
        self._seconds = seconds
        self._files = files
        self._leave = leave
        self._now: tuple[float, int] | None = None
        """Monotonic time at which the user's code is to be ready, and the index of its first frame."""
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True, name="frame_seconds")
        self._thread.start()

    def begin(self, index: int, frames: int) -> None:
        """The user's code begins with frames, the first of this index."""
        self._now = time.monotonic() + self._seconds * frames, index

    def end(self) -> None:
        """It is ready."""
        self._now = None

    def close(self) -> None:
        """Watch no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        every = min(LONGEST_LOOK, max(SHORTEST_LOOK, self._seconds / 10))
        while not self._over.wait(every):
            now = self._now
            if now is not None and time.monotonic() > now[0] and self._now is now:
                self._give_up(now[1])
                return

    def _give_up(self, index: int) -> None:
        where = _where(sys._current_frames().get(self._main), self._files)
        log.error(
            "frame %d takes more than %g s (frame_seconds)%s: this worker ends, others go on with its frames",
            index, self._seconds, where,
        )  # fmt: skip
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._leave(GIVEN_UP)


def _where(frame: FrameType | None, files: Collection[str]) -> str:
    """Return the innermost place in the user's files, in words; "" if it is in none of them."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename in files:
            return f" in {PurePath(code.co_filename).name}, line {frame.f_lineno}, in {code.co_name}"
        frame = frame.f_back
    return ""
