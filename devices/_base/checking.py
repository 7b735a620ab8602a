"""What Arm would say, without arming: the answer of the Tango command Check."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import msgspec

from penstock.devices._base import arming
from penstock.devices._base.arming import ArmRefused, Budget
from penstock.devices._base.attributes import ValueRefused
from penstock.devices._base.series_view import SeriesView
from penstock.devices._base.states import ACTIVE, SeriesState
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Status
from penstock.streamer.client import StreamerClient, StreamerRefused, StreamerUnavailable
from penstock.streamer.settings import Settings, TriggerMode

LIMIT = 1.9
"""Seconds for everything, before the last question to the receiver, which may take half of one."""
ABSENT = ("unavailable", "not_connected", "other_consumer")
"""Refusals that come late, and have nothing to do with the settings."""
SLOW = 0.3
"""Seconds of waiting for one of these from which it is shared with others who ask."""
SHARED = 1.0
"""Seconds for which it is: a device serves one command at a time, and ten panels ask after each edit."""
REFUSALS = (ArmRefused, StreamerRefused, StreamerUnavailable, ReceiverRefused, ReceiverUnavailable)
T = TypeVar("T")
OWN_PACE = (TriggerMode.INTERNAL, TriggerMode.EXTERNAL)
"""Modes in which the detector's own clock says how long a series takes."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What Arm would say, and how large the series is."""

    ok: bool
    """Arm would begin a series, unless the hardware refuses, or something changes before."""
    kind: str = ""
    """Of the refusal: the reason of Arm's DevFailed is this behind "Penstock_"."""
    sentence: str = ""
    """The refusal, as Arm would say it; where `ok`, what could not be checked."""
    file: str = ""
    """As the receiver sees it; "" when nothing is written, or before it has been found good."""
    frames: int
    frame_bytes: int = 0
    """0 when unknown."""
    bytes: int = 0
    free_bytes: int | None = None
    """On the disk of the file, or else of the data root; `None` when nobody says."""
    seconds: float | None = None
    """That the series takes; `None` where whoever triggers sets the pace."""


class Checker:
    """Asks what Arm asks, and changes nothing.

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
            view: the series as it stands.
            status: the receiver's latest snapshot, `None` when it does not answer.
            streamer: gives the streamer, or raises ArmRefused.
            endpoint: of the streamer's data.
            settings: of the next series.
            period: of its frames, in seconds.
            unchecked: of a detector that streams by itself: what nobody can tell, in words; "" of others.
        """
        seconds = settings.frames * period if settings.trigger_mode in OWN_PACE else None
        free = status.free_bytes if status is not None else None
        draft = Answer(
            ok=False, frames=settings.frames, frame_bytes=view.frame_bytes, free_bytes=free, seconds=seconds
        )
        if view.state in ACTIVE:
            draft = msgspec.structs.replace(
                draft, file=view.filename, frames=0 if view.endless else view.planned,
                seconds=None if view.endless else seconds,
            )  # fmt: skip
        try:
            if view.state is not SeriesState.IDLE:
                raise arming.not_idle(view.sentence)
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
        """Ask, unless this side kept somebody waiting a moment ago: then its refusal of then."""
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
    """Return the answer when Arm would raise `error`."""
    default = "refused" if isinstance(error, ValueRefused) else "unavailable"
    return msgspec.structs.replace(draft, kind=getattr(error, "kind", default), sentence=str(error))
