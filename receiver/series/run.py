"""A run: frames that continue the one before them, entered into their series together.

Python takes longer to enter a small frame than to receive it. So each frame of a run is only compared with
the one before; what `FrameEntry.take` does with a frame is then done once for all.
"""

from __future__ import annotations

from typing import Any

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.series.sink import Sink
from penstock.stins.messages import Frame, Message

MOST_FRAMES = 32
"""Most frames that are entered together."""
MOST_BYTES = 2**24
"""Most bytes of them, two blocks of several files: what waits for longer has left the processor's cache."""
MOST_FRAME_BYTES = MOST_BYTES // 2
"""Largest frame of a run, whatever the sink takes."""


class Run:
    """The run that continues the frame entered last, if there is one.

    Args:
        sink: receives the frames; its exceptions pass through to the caller.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._frames: list[Frame] = []
        self._like: tuple[Any, ...] | None = None
        """What all its frames have in common; `None` while no frame may follow."""
        self._refused_for: RunningSeries | None = None
        self._refused = 0
        """Number of frames of this series for which the sink is not asked again: asking takes as long as all
        else."""
        self._is_asked = False
        """True if the sink takes several frames at once, as far as is known since others had their turn."""
        self._at_once = self._most = 0
        """Most frames of this size that are entered together, and of those to come."""
        self._nbytes = 0
        self._number = 0
        self._msg_number: int | None = None
        """Numbers of the next frame."""

    def open(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """Let a run follow a plain frame that has been entered, if frames can follow it and the sink takes
        several at once.

        Args:
            series: the running series.
            index: index of the frame; no frame beyond it may have arrived.
            frame: the frame as sent, which has passed the processor unchanged and without further checks.
            status: its status.
        """
        image, nbytes = frame.image, len(frame.blobs[0])
        if image.frame is None:
            return
        if self._refused and series is self._refused_for:
            self._refused -= 1
            return
        if nbytes > MOST_FRAME_BYTES or nbytes > self._sink.most_run_bytes:
            self._refused_for, self._refused = series, MOST_FRAMES
            return
        self._refused, self._is_asked = 0, True
        self._series, self._status, self._first = series, status, index + 1
        self._at_once = min(MOST_FRAMES, MOST_BYTES // nbytes) if nbytes else MOST_FRAMES
        self._nbytes, self._number = nbytes, image.frame + 1
        self._msg_number = None if image.msg_number is None else image.msg_number + 1
        self._like = (
            image.series, image.shape, image.type, image.compression, image.discard, image.partial
        )  # fmt: skip
        self._limit()

    def take(self, message: Message) -> bool:
        """Take a message if it is the next frame of the run, and return whether it is.

        Raises:
            Exception: see `enter`.
        """
        if self._like is None or type(message) is not Frame:
            return False
        if not self._is_asked:
            if self._nbytes > self._sink.most_run_bytes:
                self._like = None
                return False
            self._is_asked = True
        image, blobs = message.image, message.blobs
        if (
            image.frame != self._number
            or image.msg_number != self._msg_number
            or len(blobs) != 1
            or len(blobs[0]) != self._nbytes
            or (image.series, image.shape, image.type, image.compression, image.discard, image.partial)
            != self._like
        ):
            return False
        self._frames.append(message)
        self._number += 1
        if self._msg_number is not None:
            self._msg_number += 1
        if len(self._frames) == self._most:
            self.enter()
        return True

    def settle(self) -> None:
        """Enter what was taken, and end the run.

        Raises:
            Exception: see `enter`.
        """
        self._like = None
        self.enter()

    def end(self) -> None:
        """End the run, of which nothing may be left to be entered."""
        self._like = None

    def enter(self) -> None:
        """Enter what was taken; the run goes on, also after others had their turn.

        Raises:
            Exception: the sink could not take these frames; they count as missing.
        """
        self._is_asked = False
        if not self._frames:
            return
        frames, self._frames = self._frames, []
        series, first, account = self._series, self._first, self._series.account
        self._first += len(frames)
        series.numbering.count_run(frames[0].image.msg_number, len(frames))
        try:
            self._sink.frame_run(series, first, frames, self._status)
        except Exception:
            self._like = None
            account.refuse(self._first - 1)
            raise
        account.take_run(first, len(frames), self._status)
        self._limit()

    def _limit(self) -> None:
        """Let the run end with the series."""
        planned = self._series.account.planned
        self._most = self._at_once if planned is None else min(self._at_once, planned - self._first)
        if self._most < 1:
            self._like = None
