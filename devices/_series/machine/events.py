"""What happens to a series: snapshots of both sides, commands, results of calls, and ticks."""

from __future__ import annotations

import msgspec

from penstock.devices._series.machine.procedures import Step
from penstock.receiver.models import SeriesCheckResult, Status
from penstock.service.models import NoAnswer
from penstock.streamer.camera.driver import Description, Prepared, StreamerStatus
from penstock.streamer.camera.settings import Settings


class Event(msgspec.Struct, frozen=True):
    """An event; each kind is a class of its own."""


# Both sides


class StreamerTold(Event, frozen=True):
    """A snapshot of the streamer; `None` if none has arrived for too long."""

    status: StreamerStatus | None


class ReceiverTold(Event, frozen=True):
    """A snapshot of the receiver, or why there is none."""

    status: Status | NoAnswer


class FormatFound(Event, frozen=True):
    """The format of the next series' frames; 0, () and "" if unknown."""

    frame_bytes: int
    shape: tuple[int, ...]
    dtype: str


class Connecting(Event, frozen=True):
    """The streamer is being started or reached; the one before is gone."""


class Connected(Event, frozen=True):
    """A streamer has been reached."""

    description: Description
    status: StreamerStatus


class NotConnected(Event, frozen=True):
    """No streamer could be started or reached."""

    error: str


class Tick(Event, frozen=True):
    """Time has passed.

    Attributes:
        died: how the streamer's process ended, `None` while it lives.
        armed_limit: most seconds from Arm to the first trigger; 0 for ever.
        trigger_limit: most seconds from a trigger or frame to the next; 0 for ever.
    """

    died: str | None = None
    armed_limit: float = 0.0
    trigger_limit: float = 0.0


# Commands


class Arm(Event, frozen=True):
    """Begin a series with these settings, for this client, in words."""

    settings: Settings
    armed_by: str


class CallerGone(Event, frozen=True):
    """The client that has called Arm waits no longer."""


class Trigger(Event, frozen=True):
    """A SoftwareTrigger is being sent, for so many frames: the next one has to wait."""

    frames: int


class TriggerRefused(Event, frozen=True):
    """It was refused; `triggered` is the earlier count."""

    triggered: int


class Stop(Event, frozen=True):
    """Finish the running frame and complete the file; `cause` if no client has requested it."""

    cause: str = ""


class Abort(Event, frozen=True):
    """Drop queued frames and mark the file as aborted; `by` if no client has requested it."""

    by: str = ""


class ProcessEnds(Event, frozen=True):
    """The device's process, by which the series of a box is ended, too."""

    by: str


class SetBox(Event, frozen=True):
    """Set parameters of the box; their names."""

    names: str


class ResetBox(Event, frozen=True):
    """Bring the box to idle, whatever it is doing."""


class StreamerReset(Event, frozen=True):
    """The streamer has left its fault."""


class Reconnect(Event, frozen=True):
    """The streamer is to be started or reached again."""

    sentence: str


class Remember(Event, frozen=True):
    """How a series of an earlier device object has ended: LastSeries as JSON, and a note for Status."""

    last_series: str
    note: str


# Results of calls. Those of an Arm bear its number: it may have been given up meanwhile.


class StepDone(Event, frozen=True):
    """A step of Arm is done.

    Attributes:
        learned: the series as the streamer will send it and the receiver will take it; a snapshot of the
            receiver; or whether the hardware takes triggers already.
    """

    number: int
    step: Step
    learned: tuple[Prepared, SeriesCheckResult] | Status | bool | None = None


class StepFailed(Event, frozen=True):
    """A step of Arm was refused, or could not be done."""

    number: int
    error: Exception


class Undone(Event, frozen=True):
    """What an Arm had begun is undone, or cannot be."""

    number: int
    cause: str
    """Why it was undone; "" after Stop or Abort."""
    refusal: Exception | None = None
    """The answer to Arm, if it is still to be given."""
    left: str | None = None
    """Why the streamer could not be brought to idle; `None` if it is."""
    died: bool = False
    """True if its process has ended."""


class ArmOver(Event, frozen=True):
    """All that an Arm has wanted is done."""


class CallLong(Event, frozen=True):
    """A call of the box takes longer than its client waits."""

    number: int


class CallOver(Event, frozen=True):
    """A call of the box is over; `error` says why it was refused."""

    number: int
    error: str = ""


class BoxRead(Event, frozen=True):
    """The box was read after this call, 0 if none of ours; `None` if it does not answer."""

    number: int
    status: StreamerStatus | None


class Withdrawn(Event, frozen=True):
    """The receiver was told not to expect the series any more; its status."""

    status: Status
