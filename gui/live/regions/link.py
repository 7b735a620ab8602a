"""Reads and changes the receiver's regions, outside the window's thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from silx.gui import qt

from penstock.gui.live.regions.model import Change, RegionError
from penstock.gui.live.threads import WaitingThread
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Rois

PERIOD = 1.0
"""Seconds between two looks at the regions of the next series: others may change them."""
VALUES_PERIOD = 0.25
"""Seconds between two requests for values, and the longest that one waits for the next frame."""
COUNT = 5000
"""Frames in one answer."""


@dataclass(frozen=True)
class _Request:
    change: Change
    keep: bool


class RegionLink(WaitingThread):
    """One thread, from the first request to `stop`; without requests it is idle."""

    received = qt.Signal(object)
    """`Rois` of the next series, which others may have changed."""
    changed = qt.Signal(object)
    """`Rois` after a change requested here."""
    refused = qt.Signal(str)
    """Why a change was not made: a sentence."""
    values = qt.Signal(object)
    """`RoiValues` requested by `ask_values`; there are no further requests until it is called again."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("penstock-regions", parent)
        self._receiver: ReceiverClient | None = None  # this and what follows: under the condition
        self._watching = False
        self._requests: deque[_Request] = deque()
        self._wanted: tuple[str, int] | None = None
        """Series and index of the first frame whose values are wanted."""
        self._rois_due = self._values_due = 0.0

    def set_receiver(self, receiver: ReceiverClient | None) -> None:
        """Ask this one from now on; what was wanted of the last is forgotten."""
        with self._condition:
            self._receiver, self._wanted = receiver, None
            self._requests.clear()
            self._rois_due = 0.0
            self._condition.notify_all()

    def watch(self, watching: bool) -> None:
        """Set whether somebody looks at the regions; without that, none are requested."""
        with self._condition:
            self._watching, self._rois_due = watching, 0.0
            if watching:
                self._wake()

    def change(self, change: Change, *, keep: bool = False) -> None:
        """Change the receiver's regions; `changed` or `refused` follows."""
        with self._condition:
            self._requests.append(_Request(change, keep))
            self._wake()

    def ask_values(self, series: str, first: int) -> None:
        """Ask for the values of a series from frame `first` on, as soon as they are there."""
        with self._condition:
            self._wanted = series, first
            self._wake()

    def ask_no_values(self) -> None:
        """Ask for no values: no curve is on show."""
        with self._condition:
            self._wanted = None

    def _work(self) -> Callable[[], None] | None:
        receiver, now = self._receiver, time.monotonic()
        if receiver is None:
            return None
        if self._requests:
            request = self._requests.popleft()
            return lambda: self._fulfil(receiver, request)
        if self._watching and now >= self._rois_due:
            self._rois_due = now + PERIOD
            return lambda: self._read_rois(receiver)
        if self._wanted is not None and now >= self._values_due:
            self._values_due = now + VALUES_PERIOD
            series, first = self._wanted
            return lambda: self._read_values(receiver, series, first)
        return None

    def _until_due(self) -> float | None:
        """Seconds to wait; `None` for the next request."""
        if self._receiver is None:
            return None
        due = []
        if self._watching:
            due.append(self._rois_due)
        if self._wanted is not None:
            due.append(self._values_due)
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _fulfil(self, receiver: ReceiverClient, request: _Request) -> None:
        try:
            # Of what the receiver has now: what others have added meanwhile stays.
            rois = receiver.put_rois(request.change(receiver.rois().rois), keep=request.keep)
        except (RegionError, ReceiverRefused, ReceiverUnavailable) as error:
            self.refused.emit(str(error))
        else:
            self._emit(receiver, self.changed, rois)

    def _read_rois(self, receiver: ReceiverClient) -> None:
        try:
            rois: Rois = receiver.rois()
        except (ReceiverRefused, ReceiverUnavailable):
            return  # shown by the banner
        self._emit(receiver, self.received, rois)

    def _read_values(self, receiver: ReceiverClient, series: str, first: int) -> None:
        try:
            answer = receiver.roi_values(first, COUNT, series, wait=VALUES_PERIOD)
        except (ReceiverRefused, ReceiverUnavailable):
            self._values_due = time.monotonic() + PERIOD  # no regions in this series, or no receiver
            return
        with self._condition:
            if self._wanted != (series, first) or (answer.upto == first and not answer.ended):
                return
            self._wanted = None
        self._emit(receiver, self.values, answer)

    def _emit(self, receiver: ReceiverClient, signal: Any, what: object) -> None:
        with self._condition:
            current = self._receiver is receiver
        if current:
            signal.emit(what)
