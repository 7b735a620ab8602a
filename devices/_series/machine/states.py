"""The states of a detector's series, and the Tango states that show them: two tables.

The Tango state is derived from the series state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto

from penstock.stins.table import Table


class SeriesState(StrEnum):
    """The state of a detector and its series."""

    OFFLINE = "offline"
    """The streamer is being started or reached."""
    IDLE = "idle"
    CONFIGURING = "configuring"
    """The box of a detector that streams by itself takes settings, or is being reset."""
    ARMING = "arming"
    """Checks, start message, hardware; not yet ready for triggers."""
    TAKING = "taking"
    """Ready for triggers."""
    STOPPING = "stopping"
    """Stop or Abort was requested; the streamer has not sent the end message yet."""
    CLOSING = "closing"
    """The end message was sent; the receiver has not closed the file yet."""
    FAILING = "failing"
    """Something failed; the other side is being ended, so that the counts become final."""
    FAULT = "fault"


class Change(Enum):
    """A change of the state; `machine` makes it when something happens."""

    CONNECTED = auto()
    """The streamer answers."""
    CONFIGURE = auto()
    """The detector's own box is busy with settings, or with Reset."""
    CONFIGURED = auto()
    """The box has taken the settings, or refused them."""
    ARM = auto()
    REFUSED = auto()
    """Arm was refused, or ended before the hardware took triggers; the series is discarded."""
    READY = auto()
    """The hardware takes triggers."""
    STOP = auto()
    """Stop or Abort."""
    END_SENT = auto()
    """The streamer has sent the end message."""
    CLOSED = auto()
    """The receiver is idle again: the file is closed."""
    FAIL = auto()
    """The series, or the streamer without a series, has failed."""
    COUNTED = auto()
    """The counts of the failed series are final."""
    RESET = auto()
    RECONNECT = auto()
    """Reset after a fault in which the streamer was lost."""


_S, _C = SeriesState, Change

TABLE = Table({
    (_S.OFFLINE, _C.CONNECTED): _S.IDLE,
    (_S.OFFLINE, _C.CONFIGURE): _S.CONFIGURING,
    (_S.OFFLINE, _C.FAIL): _S.FAULT,
    (_S.IDLE, _C.CONFIGURE): _S.CONFIGURING,
    (_S.CONFIGURING, _C.CONFIGURED): _S.IDLE,
    (_S.CONFIGURING, _C.FAIL): _S.FAULT,
    (_S.IDLE, _C.ARM): _S.ARMING,
    (_S.IDLE, _C.FAIL): _S.FAULT,
    (_S.ARMING, _C.REFUSED): _S.IDLE,
    (_S.ARMING, _C.READY): _S.TAKING,
    (_S.ARMING, _C.STOP): _S.STOPPING,
    (_S.ARMING, _C.FAIL): _S.FAILING,
    (_S.TAKING, _C.STOP): _S.STOPPING,
    (_S.TAKING, _C.END_SENT): _S.CLOSING,
    (_S.TAKING, _C.FAIL): _S.FAILING,
    (_S.STOPPING, _C.STOP): _S.STOPPING,
    (_S.STOPPING, _C.REFUSED): _S.IDLE,
    (_S.STOPPING, _C.END_SENT): _S.CLOSING,
    (_S.STOPPING, _C.FAIL): _S.FAILING,
    (_S.CLOSING, _C.CLOSED): _S.IDLE,
    (_S.CLOSING, _C.FAIL): _S.FAILING,
    (_S.FAILING, _C.COUNTED): _S.FAULT,
    (_S.FAULT, _C.RESET): _S.IDLE,
    (_S.FAULT, _C.CONFIGURE): _S.CONFIGURING,
    (_S.FAULT, _C.RECONNECT): _S.OFFLINE,
})  # fmt: skip

ACTIVE = frozenset({_S.ARMING, _S.TAKING, _S.STOPPING, _S.CLOSING, _S.FAILING})
"""States in which a series exists: settings cannot be written."""

TANGO_STATE: Mapping[SeriesState, str] = {
    _S.OFFLINE: "INIT",
    _S.IDLE: "ON",
    _S.CONFIGURING: "MOVING",
    _S.ARMING: "MOVING",
    _S.TAKING: "RUNNING",
    _S.STOPPING: "RUNNING",
    _S.CLOSING: "RUNNING",
    _S.FAILING: "RUNNING",
    _S.FAULT: "FAULT",
}
"""Names of `tango.DevState`. RUNNING lasts from readiness until the file is closed."""

RECEIVER_TANGO_STATE: Mapping[str, str] = {"idle": "ON", "running": "RUNNING", "error": "FAULT"}
"""Names of `tango.DevState` by the receiver's state; UNKNOWN while it does not answer."""
