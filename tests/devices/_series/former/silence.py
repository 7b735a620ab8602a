"""The verdict on a receiver or a streamer that does not answer: dead, or its series goes on meanwhile."""

from __future__ import annotations

from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import SeriesState
from tests.devices._series.former.record import SeriesRecord


class Silence:
    """The silence of both sides of one device.

    What counts is the data connection between them, of which each side tells: frames that still arrive are
    worth more than an HTTP interface that does not answer, or a network that is interrupted for a while.

    Args:
        record: record of the device's series.
        limits: time limits.
        remote: True if the streamer may be on another host, so that only the network may be interrupted.
    """

    def __init__(self, record: SeriesRecord, limits: WatchdogLimits, *, remote: bool) -> None:
        self._record = record
        self._limits = limits
        self._remote = remote

    def is_streamer_dead(self) -> bool:
        """Return whether the streamer no longer answers, and is not to be waited for."""
        record = self._record
        if not record.streamer_lost:
            return False
        may_live = self._remote and (record.receiver_silence is not None or record.receiver_is_connected)
        return not may_live or record.streamer_silent() > self._limits.streamer_timeout

    def is_receiver_dead(self) -> bool:
        """Return whether the receiver no longer answers, and is not to be waited for."""
        record, limits, peers = self._record, self._limits, self._peers()
        refuses = record.receiver_refuses
        gone = record.lasts("receiver gone", refuses and peers == 0) > limits.receiver_gone
        refused = record.lasts("receiver refuses", refuses and peers is None) > limits.receiver_refuses
        if gone or refused:
            return True
        if peers and record.view.state is not SeriesState.CLOSING:
            return False
        return record.receiver_silent() > limits.receiver_timeout

    def waits_for_another(self) -> str:
        """Return for whom the receiver waits before it takes any series, as it says; "" for nobody."""
        status = self._record.receiver_status
        is_there = status is not None and self._record.receiver_silence is None
        return status.waits_for if is_there and status is not None and not status.connections else ""

    def warning(self) -> str:
        """Return a sentence about the side that does not answer, or takes nothing; "" while both do."""
        return (
            self.of_streamer()
            or self._of_receiver()
            or self.waits_for_another()
            or self._stalled()
            or self._of_network()
        )

    def of_streamer(self) -> str:
        """Return a sentence about a streamer that does not answer; "" while it does."""
        if not self._record.streamer_lost:
            return ""
        return (
            f"The streamer has not answered for {self._record.streamer_silent():.0f} s: is the network "
            f"interrupted? It is given up after {self._limits.streamer_timeout:g} s."
        )

    def of_absent_receiver(self) -> str:
        """Return a sentence about a receiver that does not answer between series; "" while it does."""
        silence = self._record.receiver_silence
        is_away = self._record.lasts("receiver absent", silence is not None) > self._limits.silence_shown
        return silence or "" if is_away else ""

    def unconnected(self) -> str:
        """Return a warning that no receiver is connected to the streamer; "" if one is."""
        status = self._record.own_streamer_status
        if status is None or status.peers:
            return ""
        if status.peers is None:
            receiver = self._record.receiver_status
            if receiver is None or any(item.connections for item in receiver.connections):
                return ""
            return "The receiver is not connected to the detector's stream; frames wait in the detector."
        if self._record.receiver_silence is None:
            return "No receiver is connected to the streamer; frames wait there."
        return "No receiver is connected, and it does not answer."

    def _of_receiver(self) -> str:
        silent = self._record.receiver_silent()
        if silent < self._limits.silence_shown:
            return ""
        if self._peers() and self._record.view.state is not SeriesState.CLOSING:
            then = "It is still connected to the streamer, and the series goes on."
        elif self._record.receiver_refuses:
            limit = self._limits.receiver_refuses if self._peers() is None else self._limits.receiver_gone
            then = f"Nobody listens at its address; it is given up after {limit:g} s (property ReceiverAway)."
        else:
            then = f"It is given up after {self._limits.receiver_timeout:g} s."
        return f"The receiver has not answered for {silent:.0f} s. {then}"

    def _of_network(self) -> str:
        status = self._record.receiver_status
        silent = max((each.silent_seconds for each in status.connections), default=0) if status else 0
        if silent < self._limits.silence_shown or self._record.receiver_silence is not None:
            return ""
        return (
            f"The host that sends the frames has not answered the receiver for {silent} s: is the network "
            "interrupted? The series goes on when it is back."
        )

    def _stalled(self) -> str:
        """Return a warning that the receiver takes no frames at present; "" if it does."""
        status = self._record.receiver_status
        if status is None or not status.stalled or self._record.receiver_silence is not None:
            return ""
        where = (
            "in the detector" if self._record.own_stream
            else f"at the streamer, {self._record.buffers_used:.0%} of whose buffers are used"
        )  # fmt: skip
        return (
            f"The receiver's data process has not answered for {status.stalled:.0f} s (is its file system "
            f"hanging?); frames wait {where}."
        )

    def _peers(self) -> int | None:
        """Return the receivers that are connected to the streamer; `None` if that cannot be seen now."""
        status = self._record.own_streamer_status
        return None if status is None or self._record.streamer_lost else status.peers
