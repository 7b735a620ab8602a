"""Entry of frames into their series: each is checked, transformed, handed on, and accounted for.

What happens to a frame of the running series:

- in range and sound: stored or delivered, at its own index;
- sound header, corrupt blob: its index is corrupt;
- sent with a part of its pixels: handed on, its index is partial; marked by the sender: discarded;
- there already, at least as good: duplicate, dropped; given up by the gap clock: late, but stored;
- outside the announced range: counted, dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.receiver.connection.numbering import Origin
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.run import Run
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.receiver.series.sink import Sink
from penstock.receiver.transforms.frame_processor import FrameProcessor, Result
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Frame, Start
from penstock.stins.texts import of_series, plural

WHOLE = (FrameStatus.STORED, FrameStatus.DELIVERED)


class Entry(Protocol):
    """Interface for the entry of frames: plain ones, or those joined from several modules."""

    @property
    def run(self) -> Run | None:
        """The run that continues the frame entered last; `None` if each frame is entered by itself."""

    def begin(self, start: Start, resumed: ResumedSeries | None) -> RunningSeries:
        """Return the series that a start message announces.

        Raises:
            StinsError: it announces something impossible.
        """

    def learned(self, start: Start, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return metadata that became known in the series only, behind the transforms; see
        `FrameProcessor.learned`."""

    def take(self, series: RunningSeries, frame: Frame, result: Result | None) -> None:
        """Enter a frame of the running series.

        Args:
            series: the running series.
            frame: frame as sent.
            result: result of a thread for it; `None` without one.
        """


class FrameEntry:
    """Entry of plain frames.

    Args:
        sink: receives sound frames; its exceptions pass through to the caller.
        processor: checks and transforms each frame.
        origin: number of the first frame of a series, see `Origin`.
    """

    def __init__(self, sink: Sink, processor: FrameProcessor, origin: Origin) -> None:
        self._sink = sink
        self._processor = processor
        self._origin = origin
        self.run = Run(sink)

    def begin(self, start: Start, resumed: ResumedSeries | None) -> RunningSeries:
        """Return the series that a start message announces.

        Raises:
            StinsError: it announces something impossible, or more than the memory allows.
        """
        announced, unable = self._processor.begin(start, admitted=resumed is not None)
        if unable is not None and resumed is None:
            self._sink.bad_message(unable)
        return RunningSeries(announced, self._origin, resumed)

    def learned(self, start: Start, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return metadata that became known in the series only; see `Entry.learned`."""
        return self._processor.learned(start, metadata)

    def take(self, series: RunningSeries, frame: Frame, result: Result | None) -> None:
        """Enter a frame of the running series; see `Entry.take`."""
        account, numbering = series.account, series.numbering
        numbering.count(frame.image.msg_number)
        index = numbering.index(frame.image)
        if not account.in_range(index):
            out_of_range(self._sink, series, index, frame)
            return
        if account.is_duplicate(index):
            account.take(index, FrameStatus.STORED)
            return
        try:
            frame = self._processor.process(frame, result)
        except BlobError as error:
            left = self._processor.sound_channels(frame)
            if left is None:
                account.take(index, FrameStatus.CORRUPT)
                series.losses.note(index, error)
                self._sink.bad_message(error)
                return
            frame = left
        image = frame.image
        status = FrameStatus.STORED if series.writes else FrameStatus.DELIVERED
        if image.discard or image.partial is not None:
            status = FrameStatus.DISCARDED if image.discard else FrameStatus.PARTIAL
            if not account.improves(index, status):
                account.take(index, status)
                return
        if status is FrameStatus.PARTIAL:
            partial = BlobError("partial", f"{image.said}: {image.partial}")
            series.losses.note(index, partial)
            self._sink.bad_message(partial)
        try:
            self._sink.frame(series, index, frame, status)
        except Exception:
            account.refuse(index)
            raise
        account.take(index, status)
        if index == account.highest and status in WHOLE and self._processor.passes(frame):
            self.run.open(series, index, frame, status)


def out_of_range(sink: Sink, series: RunningSeries, index: int, frame: Frame) -> None:
    """Count a frame whose index the series does not have."""
    account, image = series.account, frame.image
    account.out_of_range += 1
    what = f"{image.said} is index {index} of {plural(account.planned, 'frame')}"
    remedy = "set source.frame_origin if this detector counts from elsewhere"
    if image.frame is None:
        remedy = "let its sender number the frames of a series (`frame`)"
        if index < 0 and series.resumed is not None:
            what = f"{image.said} has no known place, since the receiver was killed in the series"
    series.losses.note_dropped("out_of_range", f"{what}; {remedy}")
    sink.bad_message(
        StinsError(
            "frame_out_of_range",
            f"{series.name}: {what}; it is not stored. {remedy.capitalize()}{of_series(series.id)}",
        )
    )
