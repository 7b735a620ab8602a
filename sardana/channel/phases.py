"""The phases of a 2D channel, and what Sardana sees of them: two tables, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto

from penstock.stins.table import Table


class Phase(StrEnum):
    """The phase of a channel in the series that it has armed."""

    IDLE = "idle"
    """There is no series of this channel, or none any more."""
    ARMED = "armed"
    """The detector waits for the next start, between two points."""
    EXPOSING = "exposing"
    """Frames of the starts so far are still to come."""
    CLOSING = "closing"
    """All frames were taken; the file is being closed."""
    ENDING = "ending"
    """The series was stopped early; the file is being closed."""
    FAILED = "failed"
    """The series has failed, until the next one is prepared: Sardana asks more than once how an acquisition
    ended."""


class Event(Enum):
    """What moves a channel from one phase to another."""

    PREPARED = auto()
    """A series was armed."""
    STARTED = auto()
    """Sardana has started a point, or a row."""
    REACHED = auto()
    """The frames of the starts so far were taken; there are further starts."""
    LAST = auto()
    """All frames of the series were taken."""
    END = auto()
    """Stop or Abort was sent."""
    CLOSED = auto()
    """The detector is ready for another series: the file is closed."""
    FAIL = auto()


_P, _E = Phase, Event

TABLE = Table({
    **{(phase, _E.PREPARED): _P.ARMED for phase in Phase},
    **{(phase, _E.FAIL): _P.FAILED for phase in Phase},
    (_P.ARMED, _E.STARTED): _P.EXPOSING,
    (_P.EXPOSING, _E.REACHED): _P.ARMED,
    (_P.EXPOSING, _E.LAST): _P.CLOSING,
    (_P.ARMED, _E.END): _P.ENDING,
    (_P.EXPOSING, _E.END): _P.ENDING,
    (_P.CLOSING, _E.END): _P.ENDING,
    (_P.ENDING, _E.END): _P.ENDING,
    (_P.ARMED, _E.CLOSED): _P.IDLE,
    (_P.EXPOSING, _E.CLOSED): _P.IDLE,
    (_P.CLOSING, _E.CLOSED): _P.IDLE,
    (_P.ENDING, _E.CLOSED): _P.IDLE,
    (_P.FAILED, _E.CLOSED): _P.IDLE,
})  # fmt: skip

STATE: Mapping[Phase, str] = {
    Phase.IDLE: "On",
    Phase.ARMED: "On",
    Phase.EXPOSING: "Moving",
    Phase.CLOSING: "Moving",
    Phase.ENDING: "Moving",
    Phase.FAILED: "Fault",
}
"""Names of `sardana.State`."""

UNDER_WAY = frozenset({Phase.ARMED, Phase.EXPOSING, Phase.CLOSING, Phase.ENDING})
"""Phases in which the detector has a series of this channel."""
