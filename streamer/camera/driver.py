"""What an engine is asked and answers: of a camera, or of a detector that streams by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Protocol, TypeVar

import msgspec

from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.features import HasFeatures
from penstock.streamer.camera.settings import Limits, Parameter, Settings, TriggerMode, Value


class Refused(Exception):
    """The engine refused a request; nothing has changed.

    `kind` is a short snake_case name, stable over releases; the text is one sentence with the component, the
    value and the remedy.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


T = TypeVar("T")


TOLD_TO_END = "the streamer was told to end"
"""Why a series has failed whose streamer, or the device server above it, was ended."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a camera with its present settings."""

    camera: str
    parameters: tuple[Parameter, ...]
    """The camera's own parameters."""
    trigger_modes: tuple[TriggerMode, ...]
    limits: dict[str, Limits]
    """Limits of this unit, by parameter; standard parameters included."""
    values: dict[str, Value]
    """Values of the camera's own parameters."""
    readout_time: float
    index_source: IndexSource
    data_endpoint: str
    """Endpoint that sends the frames: the streamer's own socket, or that of the detector's box."""
    streamer_pid: int
    shown: tuple[Parameter, ...] = ()
    """Parameters of this unit alone, with their present values as defaults; see `Unit.shown`."""
    own_stream: bool = False
    """True if the detector's own box sends the frames, and the start message when it is armed; its peers are
    unknown."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A series that can be announced; with the shape as it will be sent."""

    series: str
    shape: tuple[int, ...]
    dtype: str
    compression: str
    frame_bytes: int
    frames: int
    """Number of planned frames; 0 if frames come until Stop."""
    index_source: IndexSource
    source: str = "stins"
    """Type of the receiver's source that takes the frames."""
    values: dict[str, Value] = {}
    """Standard settings as a detector that streams by itself has them, by parameter: it may round them."""
    limits: dict[str, Limits] = {}
    """Limits of a camera as it was found, as in `Description`."""
    expected: UserPart | None = None
    """File and plan for the receiver, which is told of the series before it is armed; `None` where a start
    message announces it."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A series that could be prepared now."""

    frames: int
    """Number of planned frames; 0 if frames come until Stop."""
    frame_bytes: int = 0
    """Upper limit for the bytes of a frame, as in `Prepared`; 0 if only the camera's hardware can tell."""
    shape: tuple[int, ...] = ()
    """Shape of one frame as it would be sent; empty if unknown."""
    dtype: str = ""
    """NumPy name of the pixel type; "" if unknown."""
    source: str = "stins"
    """Type of the receiver's source, as in `Prepared`."""


class StreamerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the streamer; the counts are those of the running or last series."""

    state: str
    """"idle", "prepared", "announced", "acquiring", "ending" or "fault"; for a detector that streams by
    itself also "configuring": its box takes settings or is being reset, as `message` says."""
    message: str = ""
    warning: str = ""
    """What prevents the next series or trigger although nothing is in fault, in words; "" if nothing does."""
    series: str = ""
    planned: int = 0
    triggered: int = 0
    acquired: int | None = 0
    """Frames that the hardware has delivered; `None` if a detector that streams by itself does not count
    them."""
    sent: int = 0
    """Frames passed to ZeroMQ."""
    lost: dict[str, int] = {}
    """Frames that were triggered but not sent, by cause."""
    armed: bool = False
    """True if the hardware takes triggers, or has taken one."""
    ready_for_trigger: bool = False
    peers: int | None = 0
    """Accepted connections of the data socket; `None` if it is the box's own socket, whose peers are
    unknown."""
    peer_addresses: tuple[str, ...] = ()
    ring_used: int = 0
    ring_total: int = 0
    end_sent: bool = False
    ended_early: bool | None = False
    """True if the box of a detector that streams by itself has ended the series before its last frame without
    being told to; `None` if only the frames that have arrived can tell."""
    ended_by: str = ""
    """Who has done that, in words, if the box can tell; "" if not."""
    readings: dict[str, Value] = {}
    """Values of read-only parameters, such as temperatures, without those that could not be read for 5 s."""


class Driver(Protocol):
    """An engine. Commands return at once, with a result or a `Future` of it; each may raise `Refused`."""

    def describe(self) -> Description:
        """Return the detector's description with its last settings."""

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Set the detector's own parameters."""

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be checked without the hardware; change nothing."""

    def with_features(self, work: Callable[[HasFeatures], T], *, changes: bool = False) -> Future[T]:
        """Let `work` use the features of the detector.

        Args:
            work: is called between series, by the thread that makes all calls of the detector.
            changes: True if it sets one.
        """

    def prepare(self, settings: Settings) -> Future[Prepared]:
        """Set the hardware up for a series; nothing is sent."""

    def announce(self) -> Future[None]:
        """Send the start message, if the streamer sends it."""

    def start(self) -> Future[None]:
        """Arm the hardware; done when triggers are taken."""

    def trigger(self) -> None:
        """Give a software trigger."""

    def stop(self, cause: str = "") -> Future[None]:
        """End the series after the running frame."""

    def abort(self, cause: str = "") -> Future[None]:
        """End the series at once."""

    def cancel(self) -> Future[None]:
        """Discard a series that has not been started."""

    def reset(self) -> Future[None] | None:
        """Leave the state fault."""

    def status(self) -> StreamerStatus:
        """Return a snapshot of the status."""

    def close(self) -> None:
        """End a running series, and release the hardware."""
