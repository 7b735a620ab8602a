"""The steps of Arm until the hardware takes triggers: what can fail, fails here and not during the series.

`arm_streamer` and `arm_box` call them in order, each for its kind of detector.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from penstock.receiver.client import ReceiverClient, ReceiverRefused
from penstock.receiver.models import SeriesCheck, SeriesCheckResult, Status
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import Checked, Prepared, StreamerClient

ARM_LIMIT = 2.2
"""Seconds for all steps; what takes longer continues in State MOVING. A Tango client waits 3 s."""
PEERS_LIMIT = 1.5
"""Seconds for connections to appear, or for those of a dead peer to vanish: longer than the receiver's pause
between two attempts to connect (`receiver.connection.connecting.PAUSES`)."""
POLL = 0.02
"""Seconds between two queries of the number of peers."""


class ArmRefused(Exception):
    """Arm was refused: `kind` is stable across versions, the sentence says what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def not_idle(sentence: str) -> ArmRefused:
    """Return the refusal for every state but ON, with the sentence of that state."""
    return ArmRefused("not_idle", f"Arm is possible only in the state ON; now: {sentence}")


class Budget:
    """The time left for Arm."""

    def __init__(self, clock: Callable[[], float], limit: float = ARM_LIMIT) -> None:
        self._clock = clock
        self._end = clock() + limit

    def left(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self._end - self._clock())

    def now(self) -> float:
        """Return the time of the clock."""
        return self._clock()


def check_receiver(
    receiver: ReceiverClient, streamer: StreamerClient, settings: Settings, frames: Prepared | Checked,
    endpoint: str, budget: Budget, pause: Callable[[float], object] = time.sleep, *, own_stream: bool = False,
) -> SeriesCheckResult:  # fmt: skip
    """Check that the receiver can take the series, and that no other consumer would take its frames.

    Args:
        receiver: client of the receiver.
        streamer: client of the streamer, which knows its peers.
        settings: settings of the series.
        frames: format of the frames, as far as the streamer knows.
        endpoint: data endpoint of the streamer.
        budget: the time left.
        pause: waits between two queries.
        own_stream: True if the detector streams by itself; then the receiver rotates the frames, and other
            peers are unknown.

    Raises:
        ReceiverRefused, ReceiverUnavailable: the sentence says why.
        ArmRefused: "not_connected", or "other_consumer" if another consumer would take frames.
    """
    question = SeriesCheck(
        filename=settings.filename if settings.save_raw else "",
        frames=settings.planned,
        frame_bytes=frames.frame_bytes or None,
        overwrite=settings.overwrite,
        endpoint=endpoint,
        shape=list(frames.shape) or None,
        dtype=frames.dtype or None,
        source=frames.source,
        **(orientation(settings) if own_stream else {}),
    )
    end = budget.now() + min(PEERS_LIMIT, budget.left())
    while True:
        # Both sides' numbers lag behind the sockets for a moment; only a lasting difference is refused.
        last = budget.now() >= end
        try:
            result = receiver.check(question)
        except ReceiverRefused as refusal:
            if refusal.kind != "not_connected" or last:
                raise
            pause(POLL)
            continue
        if own_stream:
            return result
        peers = streamer.status().peers or 0
        if peers == result.connections and peers > 0:
            return result
        if last:
            break
        pause(POLL)
    if peers > result.connections:
        raise ArmRefused(
            "other_consumer",
            f"{plural(peers, 'consumer is', 'consumers are')} connected to the streamer at "
            f"{endpoint}, but the receiver at "
            f"{receiver.url} accounts for {result.connections}: another program would receive part of the "
            "frames; end the other consumer and call Arm again",
        )
    raise ArmRefused(
        "not_connected",
        f"the receiver at {receiver.url} has {plural(result.connections, 'connection')} and the "
        f"streamer at {endpoint} "
        f"sees {peers}: they are not connected to each other; check that {endpoint} is among the receiver's "
        "endpoints, and that no other program connects to it",
    )


def orientation(settings: Settings) -> dict[str, Any]:
    """Return the orientation that the receiver applies, as fields of `SeriesCheck`."""
    return {"rotation": settings.rotation, "fliplr": settings.fliplr, "flipud": settings.flipud}


def bring_to_idle(streamer: StreamerClient, state: str) -> None:
    """End what is left of a series in a streamer that was found in this state."""
    if state in ("idle", "prepared", "announced"):  # idle: what asked for the series may have been given up
        streamer.cancel()
    elif state in ("arming", "acquiring", "ending"):
        streamer.abort()
    elif state == "fault":
        streamer.reset()


def await_receiver(receiver: ReceiverClient, series: str, budget: Budget, endpoint: str = "") -> Status:
    """Wait until the receiver has begun the series: its file exists. A short series may have ended by then.

    Args:
        receiver: client of the receiver.
        series: id of the series.
        budget: the time left.
        endpoint: where a detector's own box sends, whose consumers cannot be seen; "" for a streamer.

    Raises:
        ReceiverUnavailable: the receiver no longer answers.
        ArmRefused: "receiver_error" or "not_taken" with its sentence, or "not_started" when the time is up.
    """
    status = receiver.status()
    while True:
        if status.state == "error":
            raise ArmRefused(
                "receiver_error",
                f"the receiver at {receiver.url} could not begin the series: {status.error}; "
                "RestartReceiver resets it",
            )
        if status.series is not None and status.series.id == series:
            if not status.series.taken:
                why = status.series.reason.removeprefix("not taken: ")
                raise ArmRefused("not_taken", f"the receiver at {receiver.url} refused the series: {why}")
            return status
        left = budget.left()
        if left <= 0.0:
            raise ArmRefused(
                "not_started",
                f"the receiver at {receiver.url} is {status.state} and has not begun the series "
                f"although the start message was sent; {_hint(status, endpoint)}",
            )
        status = receiver.status(seen=status.version, wait=min(left, 0.5))


def await_expected(receiver: ReceiverClient, series: str) -> Status:
    """Check that the receiver still expects a series that has no start message, or has begun it.

    Raises:
        ReceiverUnavailable: the receiver no longer answers.
        ArmRefused: "receiver_error", "not_taken" or "not_expected".
    """
    status = receiver.status()
    if status.state == "error" or (status.series is not None and status.series.id == series):
        return await_receiver(receiver, series, Budget(time.monotonic, 0.0))
    if status.expected != series:
        raise ArmRefused(
            "not_expected",
            f"the receiver at {receiver.url} no longer expects this series: it was restarted meanwhile, or "
            "another device has announced a series to it; give each detector a receiver of its own",
        )
    return status


def await_idle(receiver: ReceiverClient, series: str, budget: Budget) -> Status:
    """Wait until the receiver has released a withdrawn series, or the time is up; return its last status."""
    status = receiver.status()
    while status.state == "running" and status.series is not None and status.series.id == series:
        left = budget.left()
        if left <= 0.0:
            break
        status = receiver.status(seen=status.version, wait=left)
    return status


def _hint(status: Status, endpoint: str) -> str:
    if status.last_error:
        return f"its last error: {status.last_error}"
    if not endpoint:
        return "look at its log"
    endpoints = ", ".join(item.endpoint for item in status.connections)
    return (
        f"the detector sends at {endpoint}, the receiver connects to {endpoints}: check that these are "
        "the same, and that no other program connects there"
    )
