"""The contract between a camera file and the acquisition engine.

A camera declares its parameters, says what its frames look like, and fills the buffers that it is
given. It owns no thread, no socket, no frame number and no clock of its own making: the engine
does. A camera file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
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
    nbytes: int | None = None
    """Bytes used of the buffer; `None` for all."""
    timestamp_hw: float | None = None
    """Hardware clock at the start of the exposure, seconds, arbitrary origin."""


class Acquisition(Protocol):
    """What the engine gives to a camera for one series.

    Every method that waits ends early, with false, once the series is to stop; the camera then
    returns from `acquire`.
    """

    settings: Settings

    def buffer(self) -> np.ndarray:
        """The next free buffer: uint8, `FrameFormat.frame_bytes` long.

        Raises:
            Overrun: every buffer is still waiting to be sent. A camera does not stop, so this ends
                the series as a FAULT with its counts.
        """

    def wait_trigger(self) -> bool:
        """Wait for the next software trigger."""

    def wait_until(self, moment: float) -> bool:
        """Wait until `time.monotonic()` reaches `moment`."""

    @property
    def stopping(self) -> bool:
        """Whether the camera should end now."""


class Camera(ABC):
    """One unit of a detector model.

    Subclasses are named as their Tango class and server, one file each in `devices/`.
    """

    properties: ClassVar[tuple[Parameter, ...]] = ()
    """Configuration of a unit (host, serial number, sensor size): Tango device properties."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    """What this model has beyond the standard parameters."""
    trigger_modes: ClassVar[tuple[TriggerMode, ...]]
    index_source: ClassVar[IndexSource]

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

    @abstractmethod
    def prepare(self, settings: Settings) -> FrameFormat:
        """Check the settings, set the hardware up, say what the frames will look like.

        Raises:
            CameraError: a setting, or a combination of settings, is impossible.
        """

    def describe(self) -> Mapping[str, object]:
        """What goes into the file's NXdetector group as it is: model, serial number, pixel size."""
        return {}

    def read(self, name: str) -> Value:
        """Value of a parameter that is not writable, such as a temperature."""
        raise CameraError(f"{type(self).__name__} has no reading {name}")

    @abstractmethod
    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """Arm the hardware at once, then yield one `Exposure` for each buffer filled.

        The first value must be yielded, or the first wait entered, only when triggers would be
        taken: the engine reports "ready for triggers" from then on.
        """

    def close(self) -> None:
        """Let go of the hardware; called once, also after a failure."""
