"""The base class of all units of detectors, whether the streamer or the detector's own box sends the frames.

A detector's file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import MOST_TRIGGERS, Limits, Parameter, Settings, TriggerMode, Value


class CameraError(Exception):
    """The camera cannot do what was requested; the sentence says what to change.

    Raised from `prepare` it makes Arm fail; raised from `acquire` it ends the series as a FAULT.
    """


class NotAsked(CameraError):
    """A reading is not asked for at present, on purpose: it has no value for now, which nobody is warned of.

    Raised from `read`.
    """


class Overrun(Exception):
    """A frame was lost because no buffer was free: frames are sent more slowly than the camera delivers them.

    Raised from `acquire` by a camera whose SDK has lost frames for want of buffers; it ends the series as a
    FAULT, with this sentence.

    Args:
        sentence: what happened, and what to change.
        frames: number of lost frames.
    """

    def __init__(self, sentence: str, frames: int = 1) -> None:
        super().__init__(sentence)
        self.frames = frames


class FrameFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format of every frame of a series, before Rotation and flips."""

    shape: tuple[int, ...]
    """Shape: (rows, cols), or (k, rows, cols) for k blobs."""
    dtype: str
    compression: str = "none"
    frame_bytes: int
    """Upper limit of the bytes of one frame: the size of a buffer, if `buffer_bytes` is not larger."""
    buffer_bytes: int = 0
    """Size of a buffer into which an SDK puts more than the frame, which comes first."""

    @property
    def slot_bytes(self) -> int:
        """Size of a buffer in bytes."""
        return max(self.frame_bytes, self.buffer_bytes)


class Unit(ABC):
    """One unit of a detector model.

    Subclasses are named like their Tango class and server, one file each in `devices/`. They derive from
    `camera.Camera` if the streamer sends the frames, and from `own_stream.contract.StreamingDetector` if the
    detector's own box does.
    """

    properties: ClassVar[tuple[Parameter, ...]] = ()
    """Configuration of a unit (host, serial number, sensor size): Tango device properties."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    """Parameters of this model in addition to the standard ones."""
    trigger_modes: tuple[TriggerMode, ...]
    """Trigger modes of the model; set again in `__init__` if a unit has fewer."""
    index_source: IndexSource
    """How frames are assigned to triggers: by the model, or set in `__init__` if its units differ."""

    def __init__(self, properties: Mapping[str, Value]) -> None:
        """Open the unit; the properties are complete and of their declared types.

        Raises:
            CameraError: a property is wrong, or the hardware does not answer.
        """

    @abstractmethod
    def limits(self) -> Mapping[str, Limits]:
        """Return the limits of this unit with its present settings, by parameter name, also of standard
        ones."""

    def most_frames(self) -> int:
        """Return the most frames of one trigger in INTERNAL mode: as many are asked of the unit for a series
        with frames until Stop."""
        return MOST_TRIGGERS

    @abstractmethod
    def readout_time(self) -> float:
        """Return the minimum dead time between two frames, in seconds."""

    def shown(self) -> tuple[Parameter, ...]:
        """Return the parameters of this unit that its model does not declare, such as features of its own.

        They become attributes of its device alone, and are read like read-only parameters, by `read`. A
        default is the present value. A writable one is set by `HasFeatures.set_feature`.
        """
        return ()

    def apply(self, values: Mapping[str, Value]) -> None:
        """Apply new values of the camera's own parameters, at once if the hardware can.

        Types, choices and limits have been checked. `prepare` gets all values again.

        Raises:
            CameraError: the combination is impossible; nothing changed.
        """

    def check(self, settings: Settings) -> FrameFormat | None:
        """Check the settings and return the format of the frames, without using the hardware.

        Called before each Arm, and after each change of a setting. The engine has checked types, choices and
        limits, but not combinations of settings.

        Returns:
            The result that `prepare` would return; `None`, as here, if only the hardware can tell.

        Raises:
            CameraError: a setting, or a combination of settings, is impossible: as `prepare` would.
        """
        return None

    @abstractmethod
    def prepare(self, settings: Settings) -> FrameFormat:
        """Check the settings, configure the hardware, and return the format of the frames.

        Raises:
            CameraError: a setting, or a combination of settings, is impossible.
        """

    def as_prepared(self, settings: Settings) -> Settings:
        """Return the settings of the prepared series as the unit has them: a unit may round them.

        Called after `prepare`. They are those of the file, and must ask for no change when they are prepared
        again. The exposure time, the time between frames, and all parameters of the model are read back.
        """
        return settings

    def describe(self) -> Mapping[str, object]:
        """Return metadata for the file's NXdetector group: model, serial number, pixel size.

        Pixel sizes are those of the sensor: x and y are exchanged if Rotation is 90 or 270 degrees. All other
        values are stored unchanged.
        """
        return {}

    def read(self, name: str) -> Value:
        """Return the value of a read-only parameter, such as a temperature.

        Called about once per second by the thread that makes all other calls: between series, and while
        `acquire` waits or yields. An exception makes this reading invalid, and has no other effect.
        """
        raise CameraError(f"{type(self).__name__} has no reading {name}")

    def trouble(self) -> str:
        """Return what prevents the next series or trigger, such as a lost cable; "" if nothing does.

        Called after each round of readings, also while a series waits for a trigger; it must not wait for the
        hardware.
        """
        return ""

    def remark(self) -> str:
        """Return what is not as configured and prevents nothing, such as a feature to be shown that this
        camera lacks; "" if nothing is. From any thread; it must not wait for the hardware."""
        return ""

    def close(self) -> None:
        """Release the hardware; called once, also after a failure."""
