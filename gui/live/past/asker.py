"""The thread that asks a source for frames that are past: one at a time, the newest wish only."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.live.drawing.pixels import as_numbers, flags_of, not_sent
from penstock.gui.live.sources.source import NoAnswer, Part, Refused, Source
from penstock.gui.live.threads import WaitingThread
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag

BUSY = "busy"
"""Kind of a refusal after which the same is asked again."""
TURN = 1.0
"""Seconds until then, where the source does not say."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wish:
    """A frame that is wanted."""

    number: int
    """Number of the wish, one after the other."""
    index: int
    part: Part
    stop: int | None = None
    """If given: the first frame from `index` on, and before this one, that has a saturated pixel."""


class Asker(WaitingThread):
    """One thread, from the first wish to `ask_to_stop`. A wish replaces one that waits.

    All signals are emitted from the thread.
    """

    got: Any = qt.Signal(object, object)
    """`Wish` and its `LastFrame`."""
    failed: Any = qt.Signal(object, object)
    """`Wish`, and the `NoAnswer`."""
    waits: Any = qt.Signal(object, str)
    """`Wish`, and for what it waits: a sentence. It is asked again until there is an answer."""
    passed: Any = qt.Signal(object, int)
    """`Wish` of a saturated frame, and the index that is looked at next."""
    lost: Any = qt.Signal(object, object)
    """`Source`, and the ranges of frames that are not in its file."""

    def __init__(self) -> None:
        super().__init__("penstock-past")
        self._source: Source | None = None  # this and what follows: under the condition
        self._wish: Wish | None = None
        self._number = 0
        self._due = 0.0
        self._lost_wanted = False
        self._lost_due = 0.0
        self.bad: Callable[[LastFrame], npt.NDArray[np.bool_] | None] = lambda frame: None
        """Pixels of a frame that are no saturated ones, since the series' mask leaves them out."""

    def set_source(self, source: Source | None) -> None:
        """Ask this one from now on; what was wished of the last is forgotten."""
        with self._condition:
            self._source, self._wish, self._lost_wanted = source, None, False
            self._number += 1
            self._condition.notify_all()

    def ask(self, index: int, part: Part, stop: int | None = None) -> Wish:
        """Wish for a frame, in place of what is wished for now; `stop`: see `Wish`."""
        with self._condition:
            self._number += 1
            self._wish, self._due = Wish(self._number, index, part, stop), 0.0
            self._wake()
            return self._wish

    def ask_lost(self) -> None:
        """Ask which frames are not in the file."""
        with self._condition:
            self._lost_wanted, self._lost_due = True, 0.0
            self._wake()

    def forget(self) -> None:
        """Wish for nothing any more."""
        with self._condition:
            self._wish = None
            self._number += 1

    def is_current(self, wish: Wish) -> bool:
        """Return whether nothing else was wished for since."""
        with self._condition:
            return wish.number == self._number

    def _work(self) -> Callable[[], None] | None:
        """Take what is due; frames first."""
        source, now = self._source, time.monotonic()
        if source is None:
            return None
        if self._wish is not None and now >= self._due:
            wish, self._wish = self._wish, None
            return lambda: self._fulfil(source, wish)
        if self._lost_wanted and now >= self._lost_due:
            self._lost_wanted = False
            return lambda: self._look_for_lost(source)
        return None

    def _until_due(self) -> float | None:
        """Seconds to wait; `None` for the next wish."""
        due = [self._due] if self._wish is not None else []
        due += [self._lost_due] if self._lost_wanted else []
        return max(0.0, min(due) - time.monotonic()) if due and self._source is not None else None

    def _fulfil(self, source: Source, wish: Wish) -> None:
        index, frame = wish.index, None
        failure: NoAnswer | None = None
        unread = 0
        while self.is_current(wish):
            try:
                frame = source.frame(index, wish.part)
                if wish.stop is None or has_saturated(frame, self.bad(frame)):
                    break
            except Refused as error:
                if error.kind == BUSY:
                    self._wait_for_turn(replace(wish, index=index), error)
                    return
                failure = error
            except NoAnswer as error:
                failure = error
                break
            except Exception as error:
                _log.exception("frame %d cannot be had", index)
                failure = Refused(f"frame {index:,} cannot be shown ({type(error).__name__}: {error})")
            if wish.stop is None:
                break
            unread += failure is not None
            frame, failure, index = None, None, index + 1
            if index >= wish.stop:
                but = f"; {unread:,} of them could not be read" if unread else ""
                failure = Refused(
                    f"no frame from {wish.index:,} to {wish.stop - 1:,} has a saturated pixel{but}"
                )
                break
            self.passed.emit(wish, index)
        if frame is not None:
            self.got.emit(wish, frame)
        elif failure is not None:
            self.failed.emit(wish, failure)

    def _wait_for_turn(self, wish: Wish, error: Refused) -> None:
        with self._condition:
            if self._wish is None and wish.number == self._number:
                self._wish, self._due = wish, time.monotonic() + (error.retry_after or TURN)
        self.waits.emit(wish, str(error))

    def _look_for_lost(self, source: Source) -> None:
        try:
            ranges = source.lost()
        except Refused as error:
            if error.kind == BUSY:
                with self._condition:
                    self._lost_wanted, self._lost_due = True, time.monotonic() + (error.retry_after or TURN)
            return
        except NoAnswer:
            return  # the status says so, and asks again when somebody answers
        self.lost.emit(source, ranges)


def has_saturated(frame: LastFrame, bad: npt.NDArray[np.bool_] | None = None) -> bool:
    """Return whether a frame has a saturated pixel, as the picture marks them.

    Args:
        frame: the frame.
        bad: pixels that the mask of its series leaves out, (rows, cols).
    """
    if frame.interpretation == "rgba-image":
        return False  # colours are no counts
    image = as_numbers(frame.array).reshape(-1, frame.array.shape[-1])
    found = flags_of(frame, image, not_sent(frame, image.shape)) == Flag.SATURATED
    return bool(found.any() if bad is None else (found & ~bad).any())
