"""What Arm would say, without arming: the answer of the Tango command Check."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import msgspec

from penstock.devices._series import arming
from penstock.devices._series.arming import Budget
from penstock.devices._series.machine.states import ACTIVE, SeriesState
from penstock.devices._series.machine.view import SeriesView
from penstock.devices._series.refusals import ArmRefused, not_idle
from penstock.devices._series.settings import ValueRefused
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Status
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient, StreamerRefused, StreamerUnavailable

LIMIT = 1.9
"""Seconds for everything but the last query of the receiver, which may take another half second."""
ABSENT = ("unavailable", "not_connected", "other_consumer")
"""Refusals that take time, and do not depend on the settings."""
SLOW = 0.3
"""Seconds of waiting for such a refusal above which it is reused for other clients."""
SHARED = 1.0
"""Seconds for which it is reused: a device serves one command at a time, and ten panels may ask at once."""
REFUSALS = (ArmRefused, StreamerRefused, StreamerUnavailable, ReceiverRefused, ReceiverUnavailable)
T = TypeVar("T")
OWN_PACE = (TriggerMode.INTERNAL, TriggerMode.EXTERNAL)
"""Modes in which the length of a series can be computed."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What Arm would say, and how large the series is."""

    ok: bool
    """Arm would begin a series, unless the hardware refuses or something changes before."""
    kind: str = ""
    """Kind of the refusal: the reason of Arm's DevFailed is "Penstock_" followed by it."""
    sentence: str = ""
    """The refusal in Arm's words; if `ok`, what could not be checked."""
    file: str = ""
    """Path as the receiver sees it; "" if nothing is written, or while it has not been checked."""
    frames: int
    frame_bytes: int = 0
    """Bytes per frame; 0 if unknown."""
    bytes: int = 0
    free_bytes: int | None = None
    """Free bytes on the disk of the file, or else of the data root; `None` if unknown."""
    seconds: float | None = None
    """Length of the series; `None` if the triggers set the pace."""


class Checker:
    """Makes the checks of Arm without changing anything.

    Args:
        receiver: client of the receiver.
        clock: monotonic seconds.
    """

    def __init__(self, receiver: ReceiverClient, clock: Callable[[], float]) -> None:
        self._receiver = receiver
        self._clock = clock
        self._slow: dict[str, tuple[float, Exception]] = {}

    def answer(
        self, view: SeriesView, status: Status | None, streamer: Callable[[], StreamerClient],
        endpoint: str, settings: Settings, period: float, *, unchecked: str = "",
    ) -> Answer:  # fmt: skip
        """Return the answer.

        Args:
            view: the present view of the series.
            status: the receiver's latest snapshot, `None` if it does not answer.
            streamer: returns the streamer, or raises ArmRefused.
            endpoint: data endpoint of the streamer.
            settings: settings of the next series.
            period: period of its frames, in seconds.
            unchecked: what cannot be checked for a detector that streams by itself, in words; "" for others.
        """
        paced = settings.trigger_mode in OWN_PACE and settings.planned is not None
        seconds = settings.frames * period if paced else None
        free = status.free_bytes if status is not None else None
        draft = Answer(
            ok=False, frames=settings.frames, frame_bytes=view.frame_bytes, free_bytes=free, seconds=seconds
        )
        if view.state in ACTIVE:
            draft = msgspec.structs.replace(
                draft, file=view.filename, frames=view.planned,
                seconds=None if view.unplanned else seconds,
            )  # fmt: skip
        try:
            if view.state is not SeriesState.IDLE:
                raise not_idle(view.sentence)
            client, budget = streamer(), Budget(self._clock, LIMIT)
            checked = self._once(client.control, lambda: client.check(settings))
            draft = msgspec.structs.replace(draft, frame_bytes=checked.frame_bytes)
            found = self._once(
                self._receiver.url,
                lambda: arming.check_receiver(
                    self._receiver, client, settings, checked, endpoint, budget, own_stream=bool(unchecked)
                ),
            )
            free = free if found.free_bytes is None else found.free_bytes
            draft = msgspec.structs.replace(
                draft, ok=True, sentence=unchecked, file=found.filename or "", free_bytes=free
            )
        except REFUSALS as error:
            draft = refused(draft, error)
        return msgspec.structs.replace(draft, bytes=draft.frames * draft.frame_bytes)

    def _once(self, side: str, ask: Callable[[], T]) -> T:
        """Ask; if this side kept a client waiting a moment ago, raise the refusal of that time again."""
        until, refusal = self._slow.get(side, (-math.inf, StreamerUnavailable()))
        if self._clock() < until:
            raise refusal
        begun = self._clock()
        try:
            return ask()
        except REFUSALS as error:
            absent = getattr(error, "kind", "unavailable") in ABSENT
            if absent and self._clock() - begun > SLOW:
                self._slow[side] = (self._clock() + SHARED, error)
            raise


def refused(draft: Answer, error: Exception) -> Answer:
    """Return the answer if Arm would raise `error`."""
    default = "refused" if isinstance(error, ValueRefused) else "unavailable"
    return msgspec.structs.replace(draft, kind=getattr(error, "kind", default), sentence=str(error))
