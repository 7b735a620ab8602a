"""One series in the engine: its settings, its counts, and its end.

The camera's thread fills buffers and queues frames, the sender's thread takes them from the queue; any thread
may trigger, stop or abort. Each counter is written by one thread only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Condition

import msgspec
import numpy as np

from penstock.stins.messages import EndReason, SeriesEnd
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.contract import Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.ring import Ring
from penstock.streamer.camera.settings import MOST_TRIGGERS, Settings, TriggerMode
from penstock.streamer.camera.unit import CameraError, FrameFormat, Overrun


def rotated_shape(shape: tuple[int, ...], rotation: int) -> tuple[int, ...]:
    """Return the shape of a frame after a rotation by a multiple of 90 degrees; flips do not change it."""
    return (*shape[:-2], shape[-1], shape[-2]) if rotation // 90 % 2 else shape


class Orientation:
    """Rotation counter-clockwise in steps of 90 degrees, then mirroring, for images of one shape.

    A frame of k blobs is rotated image by image: the k images keep their order.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, rotation: int, fliplr: bool, flipud: bool) -> None:
        self._shape = shape
        self._turns = rotation // 90
        self._fliplr = fliplr
        self._flipud = flipud
        self.active = bool(self._turns or fliplr or flipud)
        self.shape = rotated_shape(shape, rotation)
        self._scratch = np.empty(shape, dtype) if self.active else None

    def __call__(self, buffer: np.ndarray) -> None:
        """Rotate and mirror the frame in `buffer` (uint8, C order, exactly one frame)."""
        if self._scratch is None:
            return
        image = self._scratch
        image[...] = buffer.view(image.dtype).reshape(self._shape)
        image = np.rot90(image, self._turns, axes=(-2, -1))
        if self._fliplr:
            image = image[..., ::-1]
        if self._flipud:
            image = image[..., ::-1, :]
        buffer.view(image.dtype).reshape(self.shape)[...] = image


CAMERA_GRACE = 0.5
"""Seconds that a camera has to end after Abort; after that the series ends without it."""

SEVERITY = {EndReason.COMPLETE: 0, EndReason.STOP: 1, EndReason.FAULT: 2, EndReason.ABORT: 3}
"""A reason to end replaces a weaker one: an Abort replaces a Stop that is under way."""


ENDINGS = {
    EndReason.COMPLETE: "",
    EndReason.STOP: "stopped",
    EndReason.ABORT: "aborted",
    EndReason.FAULT: "failed",
}
"""Messages for an end without a given cause."""


class Taken(msgspec.Struct, frozen=True):
    """A frame in the ring, on its way to the sender."""

    slot: int
    exposure: Exposure
    timestamp: float
    """Host clock when the frame was complete in its buffer, seconds since 1970 (UTC)."""


class Series:
    """A series; implements the interface of its camera, `Acquisition`.

    Args:
        ident: unique id of the series.
        clock: clock of the engine; every wait uses it.
        most_frames: of the camera, for frames until Stop.
        changed: called after every change of the counts; must return at once.
        idle: called by the camera's thread in every wait; returns the moment, of `clock.monotonic`, at
            which it has to be called again.
    """

    def __init__(
        self,
        ident: str,
        settings: Settings,
        frames: FrameFormat,
        ring: Ring,
        clock: Clock,
        most_frames: int = MOST_TRIGGERS,
        changed: Callable[[], None] = lambda: None,
        idle: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self.id = ident
        self.plan = settings.planned
        """Number of planned frames; `None` if frames come until Stop."""
        self.settings = settings.numbered(most_frames)
        self.format = frames
        self.ring = ring
        self.clock = clock
        self.orientation = Orientation(
            frames.shape, frames.dtype, settings.rotation, settings.fliplr, settings.flipud
        )
        self.planned = self.settings.frames
        """Most frames that the camera may give."""
        self.acquired = 0
        """Frames that the hardware has delivered."""
        self.sent = 0
        """Frames passed to ZeroMQ."""
        self.lost: dict[str, int] = {}
        """Frames triggered but never sent, by cause."""
        self.reason = EndReason.COMPLETE
        self.message = ""
        """Why the series ends, if known; part of the end message."""
        self.armed = False
        self.end_sent = False
        self.camera_done = False
        self.closed = False
        """True once the account is closed; frames that a late camera still yields are dropped."""
        self._changed = changed
        self._idle = idle
        self._condition = Condition()
        self._queue: SimpleQueue[Taken | None] = SimpleQueue()
        self._slot: int | None = None
        self._lent: set[int] = set()
        """Buffers that the camera's SDK may write into."""
        self._highest = -1
        self._counted = 0
        self._software_triggers = 0
        self._pending = False
        self._awaiting_trigger = False
        self._wakes = 0
        self._aborted_at = 0.0

    # The camera's side ------------------------------------------------------------------------

    def ready(self) -> None:
        """See `Acquisition`."""
        if not self.armed:
            with self._condition:
                self.armed = True
                self._condition.notify_all()
            self._changed()

    def buffer(self) -> np.ndarray:
        """See `Acquisition`; the same buffer again until a frame has been yielded."""
        if self._slot is None:
            self._slot = self.ring.acquire()
        return self.ring.memory(self._slot)

    def lend(self) -> tuple[int, np.ndarray] | None:
        """See `Acquisition`."""
        if (slot := self.ring.acquire_if_free()) is None:
            return None
        self._lent.add(slot)
        return slot, self.ring.memory(slot)

    def triggered(self, frames: int) -> None:
        """See `Acquisition`."""
        if frames > self._counted:
            self._counted = frames
            self._changed()

    def now(self) -> float:
        """See `Acquisition`."""
        return self.clock.monotonic()

    def wait_trigger(self) -> bool:
        """See `Acquisition`; ready for one only while there is a buffer to take its frame."""
        while not self.stopping and not self._has_buffer():
            self.wait_until(self.now() + 0.002)
        self.ready()
        self._awaiting_trigger = True
        self._changed()
        self.wait(lambda: self._pending)
        with self._condition:
            taken, self._pending, self._awaiting_trigger = self._pending, False, False
        return taken and not self.aborting

    def wait_until(self, moment: float, *, exposing: bool = False) -> bool:
        """See `Acquisition`."""
        self.wait(lambda: False, moment, exposing=exposing)
        return self._may_continue(exposing)

    def wait(
        self, predicate: Callable[[], bool], moment: float = math.inf, *, exposing: bool = False
    ) -> bool:
        """See `Acquisition`."""
        while not self.aborting:
            seen = self._wakes
            due = self._idle()
            # Not under the lock: an SDK may call `wake` while it holds one that `predicate` takes.
            if predicate():
                return True
            if self.now() >= moment or not self._may_continue(exposing):
                return False
            with self._condition:
                if self._wakes == seen:
                    self.clock.wait(self._condition, min(moment, due))
        return False

    def wake(self) -> None:
        """See `Acquisition`."""
        with self._condition:
            self._wakes += 1
            self._condition.notify_all()

    def proceed(self, *, exposing: bool = False) -> bool:
        """See `Acquisition`."""
        self._idle()
        return self._may_continue(exposing)

    @property
    def ending(self) -> str:
        """How the series ends, in words; "" if it ends with its last frame."""
        return self.message or ENDINGS[self.reason]

    @property
    def stopping(self) -> bool:
        """True if the series ends before its last frame."""
        return self.reason is not EndReason.COMPLETE

    @property
    def aborting(self) -> bool:
        """True if queued frames are dropped."""
        return self.reason is EndReason.ABORT

    def take(self, exposure: Exposure) -> None:
        """Queue a frame from the hardware for the sender.

        Raises:
            CameraError: its index is not above the last one or not below the planned frames, or the camera
                has not requested a buffer for it, or none of that number is lent.
        """
        if self.closed:
            return
        slot = self._slot if exposure.slot is None else exposure.slot
        if slot is None:
            raise CameraError(f"it gave frame {exposure.index} without asking for a buffer")
        if exposure.slot is not None and slot not in self._lent:
            raise CameraError(f"it gave frame {exposure.index} in buffer {slot}, which is not lent to it")
        if not self._highest < exposure.index < self.planned:
            raise CameraError(
                f"it gave frame {exposure.index} after frame {self._highest}, of {self.planned} planned"
            )
        self.ready()
        if exposure.slot is None:
            self._slot = None
        else:
            self._lent.remove(slot)
        self._highest = exposure.index
        self.acquired += 1
        self._queue.put(Taken(slot, exposure, self.clock.time()))
        if self.closed:
            self.drop_queued()
        self._changed()

    def finished(self) -> None:
        """Note that the camera has ended; nothing more will be queued, and no SDK writes any more."""
        if self._slot is not None:
            self._lent.add(self._slot)
        while self._lent:
            self.ring.release(self._lent.pop())
        self._slot = None
        with self._condition:
            self.camera_done = True
            self._condition.notify_all()
        self._queue.put(None)
        if self.closed:
            self.drop_queued()

    def fail(self, error: Exception, camera: str) -> None:
        """End the series as a fault: the camera has raised an exception."""
        if isinstance(error, Overrun):
            self.lose("overrun", error.frames)
            self.end(EndReason.FAULT, str(error))
        elif isinstance(error, CameraError):
            self.end(EndReason.FAULT, f"{camera}: {error}")
        else:
            self.end(
                EndReason.FAULT, f"{camera} failed: {type(error).__name__}: {error}; see the streamer's log"
            )

    # Everyone's side --------------------------------------------------------------------------

    def trigger(self) -> None:
        """Give a software trigger.

        Raises:
            Refused: the camera is not waiting for a trigger; nothing was triggered.
        """
        with self._condition:
            if self.settings.trigger_mode is not TriggerMode.SOFTWARE:
                raise Refused(
                    "not_ready", f"SoftwareTrigger refused: TriggerMode is {self.settings.trigger_mode}"
                )
            if not self.ready_for_trigger:
                why = "still arming" if not self.armed else "still busy with the last one"
                if self._has_buffer() is False:
                    why = f"waiting for the receiver: {self.buffers_used} of {self.ring.slots} buffers used"
                raise Refused(
                    "not_ready",
                    f"SoftwareTrigger {self._software_triggers} refused, the detector is {why}; "
                    "wait for ReadyForSwTrigger",
                )
            self._software_triggers += 1
            self._pending = True
            self._wakes += 1
            self._condition.notify_all()
        self._changed()

    def end(self, reason: EndReason, message: str) -> bool:
        """End the series early; return false if it already ends for a reason at least as strong."""
        with self._condition:
            if self.closed or SEVERITY[reason] <= SEVERITY[self.reason]:
                return False
            self.reason = reason
            self.message = message
            if reason is EndReason.ABORT:
                self._aborted_at = self.clock.monotonic()
            self._wakes += 1
            self._condition.notify_all()
        if reason is EndReason.ABORT:
            self._queue.put(None)  # wakes the sender, which checks the reason first
        return True

    def wait_armed(self) -> None:
        """Wait until triggers are taken, or the camera has ended."""
        with self._condition:
            while not self.armed and not self.camera_done and not self.closed:
                self.clock.wait(self._condition)

    @property
    def ready_for_trigger(self) -> bool:
        """True if a software trigger would be accepted now."""
        return self._awaiting_trigger and not self._pending and not self.stopping

    @property
    def triggers(self) -> int:
        """Number of frames for which the hardware has been triggered, as far as known."""
        known = max(self._highest + 1, self._counted)
        if self._software_triggers:
            known = max(known, (self._software_triggers - 1) * self.settings.n_frames_per_trigger + 1)
        return min(known, self.planned)

    @property
    def buffers_used(self) -> int:
        """Number of buffers that wait to be sent, without those that an SDK has yet to fill."""
        return max(0, self.ring.used - len(self._lent))

    # The sender's side ------------------------------------------------------------------------

    def next_frame(self) -> Taken | None:
        """Wait for the next frame to send, and return it; `None` after the last."""
        while not self.aborting:
            item = self._queue.get()
            if item is not None or self.camera_done:
                return item
        while not self.camera_done or not self._queue.empty():
            self.drop_queued()
            if self.camera_done:
                continue
            with self._condition:
                if self.clock.monotonic() - self._aborted_at >= CAMERA_GRACE:
                    return None
                self.clock.wait(self._condition, self._aborted_at + CAMERA_GRACE)
        return None

    def drop_queued(self) -> None:
        """Release the buffers of all queued frames, unsent."""
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return
            if item is not None:
                self.ring.release(item.slot)

    def lose(self, cause: str, frames: int = 1) -> None:
        """Count frames that were triggered and will not be sent."""
        if frames > 0:
            self.lost[cause] = self.lost.get(cause, 0) + frames

    def close(self) -> SeriesEnd:
        """Close the account: every triggered frame was sent, or is counted as lost with a cause."""
        with self._condition:
            self.closed = True
            self._condition.notify_all()
        triggered = max(self.triggers, self.sent + sum(self.lost.values()))
        cause = self.reason.value if self.reason in (EndReason.ABORT, EndReason.FAULT) else "camera"
        self.lose(cause, triggered - self.sent - sum(self.lost.values()))
        return SeriesEnd(
            series=self.id,
            reason=self.reason.value,
            message=self.message or None,
            triggered=triggered,
            sent=self.sent,
            lost=dict(self.lost) or None,
        )

    def _may_continue(self, exposing: bool) -> bool:
        return not (self.aborting or (self.stopping and not exposing))

    def _has_buffer(self) -> bool:
        return self._slot is not None or self.buffers_used < self.ring.slots
