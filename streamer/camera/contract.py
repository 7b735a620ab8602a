"""The contract between a camera file and the acquisition engine.

A camera declares its parameters and the format of its frames, and fills the buffers that it is given.
Threads,
sockets, frame numbers and clocks belong to the engine. A camera file imports neither `tango` nor `zmq`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec
import numpy as np

from penstock.streamer.camera.settings import Settings
from penstock.streamer.camera.unit import Unit


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """One frame that has been put into a buffer."""

    index: int
    """Index in the series, from 0: trigger x nFramesPerTrigger + frame of the trigger."""
    nbytes: int | tuple[int, ...] | None = None
    """Bytes used in the buffer, or by each of k compressed blobs; `None` for the whole buffer."""
    timestamp_hw: float | None = None
    """Hardware clock at the start of the exposure, in seconds with an arbitrary origin."""
    exposure_time: float | None = None
    """Measured exposure time in seconds, if it differs from the one that was set (gates)."""
    slot: int | None = None
    """Number of the lent buffer that has the frame, which is given back; `None` for that of `buffer`."""


class Acquisition(Protocol):
    """The engine's interface for the camera during one series.

    Every method that waits returns early, with false, once the series is to stop; the camera then returns
    from `acquire`. While `exposing`, only Abort ends a wait early: Stop lets the frame finish. The engine
    also asks the camera for its readings during waits.
    """

    settings: Settings

    def ready(self) -> None:
        """Tell the engine that the hardware is armed and takes triggers. Call it once, in every mode."""

    def buffer(self) -> np.ndarray:
        """Return the next free buffer: uint8, `FrameFormat.slot_bytes` long.

        Raises:
            Overrun: every buffer is still waiting to be sent. A camera does not stop, so this ends
                the series as a FAULT with its counts.
        """

    def lend(self) -> tuple[int, np.ndarray] | None:
        """Lend a free buffer to an SDK that fills several in turn.

        The SDK may write into it, from any thread, until the camera yields an `Exposure` with this `slot`, or
        until `acquire` ends. So `acquire` returns or raises only once the SDK has given back or revoked all
        lent buffers; those that were not yielded are free again then.

        Returns:
            Its number and its memory: uint8, `FrameFormat.slot_bytes` long, at a multiple of 64 bytes; `None`
            if no buffer is free. If the SDK then loses frames, raise `Overrun`.
        """

    def triggered(self, frames: int) -> None:
        """Report the number of frames for which the hardware has been triggered, with or without a result.

        Without this call the highest index counts. A camera that knows of triggers without a frame has to
        report them here; otherwise the last of them count as not triggered.
        """

    def now(self) -> float:
        """Return the time of the monotonic clock that is used for waits, in seconds."""

    def wait_trigger(self) -> bool:
        """Wait for the next software trigger; implies `ready`. Its frames are exposed even after a Stop."""

    def wait_until(self, moment: float, *, exposing: bool = False) -> bool:
        """Wait until `now()` reaches `moment`."""

    def wait(
        self, predicate: Callable[[], bool], moment: float = math.inf, *, exposing: bool = False
    ) -> bool:
        """Wait until `predicate()` is true, and return whether it is.

        It is called once at first, and again after each `wake`; the wait ends when `now()` reaches `moment`.
        """

    def wake(self) -> None:
        """Let `wait` call its predicate again. For any thread, such as an SDK's callback; never blocks."""

    def proceed(self, *, exposing: bool = False) -> bool:
        """Return at once whether the series continues: for a loop around an SDK's blocking call."""

    @property
    def stopping(self) -> bool:
        """True if the camera should not begin another frame (Stop or Abort)."""

    @property
    def aborting(self) -> bool:
        """True if the camera should also abandon the running frame (Abort)."""


class Camera(Unit):
    """One unit of a detector model whose frames the streamer sends."""

    loses_end: bool = False
    """A fault on request: the engine sends no end message, as if it were lost. For simulators only."""

    @abstractmethod
    def acquire(self, acquisition: Acquisition) -> Iterator[Exposure]:
        """Arm the hardware at once, then yield one `Exposure` for each buffer filled.

        It calls `acquisition.ready()` when triggers are taken. Indices increase, with gaps if the hardware
        missed a trigger and the index source can tell. It waits for a frame no longer than the frame can
        take. It returns once every planned trigger is accounted for, or soon after `acquisition.stopping`;
        after `acquisition.aborting`, within half a second.

        Raises:
            CameraError: the hardware failed; the frames so far are sent, and the series ends as a FAULT.
        """
