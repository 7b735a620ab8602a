"""A series that an earlier process of a device has begun, and that the receiver still waits for.

Either device server and streamer were killed together, and both were back before the receiver missed them:
the new streamer does not know the series. Or its end message was lost, and no device was there to find out.
"""

from __future__ import annotations

from penstock.receiver.models import Series
from tests.devices._series.former.record import SeriesRecord

RESTARTED = "the device server was restarted during the series, and nothing more came"
"""Why such a series is ended."""


class LeftOver:
    """The search for such a series, once after each connection to a streamer.

    Args:
        record: record of the device's series.
    """

    def __init__(self, record: SeriesRecord) -> None:
        self._record = record
        self._connected_at: float | None = None
        self._series = ""
        """Id of the series that the receiver was taking when the streamer was found idle."""

    def begin(self) -> None:
        """A streamer has been connected, and is idle."""
        self._connected_at, self._series = self._record.clock(), ""

    def found(self) -> Series | None:
        """Return the series, if there is one; to be called often while the device is idle.

        Either the streamer has ended it, or the receiver says itself that it lost the series' streamer, is
        connected to the next one, and has received nothing of the series from that one.
        """
        record = self._record
        running = record.receiver_status.series if record.receiver_takes and record.receiver_status else None
        if self._connected_at is not None and record.receiver_answered > self._connected_at:
            self._connected_at, self._series = None, running.id if running is not None else ""
        streamer = record.streamer_status
        if running is None or not self._series or running.id != self._series:
            return None
        if streamer is None or streamer.state != "idle":
            return None
        is_abandoned = running.id == streamer.series or (running.unconfirmed and bool(streamer.peers))
        return running if is_abandoned else None
