"""Where a series goes from here: the one narrow object below the collector."""

from __future__ import annotations

from typing import Protocol

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header


class Sink(Protocol):
    """File, consumers, live view."""

    def begin(self, series: RunningSeries) -> None:
        """A series begins; its file must exist when this returns."""

    def frame(self, series: RunningSeries, index: int, frame: Frame, status: FrameStatus) -> None:
        """Take a sound frame that was not seen before."""

    def late_modules(self, series: RunningSeries, index: int, frame: Frame) -> None:
        """Take sound modules of a frame that was taken without them."""

    def end(self, series: RunningSeries, outcome: Outcome, failed: str = "") -> None:
        """The series has ended, its account is closed.

        Args:
            series: with its account.
            outcome: how it ended.
            failed: why it ends in Error, in a sentence; "" if it does not.
        """

    def not_taken(self, header: Header, error: Exception) -> None:
        """A series could not begin; the error is raised behind this call."""

    def bad_message(self, error: StinsError) -> None:
        """Count a message, or a frame's blob, that is not what the protocol allows."""
