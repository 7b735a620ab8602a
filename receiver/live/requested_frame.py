"""Requested frames of the running series, and facts of a series, handed over by the data process.

Frames are read from its own open file: no other process may read the file while it grows (see
docs/explanation/architecture.md). The blobs are passed as stored, through shared memory; the HTTP process
unpacks them. One request is served at a time, while a series runs with no more than `SHARE` of the data
process' time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import msgspec

from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.live.request import (
    FrameAnswer,
    FrameRefused,
    Request,
    check_status,
    live_only,
    out_of_range,
)
from penstock.receiver.live.series_facts import SeriesFacts
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Buffer, Frame, Image
from penstock.stins.texts import of_series

log = logging.getLogger(__name__)

SHARE = 0.02
"""Share of the data process' time: after a frame that took 10 ms to read, the next one waits for 0.5 s."""
FACT = -1
"""Index in the shared memory of what is no frame."""
NOT_KNOWN = "the data process has not taken this series, or was restarted after it; its file may have more"


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
        self._facts: SeriesFacts | None = None
        self._request: tuple[int, Request] | None = None
        self._due = 0.0

    def begin(self, series: RunningSeries, channels: Sequence[str] = ()) -> None:
        """Begin a series: keep what a viewer needs of it, until the next one begins."""
        self._shared.begin(series.metadata, channels)
        self._facts = SeriesFacts(series)

    def first_frame(self, frame: Frame) -> None:
        """Learn the format of the frames, which the start message may not have."""
        if self._facts is not None:
            self._facts.first_frame(frame)

    def forget(self) -> None:
        """Forget the last series: another one was announced, and could not begin."""
        self._facts = None

    def ask(self, ticket: int, request: Request) -> None:
        """Take a request; it replaces one that still waits, whose client has given up."""
        self._request = (ticket, request)

    def step(self, series: RunningSeries | None, writer: SeriesWriter | None) -> bool:
        """Serve the request if it is due; return whether there is a new answer."""
        began = self._clock()
        if self._request is None:
            return False
        at_once = series is None or self._request[1].what == "geometry"  # which takes next to no time
        if began < self._due and not at_once:
            return False
        (ticket, request), self._request = self._request, None
        kind = message = ""
        try:
            if request.what == "frame":
                self._show(request.index, series, writer)
            else:
                self._show_fact(request)
        except FrameRefused as refusal:
            kind, message = refusal.kind, str(refusal)
        except Exception as error:  # whatever a start message may have: who looks ends no series
            log.exception("%s cannot be handed over", request.what)
            kind, message = (
                "not_read",
                f"{request.what} cannot be handed over: {error!r}; see the receiver's log",
            )
        now = self._clock()
        self._due = now if series is None else max(self._due, now + (now - began) / SHARE)
        pause = max(0.0, self._due - now)
        self.answer = FrameAnswer(ticket, kind, message, pause)
        return True

    def _show(self, index: int, series: RunningSeries | None, writer: SeriesWriter | None) -> None:
        if series is None:
            raise FrameRefused("not_running", "the series has ended")
        planned = series.account.planned
        if planned is not None and index >= planned:
            raise out_of_range(index, planned, series.id)
        if writer is None:
            raise live_only(series.id)
        status = series.account.status(index)
        check_status(index, status, series.id)
        try:
            frame = writer.read(index)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise FrameRefused(
                "unreadable", f"frame {index} cannot be read back from {writer.path}: {error}"
            ) from error
        if not self._shared.show(series.id, index, frame, status=status):
            raise FrameRefused("too_large", f"frame {index} is too large to be shown{of_series(series.id)}")

    def _show_fact(self, request: Request) -> None:
        facts = self._facts
        if facts is None:
            raise FrameRefused("not_known", f"{NOT_KNOWN}{of_series(request.series or '')}")
        if request.series not in (None, facts.id):
            raise FrameRefused(
                "no_such_series", f"the running, or last, series is {facts.id}, not {request.series:.256}"
            )
        if request.what == "mask":
            mask = facts.mask(request.channel)
            self._put(facts.id, mask.shape, mask.dtype.name, memoryview(mask.data).cast("B"))
            return
        if request.what == "lost":
            text = msgspec.json.encode(facts.lost(request.index, request.limit))
        else:
            text = msgspec.json.encode(facts.scan() if request.what == "scan" else facts.geometry())
        self._put(facts.id, (len(text),), "uint8", text)

    def _put(self, series: str, shape: tuple[int, ...], dtype: str, blob: Buffer) -> None:
        image = Image(shape=shape, type=dtype, compression="none", frame=None)
        if not self._shared.show(series, FACT, Frame(image, [blob])):
            raise FrameRefused("too_large", f"it is too large to be handed over{of_series(series)}")
