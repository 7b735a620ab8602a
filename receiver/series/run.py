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
        """For so many frames of this series the sink is not asked again, which takes as long as all else."""
        self._most = 0
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
        left = MOST_FRAMES if series.account.planned is None else series.account.planned - index - 1
        if image.frame is None or left < 1:
            return
        if self._refused and series is self._refused_for:
            self._refused -= 1
            return
        if nbytes > MOST_FRAME_BYTES or nbytes > self._sink.most_run_bytes:
            self._refused_for, self._refused = series, MOST_FRAMES
            return
        self._refused = 0
        self._series, self._status, self._first = series, status, index + 1
        most = min(MOST_FRAMES, MOST_BYTES // nbytes) if nbytes else MOST_FRAMES
        self._most, self._nbytes, self._number = min(left, most), nbytes, image.frame + 1
        self._msg_number = None if image.msg_number is None else image.msg_number + 1
        self._like = (
            image.series, image.shape, image.type, image.compression, image.discard, image.partial
        )  # fmt: skip

    def take(self, message: Message) -> bool:
        """Take a message if it is the next frame of the run, and return whether it is.

        Raises:
            Exception: see `settle`.
        """
        if self._like is None or type(message) is not Frame:
            return False
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
            self.settle()
            self.open(self._series, self._first - 1, message, self._status)
        return True

    def settle(self) -> None:
        """Enter what was taken, and end the run.

        Raises:
            Exception: the sink could not take these frames; they count as missing.
        """
        self._like = None
        if not self._frames:
            return
        frames, self._frames = self._frames, []
        series, first, account = self._series, self._first, self._series.account
        self._first += len(frames)
        series.numbering.count_run(frames[0].image.msg_number, len(frames))
        try:
            self._sink.frame_run(series, first, frames, self._status)
        except Exception:
            account.refuse(self._first - 1)
            raise
        account.take_run(first, len(frames), self._status)
