"""The status of the running or last series."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from pathlib import Path

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.contents import nexus
from penstock.receiver.files.recovery.recover import Recovered
from penstock.receiver.models import Counts, PastSeries, Series
from penstock.receiver.process import memory
from penstock.receiver.series.account import Account
from penstock.receiver.series.running_series import MAX_REASON, RunningSeries
from penstock.stins.messages import Header
from penstock.stins.texts import quoted

MOST_UNTOLD = 1_000
"""Most ended series that wait to be reported: a hanging parent must not cost memory."""


class StatusView:
    """One series at a time, from its beginning to the beginning of the next.

    Args:
        config: configuration of the receiver.
        detector: configured name of the detector.
    """

    def __init__(self, config: ReceiverConfig, detector: str) -> None:
        self.config = config
        """Configuration in use; its regions of interest may change."""
        self._dataset = nexus.dataset_of(detector)
        self._series: Series | None = None
        self._counts = Counts()
        self._dropped = 0  # frames of a series that could not begin, since it was reported last
        self.ended: deque[PastSeries] = deque(maxlen=MOST_UNTOLD)
        """Ended series to be reported, oldest first."""

    @property
    def id(self) -> str | None:
        """Id of the series; `None` before the first."""
        return None if self._series is None else self._series.id

    @property
    def filename(self) -> str | None:
        """File of the series; `None` if nothing is written."""
        return None if self._series is None else self._series.filename

    def recovered(self, recovered: Recovered) -> None:
        """Add the series that a killed process has left."""
        for past in recovered.marked:
            self._has_ended(past.series, past.counts)

    def begin(self, series: RunningSeries, path: Path | None, started: float) -> None:
        """Show a series that begins.

        Args:
            series: the series.
            path: path of its file; `None` if nothing is written.
            started: seconds since 1970 (UTC).
        """
        self.not_taken_end()
        self._series = Series(
            id=series.id,
            filename=str(path) if path else None,
            active=True,
            started=started,
            memory_bytes=memory.announced(self.config, series.sent.header, series.header),
            checksum=series.checksum,
            restarts=len(series.interruptions),
            shape=_stored_shape(series, series.header.shape),
            dtype=series.header.type or "",
            dataset=self._dataset if path else "",
        )

    def first_frame(self, series: RunningSeries, shape: tuple[int, ...], dtype: str) -> None:
        """Take shape and type from the first frame, if the start message did not have them.

        Args:
            series: the running series.
            shape: shape in the frame's header, behind the transforms.
            dtype: type in the frame's header, behind the transforms.
        """
        if self._series is not None and not self._series.dtype:
            self._series = replace(self._series, shape=_stored_shape(series, shape), dtype=dtype)

    def not_taken(self, header: Header, reason: str) -> None:
        """Show a series that was announced but could not begin as the last one, without frames."""
        self.not_taken_end()
        series = Series(
            id=header.series or "", filename=None, active=False, complete=False, taken=False,
            reason=quoted(f"not taken: {reason}", MAX_REASON), started=(now := time.time()), ended=now,
        )  # fmt: skip
        self._has_ended(series, Counts(planned=header.frames))

    def not_taken_frame(self) -> None:
        """Count a dropped frame of the series that could not begin."""
        self._dropped += 1

    def not_taken_end(self) -> None:
        """Report the series that could not begin once more, with the number of its dropped frames."""
        if self._dropped and self._series is not None:
            series, counts = replace(self._series, ended=time.time()), self._with_dropped()
            self._has_ended(series, counts)
            self._dropped = 0

    def _with_dropped(self) -> Counts:
        return replace(self._counts, dropped=self._counts.dropped + self._dropped)

    def end(self, account: Account, *, complete: bool, reason: str) -> None:
        """Show the end of the series, whose account is closed."""
        assert self._series is not None
        # The sentence of an error contains the name of the file, which may be anything.
        reason = quoted(reason, MAX_REASON)
        series = replace(
            self._series, active=False, complete=complete, reason=reason, ended=time.time(),
            lost=account.lost(),
        )  # fmt: skip
        self._has_ended(series, account.counts())

    def _has_ended(self, series: Series, counts: Counts) -> None:
        self._series, self._counts = series, counts
        self.ended.append(PastSeries(series=series, counts=counts))

    def now(
        self, running: RunningSeries | None, stalled_by: str, *, suspended: bool = False
    ) -> tuple[Series | None, Counts]:
        """Return the series to show, and its counts.

        Args:
            running: the running series, if there is one.
            stalled_by: names of the consumers that block the stream; "" for none.
            suspended: whether the connected streamer may not know the running series.
        """
        if running is not None:
            self._counts = running.account.counts()
        shown = self._series
        if shown is not None and running is not None and suspended:
            lost = "the receiver was restarted" if running.unconfirmed else "the streamer was lost"
            reason = f"{lost} during the series, and its next message has not arrived yet"
            shown = replace(shown, unconfirmed=True, reason=reason)
        if shown is not None and stalled_by:
            reason = f"waits for consumer {stalled_by} (when_full: block); does it read?"
            shown = replace(shown, reason=reason)
        return shown, self._with_dropped() if self._dropped else self._counts


def _stored_shape(series: RunningSeries, shape: tuple[int, ...] | None) -> list[int]:
    """Return the shape of a frame in the dataset `data`, from the shape in its header: channels have a
    dataset each, and modules are shown as one image if they form one without rotation."""
    if shape is None or len(shape) != 3:
        return list(shape or ())
    if series.joined is not None:
        layout = series.joined.arranged(*shape[-2:])
        return list(shape if layout is None or layout.is_turned else layout.shape)
    channels = nexus.channel_names(series.header.channels or ())
    return list(shape[1:] if len(channels) == shape[0] else shape)
