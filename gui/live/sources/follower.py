"""Follows one source step by step, without threads, timers or Qt; what is known then is a `Snapshot`.

A step is one long poll of the status and at most one request for a frame that is newer than the last one. So
nothing is requested twice, or without being drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from penstock.gui.live.sources.following import Known, next_retry, unanswered
from penstock.gui.live.sources.source import IMAGES, Content, NoAnswer, Part, Refused, Source
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Status


@dataclass(frozen=True, kw_only=True)
class Snapshot(Known):
    """The newest status and frame, and whether anybody answers."""

    content: Content = IMAGES
    """What the source has."""
    frames: int | None = None
    """Frames of the series, planned ones too; `None` if that is not known."""
    choices: tuple[str, ...] = ()
    """What of a file can be shown, where there is a choice."""
    chosen: str = ""
    status: Status | None = None
    status_at: float | None = field(default=None, compare=False)
    """When `status` was received, seconds since 1970 (UTC)."""
    frame: LastFrame | None = None
    """The last that was received, also while the receiver is away or has restarted."""

    @property
    def is_old(self) -> bool:
        """True if there is a status whose sender no longer answers."""
        return self.status is not None and bool(self.trouble or self.fault)


class Follower:
    """Keeps the newest snapshot of `source`."""

    def __init__(self, source: Source, now: Callable[[], float] = time.time) -> None:
        self._source = source
        self._now = now
        self._part = Part()
        self._retry = 0.0
        self._frame_version: int | None = None
        self.snapshot = Snapshot(url=source.address, is_file=source.is_file, content=source.content())

    @property
    def retry(self) -> float:
        """Seconds to leave an absent source alone before the next step; 0 while it answers."""
        return self._retry

    def ask_for(self, part: Part) -> None:
        """Ask for this part of the frames, from the next step on."""
        self._part = part
        self._frame_version = None

    def step(self, *, wait: float, want_frame: bool) -> bool:
        """Ask once; return whether `snapshot` has changed.

        Args:
            wait: seconds for which the source may hold the answer until its status changes; not used while
                a frame is due, which would wait as long.
            want_frame: whether a newer frame would be drawn now.
        """
        before = self.snapshot
        try:
            self.snapshot = self._ask(before, wait, want_frame)
        except NoAnswer as error:
            self._retry = next_retry(self._retry)
            self.snapshot = unanswered(before, error, self._now())
        else:
            self._retry = 0.0
        return self.snapshot != before if self.snapshot.frame is before.frame else True

    def _ask(self, held: Snapshot, wait: float, want_frame: bool) -> Snapshot:
        back = held.away_since is not None
        if back or held.status is None:
            status = self._source.status()
        else:
            status = self._source.status(
                seen=held.status.version, wait=0.0 if want_frame and self._frame_due(held) else wait
            )
        answered = self._now()
        # Versions start again with each process: against those of the one before they mean nothing.
        if back or (held.status is not None and status.version < held.status.version):
            self._frame_version = None
        frame = held.frame
        if want_frame and status.latest_frame is not None:
            newer = self._newer()
            if newer is not None:
                frame, self._frame_version = newer, newer.version
        choices, chosen = self._source.choices()
        return Snapshot(
            url=held.url, is_file=held.is_file, content=self._source.content(), frames=self._source.count(),
            choices=choices, chosen=chosen, status=status, status_at=answered, frame=frame,
        )  # fmt: skip

    def _newer(self) -> LastFrame | None:
        try:
            return self._source.newest(self._frame_version, self._part)
        except Refused:
            if self._part.channel is None:
                raise
        self.ask_for(replace(self._part, channel=None))  # the series that runs now has no such channel
        return self._source.newest(None, self._part)

    def _frame_due(self, held: Snapshot) -> bool:
        # While a series runs, frames come more often than the status is said again. After it, the receiver
        # still copies a frame only once it was asked for: the answer comes with the next request.
        if held.status is None or held.status.latest_frame is None:
            return False
        if held.status.state == "running" or self._frame_version is None:
            return True
        return held.frame is None or held.frame.frame != held.status.latest_frame
