"""What a device knows of its series: its state, both sides' latest snapshots, and since when; frozen.

The machine makes each of them from the one before (`draft.py`); what follows from them is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.view import SeriesView
from penstock.receiver.models import Series, Status
from penstock.streamer.camera.driver import StreamerStatus
from penstock.streamer.camera.settings import Settings, TriggerMode


class Lasting(Enum):
    """Conditions whose duration counts."""

    BOX_IN_FAULT = auto()
    BOX_BUSY = auto()
    LEFT_OVER = auto()
    """The receiver takes a series of an earlier process."""
    EVERY_FRAME_IN = auto()
    """The receiver has every frame, and a box is still armed."""
    OTHER_CONSUMERS = auto()
    """The streamer has more consumers than the receiver accounts for."""
    OTHER_SERIES = auto()
    """The streamer tells of another series."""
    RECEIVER_WAITS = auto()
    """The receiver waits until another one has ended."""
    RECEIVER_OVER = auto()
    """The receiver does not take the series any more."""
    RECEIVER_GONE = auto()
    """Nobody listens at the receiver's address, and its data connection is lost."""
    RECEIVER_REFUSES = auto()
    """Nobody listens at the receiver's address, and its data connection cannot be seen."""
    RECEIVER_ABSENT = auto()
    """The receiver does not answer between series."""


@dataclass(frozen=True)
class Mark:
    """What was seen last of something that changes, and since when it has not."""

    seen: object
    since: float


@dataclass(frozen=True)
class BoxCall:
    """A call that sets or resets the detector's own box."""

    number: int
    what: str
    """What it does, for a sentence: names of parameters, or `RESET`."""
    awaited: bool = True
    """True while a client waits for it."""
    over: bool = False
    error: str = ""
    """Why it was refused, once it is over."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts; times are monotonic seconds unless stated otherwise."""

    limits: WatchdogLimits
    remote: bool = False
    """True if the streamer may be on another host, so that only the network may be interrupted."""
    view: SeriesView = field(default_factory=partial(SeriesView, sentence="The streamer is being started."))
    before: SeriesView = field(default_factory=SeriesView)
    """View before the last Arm: it is shown again if that is refused."""
    since_state: float = 0.0
    since: Mapping[Lasting, float] = field(default_factory=dict)
    """Since when a condition has held in this state without a break."""
    progress: Mark = Mark(None, 0.0)
    """Frames sent and taken."""
    last_trigger: Mark = Mark(None, 0.0)
    """Triggers and frames."""

    # The streamer
    connected: bool = False
    """True if a streamer has been reached."""
    streamer_status: StreamerStatus | None = None
    streamer_lost: bool = False
    streamer_answered: float = 0.0
    own_stream: bool = False
    """True if the detector's own box sends the frames."""
    call: BoxCall | None = None
    calls: int = 0
    """Number of calls of the box so far."""
    box_changed: bool = False
    """True if the box was armed since its values were read."""

    # The receiver
    receiver_status: Status | None = None
    receiver_silence: str | None = None
    """Why the receiver does not answer; `None` while it does."""
    receiver_refuses: bool = False
    """True if nobody listens at the receiver's address."""
    receiver_answered: float = 0.0
    found_idle_at: float | None = None
    """When a streamer was found idle, until the receiver has told what it takes."""
    left_over: str = ""
    """Id of the series that the receiver was taking when the streamer was found idle."""
    looked_back: bool = False
    """True once the receiver's series of an earlier process was taken over, or there was none."""

    # The series
    number: int = 0
    """Number of the series that was armed last, counted from the start of this device."""
    settings: Settings | None = None
    armed_by: str = ""
    awaited: bool = False
    """True while the client waits for the answer to Arm: a failure then is a refusal, not a FAULT."""
    refusal: Exception | None = None
    """Why Arm was refused, for its client."""
    named_at: float = 0.0
    """Seconds since 1970 (UTC) at which the series got its id."""
    ready: bool = False
    """True if the hardware has taken triggers in this series."""
    failure: str = ""
    aborted: bool = False
    stopped_by: str = ""
    """Why the series was stopped without a client's request, in words; "" otherwise."""
    ended_alone: bool = False
    """True if the box has ended the series although nobody had called Stop or Abort here."""
    other_consumers: str = ""
    """Other consumers that received frames of this series, in words; "" if there were none."""
    expects: bool = False
    """True if the stream of the series has no start message: the receiver was told to expect it."""
    announced_end: str = ""
    """Why Stop or Abort ends the series, as the receiver was told; "" before."""
    withdrawn: bool = False
    """True if the receiver was told not to expect the series any more."""
    told_why: bool = False
    """True if the receiver was told why the box has ended the series."""
    told_to_stop: bool = False
    """True if the receiver was told to stop, since the end message will not reach it."""
    ended_unseen: bool = False
    """True if the series has ended here before the receiver had ended it."""

    # The streamer, for this series

    @property
    def reachable(self) -> bool:
        """True if a streamer is connected and answers."""
        return self.connected and not self.streamer_lost

    @property
    def own_streamer_status(self) -> StreamerStatus | None:
        """The streamer's snapshot if it belongs to this series."""
        status = self.streamer_status
        return status if status is not None and status.series == self.view.series else None

    @property
    def peers(self) -> int | None:
        """Receivers that are connected to the streamer; `None` if that cannot be seen now."""
        status = self.own_streamer_status
        return None if status is None or self.streamer_lost else status.peers

    @property
    def buffers_used(self) -> float:
        """Share of the streamer's buffers that is used; 0 if it is unknown."""
        status = self.own_streamer_status
        return status.ring_used / status.ring_total if status is not None and status.ring_total else 0.0

    @property
    def waits_for_first_trigger(self) -> bool:
        """True if the series needs triggers and has had none yet."""
        status, settings, view = self.own_streamer_status, self.settings, self.view
        if settings is None or settings.trigger_mode is TriggerMode.INTERNAL:
            return False
        return not (view.acquired or view.triggered or (status is not None and status.triggered))

    @property
    def triggered_frames(self) -> int:
        """Frames for which triggers have come, as far as known."""
        status, view = self.own_streamer_status, self.view
        return max(view.triggered, view.acquired, status.triggered if status is not None else 0)

    @property
    def every_frame_in(self) -> bool:
        """True if the receiver has every frame of this series, and the streamer is still running it."""
        status, counts = self.own_streamer_status, self.view.counts
        if status is None or status.state != "acquiring" or self.own_receiver_series is None:
            return False
        return bool(counts.planned) and counts.pending == 0

    # The receiver, for this series

    @property
    def own_receiver_series(self) -> Series | None:
        """The receiver's series if it is this one."""
        series = self.receiver_status.series if self.receiver_status is not None else None
        return series if series is not None and series.id == self.view.series else None

    @property
    def begun(self) -> bool:
        """True if the receiver has begun this series: its file exists."""
        if self.own_receiver_series is not None:
            return True
        return bool(self.view.counts.received) if self.expects else self.ready

    @property
    def receiver_expects(self) -> bool:
        """True if the receiver waits for the first frame of this series."""
        status = self.receiver_status
        return bool(self.view.series) and status is not None and status.expected == self.view.series

    @property
    def receiver_is_connected(self) -> bool:
        """True if the receiver has told that a streamer is connected to it."""
        status = self.receiver_status
        return status is not None and any(each.connections for each in status.connections)

    @property
    def receiver_is_idle(self) -> bool:
        """True if the receiver answers and is taking no series."""
        return self._receiver_is("idle")

    @property
    def receiver_takes(self) -> bool:
        """True if the receiver answers and is taking a series, whoever armed it."""
        return self._receiver_is("running")

    @property
    def receiver_runs(self) -> bool:
        """True if the receiver is taking this series."""
        status = self.receiver_status
        return status is not None and status.state == "running" and self.own_receiver_series is not None

    def _receiver_is(self, state: str) -> bool:
        status = self.receiver_status
        return self.receiver_silence is None and status is not None and status.state == state

    # Since when

    def in_state(self, now: float) -> float:
        """Return the seconds spent in the present state."""
        return now - self.since_state

    def receiver_silent(self, now: float) -> float:
        """Return the seconds without an answer from the receiver; 0 while it answers."""
        return 0.0 if self.receiver_silence is None else now - self.receiver_answered

    def streamer_silent(self, now: float) -> float:
        """Return the seconds since the streamer's last snapshot."""
        return now - self.streamer_answered
