"""Follows one receiver step by step, without threads, timers or Qt.

A step is one long poll of the status and at most one request for a frame that is newer than the last one. So
nothing is requested twice, or without being drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from penstock.gui.live.snapshot import Snapshot
from penstock.receiver.client import LastFrame, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Status, View

FIRST_RETRY = 0.25
"""Seconds."""
LAST_RETRY = 2.0
"""Longest time in seconds until a receiver that is back is noticed."""


class Receiver(Protocol):
    """The part of `penstock.receiver.client.ReceiverClient` that the viewer uses."""

    url: str

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status: ...
    def last_frame(self, seen: int | None = None, view: View | None = None) -> LastFrame | None: ...
    def set_downsample(self, value: int) -> int: ...


class Follower:
    """Keeps the newest snapshot of `receiver`."""

    def __init__(self, receiver: Receiver, now: Callable[[], float] = time.time) -> None:
        self._receiver = receiver
        self._now = now
        self._downsample: int | None = None
        self._downsample_told = True
        self._channel: str | None = None
        self._retry = 0.0
        self._frame_version: int | None = None
        self.snapshot = Snapshot(url=receiver.url)

    @property
    def retry(self) -> float:
        """Seconds to leave an absent receiver alone before the next step; 0 while it answers."""
        return self._retry

    def downsample(self, value: int) -> None:
        """Ask for every `value`-th row and column, from the next step on and after each restart."""
        self._downsample = value
        self._downsample_told = False

    def channel(self, name: str | None) -> None:
        """Ask for one channel of the frames, or for all, from the next step on."""
        self._channel = name
        self._frame_version = None

    def step(self, *, wait: float, want_frame: bool) -> bool:
        """Ask once; return whether `snapshot` has changed.

        Args:
            wait: seconds for which the receiver may hold the answer until its status changes; not used while
                a frame is due, which would wait as long.
            want_frame: whether a newer frame would be drawn now.
        """
        before = self.snapshot
        try:
            self.snapshot = self._ask(before, wait, want_frame)
        except ReceiverUnavailable as error:
            self._retry = min(LAST_RETRY, 2 * self._retry or FIRST_RETRY)
            self._downsample_told = self._downsample is None  # a new process does not know it
            since = before.away_since if before.away_since is not None else self._now()
            self.snapshot = replace(before, away_since=since, trouble=str(error))
        except ReceiverRefused as error:
            self._retry = min(LAST_RETRY, 2 * self._retry or FIRST_RETRY)
            self.snapshot = replace(before, away_since=None, trouble=str(error))
        else:
            self._retry = 0.0
        return self.snapshot != before if self.snapshot.frame is before.frame else True

    def _ask(self, held: Snapshot, wait: float, want_frame: bool) -> Snapshot:
        back = held.away_since is not None
        notice, changed = held.notice, False
        if self._downsample is not None and not self._downsample_told:
            notice, changed = self._tell_downsample(self._downsample), True
        if back or held.status is None:
            status = self._receiver.status()
        else:
            status = self._receiver.status(
                seen=held.status.version,
                wait=0.0 if changed or (want_frame and self._frame_due(held)) else wait,
            )
        answered = self._now()
        # Versions start again with each process: against those of the one before they mean nothing.
        if back or changed or (held.status is not None and status.version < held.status.version):
            self._frame_version = None
        frame = held.frame
        if want_frame and status.latest_frame is not None:
            newer = self._newer()
            if newer is not None:
                frame, self._frame_version = newer, newer.version
        return Snapshot(url=held.url, status=status, status_at=answered, frame=frame, notice=notice)

    def _newer(self) -> LastFrame | None:
        try:
            return self._receiver.last_frame(seen=self._frame_version, view=View(channel=self._channel))
        except ReceiverRefused:
            if self._channel is None:
                raise
        self.channel(None)  # the series that runs now has no such channel
        return self._receiver.last_frame(seen=None)

    def _frame_due(self, held: Snapshot) -> bool:
        # While a series runs, frames come more often than the status is said again. After it, the receiver
        # still copies a frame only once it was asked for: the answer comes with the next request.
        if held.status is None or held.status.latest_frame is None:
            return False
        if held.status.state == "running" or self._frame_version is None:
            return True
        return held.frame is None or held.frame.frame != held.status.latest_frame

    def _tell_downsample(self, value: int) -> str:
        self._downsample_told = True
        try:
            self._receiver.set_downsample(value)
        except ReceiverRefused as error:
            return f"The receiver keeps its down-sampling: {error}"
        return ""
