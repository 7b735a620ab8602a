"""The series sender: it numbers the messages of a series and passes them to the PUSH socket.

A message has a number only once ZeroMQ has taken it, so that an absent receiver leaves no gap.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.stins.checksums import checksums
from penstock.stins.messages import Buffer, EndReason, Header, Image, SeriesEnd
from penstock.stins.series import SeriesEncoder, SeriesState
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.push_socket import PushSocket, default_hwm
from penstock.streamer.camera.ring import Tracker
from penstock.streamer.camera.series import Series, Taken

log = logging.getLogger(__name__)

TICK = 0.02
"""Seconds between two checks of the series while no receiver takes its frames."""
TELL_AFTER = 1.0
"""Seconds without room after which it is logged: short waits are normal back-pressure."""
START_PATIENCE = 0.7
"""Seconds for the start message: a client waits for the answer."""
ABORT_PATIENCE = 0.3
"""Seconds for the end message after Abort."""
NOBODY_PATIENCE = 5.0
"""Seconds that an ending series waits for a receiver to connect again, unless its settings have more."""
STALLED_PATIENCE = 30.0
"""Seconds that an ending series waits for a connected receiver that takes nothing."""


class SeriesSender:
    """The sender of one engine's series over one socket; used by one thread, except for `blocked`."""

    def __init__(
        self,
        push: PushSocket,
        clock: Clock,
        changed: Callable[[], None],
        hwm: int | None = None,
        checksum: str | None = None,
    ) -> None:
        self._push = push
        self._clock = clock
        self._changed = changed
        self._hwm = hwm
        self._checksum = checksum
        self._encoder = SeriesEncoder()
        self.blocked = False
        """True while a frame is ready and no receiver takes it."""

    def announce(self, header: Header, metadata: Mapping[str, Any]) -> None:
        """Send the start message.

        Raises:
            Refused: no receiver takes it; nothing was sent.
        """
        self._push.limit(self._hwm or default_hwm(header.frame_bytes or 0))
        number = self._encoder.msg_number
        parts = self._encoder.start(msgspec.structs.replace(header, checksum=self._checksum), metadata)
        deadline = self._clock.monotonic() + START_PATIENCE
        if self._hand_over(parts, lambda: self._clock.monotonic() < deadline) is not None:
            return
        self._encoder.state, self._encoder.msg_number = SeriesState.IDLE, number
        peers = len(self._push.peers)
        if peers:
            raise Refused(
                "receiver_stalled",
                f"{peers} receiver connected to {self._push.endpoint} took no start message in "
                f"{START_PATIENCE:g} s: its queue is full; is it still busy, or stuck?",
            )
        raise Refused(
            "no_receiver",
            f"no receiver is connected to {self._push.endpoint}; start one whose source has this endpoint",
        )

    def stream(self, series: Series) -> None:
        """Send the frames of a series until its camera has ended, or it is aborted."""
        while (taken := series.next_frame()) is not None:
            if series.aborting or "undelivered" in series.lost:
                series.ring.release(taken.slot)
                if not series.aborting:
                    series.lose("undelivered")
                continue
            tracker = self._send_frame(series, taken)
            series.ring.release(taken.slot, tracker)
            if tracker is not None:
                series.sent += 1
                self._changed()
            elif not series.aborting:
                series.lose("undelivered")

    def end(self, series: Series, end: SeriesEnd, *, lose: bool = False) -> bool:
        """Send the end message; return false if no receiver took it. With `lose`, only pretend to."""
        number = self._encoder.msg_number
        parts = self._encoder.end(end)
        if lose:
            log.warning("end message of series %s lost on request", series.id)
            return True
        start = self._clock.monotonic()

        def keep_trying() -> bool:
            waited = self._clock.monotonic() - start
            if series.aborting:
                return waited < ABORT_PATIENCE
            return "undelivered" not in series.lost and waited < self._patience(series)

        sent = self._hand_over(parts, keep_trying) is not None
        if not sent:
            self._encoder.msg_number = number
            log.error("series %s: no receiver took the end message", series.id)
        return sent

    def _send_frame(self, series: Series, taken: Taken) -> Tracker | None:
        exposure, shape = taken.exposure, series.orientation.shape
        memory = series.ring.memory(taken.slot)[: series.format.frame_bytes]
        blobs = _blobs(memory, exposure.nbytes, shape)
        if series.orientation.active:
            series.orientation(memory)
        number, state = self._encoder.msg_number, self._encoder.state
        part = self._encoder.image(
            Image(
                shape=shape,
                type=series.format.dtype,
                compression=series.format.compression,
                frame=exposure.index,
                chunks=(1, *shape[1:]) if len(shape) == 3 else None,
                exposure_time=exposure.exposure_time,
                series=series.id,
                trigger=exposure.index // series.settings.n_frames_per_trigger,
                timestamp=taken.timestamp,
                timestamp_hw=exposure.timestamp_hw,
                checksums=None if self._checksum is None else checksums(self._checksum, blobs),
            )
        )
        parts: list[Buffer] = [part, *blobs]
        tracker = self._push.try_send(parts)
        if tracker is None:
            tracker = self._wait_for_room(series, parts)
        if tracker is None:
            self._encoder.msg_number, self._encoder.state = number, state
        return tracker

    def _wait_for_room(self, series: Series, parts: list[Buffer]) -> Tracker | None:
        begun = self._clock.monotonic()
        since: float | None = None
        logged = False

        def keep_trying() -> bool:
            nonlocal since, logged
            if not logged and self._clock.monotonic() - begun > TELL_AFTER:
                logged = True
                connected = len(self._push.peers)
                log.warning(
                    "series %s: no receiver takes frame %d (%d connected)", series.id, series.sent, connected
                )
            if series.aborting:
                return False
            if series.reason is EndReason.COMPLETE and not series.camera_done:
                return True  # the ring bounds this wait: the camera overruns it if it continues
            since = self._clock.monotonic() if since is None else since
            return self._clock.monotonic() - since < self._patience(series)

        return self._hand_over(parts, keep_trying)

    def _patience(self, series: Series) -> float:
        return STALLED_PATIENCE if self._push.peers else max(NOBODY_PATIENCE, series.settings.receiver_away)

    def _hand_over(self, parts: Sequence[Buffer], keep_trying: Callable[[], bool]) -> Tracker | None:
        """Send when there is room, as long as `keep_trying()` is true; return `None` if given up."""
        while (tracker := self._push.try_send(parts)) is None:
            if not self.blocked:
                self.blocked = True
                self._changed()
            if not keep_trying():
                break
            self._push.wait_writable(TICK)
        if self.blocked:
            self.blocked = False
            self._changed()
        return tracker


def _blobs(memory: Any, nbytes: int | tuple[int, ...] | None, shape: tuple[int, ...]) -> list[memoryview]:
    """Return the blobs of a frame in its buffer: one, or k consecutive ones."""
    count = shape[0] if len(shape) == 3 else 1
    if nbytes is None:
        nbytes = len(memory)
    sizes = nbytes if isinstance(nbytes, tuple) else (nbytes // count,) * count
    view, blobs, start = memoryview(memory), [], 0
    for size in sizes:
        blobs.append(view[start : start + size])
        start += size
    return blobs
