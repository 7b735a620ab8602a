"""The time limits of a series' watchdog."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WatchdogLimits:
    """The watchdog's limits, in seconds unless stated otherwise."""

    receiver_timeout: float = 30.0
    """Time without an answer from the receiver, and without a data connection to it, until it counts as
    dead."""
    receiver_gone: float = 2.0
    """Limit for a receiver that has lost its data connection and at whose address nobody listens, or which
    waits until another one has ended."""
    receiver_refuses: float = 5.0
    """Limit for a receiver at whose address nobody listens, where its data connection cannot be seen."""
    streamer_timeout: float = 30.0
    """Time without a snapshot of a streamer on another host, while its data connection may stand."""
    silence_shown: float = 2.0
    """Time without an answer, until it is shown."""
    left_over: float = 2.0
    """Time from the discovery of an earlier process' series at the receiver, until that is told to end it."""
    disagreement: float = 1.5
    """Time from one side's report that the series is over, until the other has to agree."""
    arming: float = 60.0
    """Time for slow hardware to become ready."""
    stop: float = 2.0
    """Time after Stop, beyond the running exposure, until it becomes an Abort."""
    sending: float = 35.0
    """Time after Stop without a frame sent, until it becomes an Abort; longer than the streamer's own
    limits."""
    abort: float = 3.0
    """Time after Abort, until the streamer counts as stuck."""
    box: float = 15.0
    """Time after Stop or Abort, for the box of a detector that streams by itself: its calls may take
    seconds."""
    rest: float = 1.5
    """Time from the last frame until a box that is still armed is disarmed: some stay armed for ever."""
    lasting: float = 0.3
    """Time for which a box is in fault, or busy, without a series: longer than a snapshot can be out of
    date."""
    explained: float = 0.3
    """Time after the end message of a box, with frames missing, until the receiver is told why."""
    end_lost: float = 3.0
    """Time after the end message, without an end or a new frame at the receiver, until it is told to stop."""
    closing: float = 10.0
    """Time for the receiver to close the file after it was told to stop."""
    buffers: float = 0.5
    """Share of the streamer's used buffers above which a warning is given."""
    drained: float = 0.5
    """Time after a failure, without a new frame at the receiver, until it is told to stop."""
    final_counts: float = 2.5
    """Time for the other side to end after a failure, until the counts are final."""

    @classmethod
    def of(cls, timeout: float, away: float) -> WatchdogLimits:
        """Return the limits of a device.

        Args:
            timeout: without an answer from the receiver, in seconds.
            away: for a receiver that is updated, or moves.
        """
        return cls(
            receiver_timeout=max(timeout, away), receiver_gone=away,
            receiver_refuses=max(away, cls.receiver_refuses),
            sending=max(cls.sending, away + cls.receiver_refuses),
        )  # fmt: skip
