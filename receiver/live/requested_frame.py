"""Requested frames of the running series: the data process reads them from its own open file.

No other process may read the file while it grows (see docs/explanation/architecture.md). The blobs are
passed as stored, through shared memory; the HTTP process unpacks them. One request is served at a time, with
no more than `SHARE` of the data process' time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.live.frame_refusal import FrameRefused, check_status, live_only, out_of_range
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.texts import of_series

SHARE = 0.02
"""Share of the data process' time: after a frame that took 10 ms to read, the next one waits for 0.5 s."""


class FrameAnswer(msgspec.Struct, frozen=True):
    """The answer to a request: the frame is in the shared memory, or `message` says why it is not."""

    ticket: int
    kind: str = ""
    message: str = ""


class RequestedFrames:
    """The data process' side of the requests.

    Args:
        shared: memory in which the HTTP process finds the frame.
        clock: monotonic seconds; injected in tests.
    """

    def __init__(self, shared: LastFrame, clock: Callable[[], float] = time.monotonic) -> None:
        self.answer = FrameAnswer(0)
        """Answer to the latest request that was served."""
        self._shared = shared
        self._clock = clock
        self._request: tuple[int, int] | None = None
        self._due = 0.0

    def begin(self, metadata: Mapping[str, Any], channels: Sequence[str] = ()) -> None:
        """Begin a series: keep the metadata that a viewer needs."""
        self._shared.begin(metadata, channels)

    def ask(self, ticket: int, index: int) -> None:
        """Take a request; it replaces one that still waits, whose client has given up."""
        self._request = (ticket, index)

    def step(self, series: RunningSeries | None, writer: SeriesWriter | None) -> bool:
        """Serve the request if it is due; return whether there is a new answer."""
        began = self._clock()
        if self._request is None or began < self._due:
            return False
        (ticket, index), self._request = self._request, None
        try:
            self._show(index, series, writer)
            self.answer = FrameAnswer(ticket)
        except FrameRefused as refusal:
            self.answer = FrameAnswer(ticket, refusal.kind, str(refusal))
        now = self._clock()
        self._due = now + (now - began) / SHARE
        return True

    def _show(self, index: int, series: RunningSeries | None, writer: SeriesWriter | None) -> None:
        if series is None:
            raise FrameRefused("not_running", "the series has ended")
        planned = series.account.planned
        if planned is not None and index >= planned:
            raise out_of_range(index, planned, series.id)
        if writer is None:
            raise live_only(series.id)
        check_status(index, series.account.status(index), series.id)
        try:
            frame = writer.read(index)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise FrameRefused(
                "unreadable", f"frame {index} cannot be read back from {writer.path}: {error}"
            ) from error
        if not self._shared.show(series.id, index, frame):
            raise FrameRefused("too_large", f"frame {index} is too large to be shown{of_series(series.id)}")
