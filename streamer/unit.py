"""What every unit of a detector declares, whether the streamer sends its frames or its own box does.

A detector's file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import msgspec

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


class Unit(ABC):
    """One unit of a detector model.

    Subclasses are named as their Tango class and server, one file each in `devices/`; they derive from
    `camera.Camera` where the streamer sends the frames, from `own_stream.contract.StreamingDetector` where
    the detector's own box does.
    """

    properties: ClassVar[tuple[Parameter, ...]] = ()
    """Configuration of a unit (host, serial number, sensor size): Tango device properties."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    """What this model has beyond the standard parameters."""
    trigger_modes: ClassVar[tuple[TriggerMode, ...]]
    index_source: IndexSource
    """How it knows a frame's trigger: of the model, or set in `__init__` where its units differ."""

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """Open the unit; the properties are complete and of their declared types.

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

    def close(self) -> None:
        """Let go of the hardware; called once, also after a failure."""
