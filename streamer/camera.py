"""The contract between a camera file and the acquisition engine.

A camera declares its parameters, says what its frames look like, and fills the buffers that it is
given. It owns no thread, no socket, no frame number and no clock of its own making: the engine
does. A camera file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec
import numpy as np

from penstock.streamer.settings import Settings
from penstock.streamer.unit import Unit


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


class Camera(Unit):
    """One unit of a detector model whose frames the streamer sends."""

    loses_end: bool = False
    """Fault on request: the engine sends no end message, as if it were lost. Simulators only."""

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
