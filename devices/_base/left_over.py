"""A series that an earlier process of a device has begun, and that the receiver still waits for.

Device server and streamer were killed together, and both were back before the receiver missed them. The new
streamer does not know the series, which no message will end.
"""

from __future__ import annotations

from penstock.devices._base.series_record import SeriesRecord
from penstock.receiver.models import Series


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

        The receiver says itself that it lost the series' streamer, is connected to the next one, and has
        received nothing of the series from that one.
        """
        record = self._record
        running = record.receiver_status.series if record.receiver_takes and record.receiver_status else None
        if self._connected_at is not None and record.receiver_answered > self._connected_at:
            self._connected_at, self._series = None, running.id if running is not None else ""
        streamer = record.streamer_status
        is_idle = streamer is not None and streamer.state == "idle" and bool(streamer.peers)
        if running is None or running.id != self._series or not running.unconfirmed or not is_idle:
            return None
        return running
