"""The contract between a camera file and the acquisition engine.

A camera declares its parameters, says what its frames look like, and fills the buffers that it is
given. It owns no thread, no socket, no frame number and no clock of its own making: the engine
does. A camera file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Protocol

import msgspec
import numpy as np

from penstock.stins.messages import IndexSource
from penstock.streamer.settings import Limits, Parameter, Settings, TriggerMode, Value


class CameraError(Exception):
    """The camera cannot do what is asked; the sentence says what to change.

    Raised from `prepare` it makes Arm fail; raised from `acquire` it ends the series as a FAULT.
    """


class FrameFormat(msgspec.Struct, frozen=True, kw_only=True):
    """What every frame of a series looks like, before Rotation and flips."""

    shape: tuple[int, ...]
    """(rows, cols), or (k, rows, cols) for k blobs."""
    dtype: str
    compression: str = "none"
    frame_bytes: int
    """Upper limit of the bytes of one frame: the size of a buffer."""


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """One frame that has been put into a buffer."""

    index: int
    """Place in the series, from 0: trigger x nFramesPerTrigger + frame of the trigger."""
    nbytes: int | tuple[int, ...] | None = None
    """Bytes used of the buffer; of each of k compressed blobs in turn; `None` for all."""
    timestamp_hw: float | None = None
    """Hardware clock at the start of the exposure, seconds, arbitrary origin."""
    exposure_time: float | None = None
    """Seconds as measured, where they differ from the time that was set (gates)."""


class Acquisition(Protocol):
    """What the engine gives to a camera for one series.

    Every method that waits ends early, with false, once the series is to stop; the camera then
    returns from `acquire`. While `exposing` only Abort ends a wait early: Stop finishes the frame.
    Waits are also where the engine asks the camera for its readings.
    """

    settings: Settings

    def ready(self) -> None:
        """The hardware is armed and takes triggers from now on. Call it once, in every mode."""

    def buffer(self) -> np.ndarray:
        """The next free buffer: uint8, `FrameFormat.frame_bytes` long.

        Raises:
            Overrun: every buffer is still waiting to be sent. A camera does not stop, so this ends
                the series as a FAULT with its counts.
        """

    def triggered(self, frames: int) -> None:
        """The hardware has been triggered for this many frames so far, also where none came of it.

        Without it, the highest index tells. A camera that knows of a trigger without a frame says so
        here, or its last ones count as not triggered.
        """

    def now(self) -> float:
        """The monotonic clock of the waits, seconds."""

    def wait_trigger(self) -> bool:
        """Wait for the next software trigger; implies `ready`. What it starts is exposed, Stop or not."""

    def wait_until(self, moment: float, *, exposing: bool = False) -> bool:
        """Wait until `now()` reaches `moment`."""

    def wait(
        self, predicate: Callable[[], bool], moment: float = math.inf, *, exposing: bool = False
    ) -> bool:
        """Wait until `predicate()` is true: whether it is.

        It is looked at once, and again after each `wake`; false when `now()` reaches `moment` first.
        """

    def wake(self) -> None:
        """Let `wait` look again. For any thread, such as one in which an SDK calls back; never waits."""

    def proceed(self, *, exposing: bool = False) -> bool:
        """Whether the series goes on, without waiting: for a loop around an SDK's blocking call."""

    @property
    def stopping(self) -> bool:
        """Whether the camera should begin no further frame (Stop or Abort)."""

    @property
    def aborting(self) -> bool:
        """Whether the camera should give up the running frame too (Abort)."""


class Camera(ABC):
    """One unit of a detector model.

    Subclasses are named as their Tango class and server, one file each in `devices/`.
    """

    properties: ClassVar[tuple[Parameter, ...]] = ()
    """Configuration of a unit (host, serial number, sensor size): Tango device properties."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    """What this model has beyond the standard parameters."""
    trigger_modes: ClassVar[tuple[TriggerMode, ...]]
    index_source: IndexSource
    """How it knows a frame's trigger: of the model, or set in `__init__` where its units differ."""
    loses_end: bool = False
    """Fault on request: the engine sends no end message, as if it were lost. Simulators only."""

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """Open the unit.

        Raises:
            CameraError: a property is wrong, or the hardware does not answer.
        """

    @abstractmethod
    def limits(self) -> Mapping[str, Limits]:
        """Limits of this unit as it is set now, by parameter name (standard ones too)."""

    @abstractmethod
    def readout_time(self) -> float:
        """Least dead time between two frames, in seconds."""

    def apply(self, values: Mapping[str, Value]) -> None:
        """Take new values of the camera's own parameters, at once where the hardware can.

        Types, choices and limits have been checked. `prepare` gets all of them again.

        Raises:
            CameraError: the combination is impossible; nothing changed.
        """

    def check(self, settings: Settings) -> FrameFormat | None:
        """Check the settings and say what the frames will look like, touching no hardware.

        Asked before each Arm, and after each edit of a setting. The engine has checked types, choices and
        limits; what else can be wrong is a combination of settings.

        Returns:
            What `prepare` would; `None`, as here, where only the hardware can tell.

        Raises:
            CameraError: a setting, or a combination of settings, is impossible: as `prepare` would.
        """
        return None

    @abstractmethod
    def prepare(self, settings: Settings) -> FrameFormat:
        """Check the settings, set the hardware up, say what the frames will look like.

        Raises:
            CameraError: a setting, or a combination of settings, is impossible.
        """

    def describe(self) -> Mapping[str, object]:
        """What goes into the file's NXdetector group: model, serial number, pixel size.

        Pixel sizes are those of the sensor: x and y change places with a quarter turn of Rotation. All else
        goes there as it is.
        """
        return {}

    def read(self, name: str) -> Value:
        """Value of a parameter that is not writable, such as a temperature.

        Called about once a second by the thread that calls everything else: between series, and while
        `acquire` waits or yields. What it raises leaves this reading invalid, and ends nothing.
        """
        raise CameraError(f"{type(self).__name__} has no reading {name}")

    @abstractmethod
    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """Arm the hardware at once, then yield one `Exposure` for each buffer filled.

        Calls `acquisition.ready()` when triggers would be taken. Indices grow, with gaps where the
        hardware missed a trigger and the index source can tell. Waits for no frame longer than it can take.
        Returns once every planned trigger is accounted for, or soon after `acquisition.stopping`;
        `acquisition.aborting` leaves it half a second.

        Raises:
            CameraError: the hardware failed; the frames so far are sent, the series is a FAULT.
        """

    def close(self) -> None:
        """Let go of the hardware; called once, also after a failure."""
