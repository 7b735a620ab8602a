"""The interface between the collector and everything below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header


class Sink(Protocol):
    """Receives series and frames: file, consumers, live view."""

    def begin(self, series: RunningSeries) -> None:
        """Begin a series; its file must exist when this returns."""

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """Take a sound frame; it may replace one that was partial."""

    @property
    def most_run_bytes(self) -> int:
        """Bytes of the largest plain frame of which the running series takes several at once (`frame_run`);
        0 if it takes none."""

    def frame_run(
        self, series: RunningSeries, first: int, frames: Sequence[Frame], status: FrameStatus
    ) -> None:
        """Take consecutive sound frames of one plain blob each and of the same format: all of them, or none
        if this raises.

        Args:
            series: the running series.
            first: index of the first one.
            frames: the frames; none is larger than `most_run_bytes`.
            status: status of each.
        """

    def late_modules(self, series: RunningSeries, index: int, frame: Frame) -> None:
        """Take sound modules of a frame that was taken without them."""

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """End the series, whose account is closed.

        Args:
            series: the series, with its account.
            outcome: how it ended.
            failed: why it ends in Error, in a sentence; "" if it does not.
        """

    def not_taken(self, header: Header, error: Exception) -> None:
        """Note a series that could not begin; the error is raised after this call."""

    def not_taken_frame(self) -> None:
        """Count a dropped frame of the series that could not begin last."""

    def not_taken_end(self) -> None:
        """Note the end message of the series that could not begin last."""

    def refuse(self, error: StinsError) -> None:
        """Count a bad message, because of which others are dropped until the next series begins."""

    def bad_message(self, error: StinsError) -> None:
        """Count a message, or the blob of a frame, that violates the protocol."""
