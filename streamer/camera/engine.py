"""The acquisition engine: it drives one camera and one PUSH socket, series after series.

It has two threads: only the camera's thread calls the camera, and only the sender's thread uses the socket.
Commands return at once with a `Future`, or act through flags, so that no caller ever waits for hardware or
for a receiver.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TypeVar

import msgspec

from penstock.stins.messages import EndReason, Header
from penstock.stins.texts import plural
from penstock.streamer.camera.checks import check_orientation, check_settings, differences
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.driver import (
    TOLD_TO_END,
    Checked,
    Description,
    Prepared,
    Refused,
    StreamerStatus,
)
from penstock.streamer.camera.features import HasFeatures
from penstock.streamer.camera.header import header_of, metadata_of
from penstock.streamer.camera.jobs import Jobs, guarded
from penstock.streamer.camera.parameters import READ_EVERY, Parameters
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.camera.ring import Ring
from penstock.streamer.camera.series import ENDINGS, Series, rotated_shape
from penstock.streamer.camera.series_sender import SeriesSender
from penstock.streamer.camera.settings import Settings, frames_in_words
from penstock.streamer.camera.states import Event, State, machine
from penstock.streamer.camera.unit import CameraError, Overrun

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_CHECKS = 2
"""Most checks that wait for the camera's thread; if it hangs, further ones are refused at once."""

PREPARE = "prepare"
"""What the camera is busy with, while it is."""


class Engine:
    """The acquisition engine of one camera.

    Args:
        camera: an open unit; the engine closes it.
        push: its data socket; the engine closes it.
        buffer_bytes: memory of the buffer ring.
        hwm: messages that ZeroMQ may hold per peer; derived from the frame size if `None`.
        checksum: algorithm for checksums of each frame, one of `stins.checksums.ALGORITHMS`.
        changed: called from any thread after every change of `status()`; must return at once.
        died: called when one of the engine's own threads has died, an internal error: the process must end.
    """

    def __init__(
        self,
        camera: Camera,
        push: PushSocket,
        *,
        buffer_bytes: int = 256 * 2**20,
        hwm: int | None = None,
        checksum: str | None = None,
        clock: Clock | None = None,
        changed: Callable[[], None] = lambda: None,
        died: Callable[[], None] = lambda: None,
    ) -> None:
        self._camera = camera
        self._name = type(camera).__name__
        self._push = push
        self._buffer_bytes = buffer_bytes
        self._clock = clock or Clock()
        self._changed = changed
        self._machine = machine(changed)
        self._series_sender = SeriesSender(push, self._clock, changed, hwm, checksum)
        self._series: Series | None = None
        self._remark = ""
        """What the camera has made of the settings of the series."""
        self._ring: Ring | None = None
        self._announcement: tuple[Header, dict[str, object]] = (Header(filename=""), {})
        self._parameters = Parameters(camera, push.endpoint, self._clock, changed)
        self._lock = Lock()
        self._busy = ""
        self._checks = 0
        self._is_given_up = False
        """True if nobody waits any more for the series that is being prepared."""
        self._closing = False
        self._jobs = Jobs(self._name)
        self._sends = Jobs(self._name)
        self._threads = [
            Thread(target=guarded, args=(run, self._name, died), name=name, daemon=True)
            for name, run in (("camera", self._run_camera), ("sender", self._sends.run))
        ]
        for thread in self._threads:
            thread.start()

    # Commands ---------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return the camera's description with its last settings."""
        return self._parameters.description

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Set the camera's own parameters; refused during a series."""

        def work() -> Description:
            if self._machine.state not in (State.IDLE, State.FAULT):
                raise Refused(
                    "illegal_state", f"{', '.join(values)} cannot be set while {self._machine.state}"
                )
            merged = self._parameters.merged(values)
            self._camera.apply(merged)
            self._parameters.have_been_set(merged)
            return self._parameters.description

        return self._on_camera("set parameters", work)

    def with_features(self, work: Callable[[HasFeatures], T], *, changes: bool = False) -> Future[T]:
        """Let `work` use the camera's features; refused during a series."""
        camera = self._camera
        if not isinstance(camera, HasFeatures):
            raise Refused("no_features", f"{self._name} has no features of its own")

        def use() -> T:
            if self._machine.state not in (State.IDLE, State.FAULT):
                raise Refused("illegal_state", f"no access to features while {self._machine.state}")
            result = work(camera)
            if changes:
                self._parameters.refresh_description()
            return result

        return self._on_camera("features", use)

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be checked without the hardware; change nothing, and disturb no series.

        It waits for a running call of the camera, and does not block other calls.
        """
        with self._lock:
            if self._closing or self._busy == "acquire" or self._checks >= MOST_CHECKS:
                self._refuse_when_busy()
                raise Refused("busy", f"{self._name} has not returned from the last call (check)")
            self._checks += 1

        def work() -> Checked:
            complete = self._complete(settings)
            frames = self._camera.check(complete.numbered(self._camera.most_frames()))
            if frames is None:
                return Checked(frames=settings.frames)
            check_orientation(complete, frames)
            return Checked(
                frames=settings.frames,
                frame_bytes=frames.frame_bytes,
                shape=rotated_shape(frames.shape, complete.rotation),
                dtype=frames.dtype,
            )

        def done() -> None:
            with self._lock:
                self._checks -= 1

        return self._jobs.ask(work, done)

    def prepare(self, settings: Settings) -> Future[Prepared]:
        """Check everything and set the hardware up; nothing is sent."""
        self._machine.after(Event.PREPARE)
        return self._on_camera(PREPARE, lambda: self._prepare(settings))

    def announce(self) -> Future[None]:
        """Send the start message of the prepared series."""
        self._machine.after(Event.ANNOUNCE)

        def work() -> None:
            self._machine.after(Event.ANNOUNCE)
            series, (header, metadata) = self._prepared(), self._announcement
            self._series_sender.announce(header, metadata)
            self._machine.fire(Event.ANNOUNCE, f"series {series.id} announced")

        return self._sends.ask(work)

    def start(self) -> Future[None]:
        """Arm the hardware; done when triggers are taken, or when arming has failed."""
        armed: Future[None] = Future()
        with self._lock:
            self._refuse_when_busy()
            self._machine.fire(Event.START, "arming")
            self._busy = "acquire"
        series = self._prepared()
        self._jobs.put(lambda: self._acquire(series))
        self._sends.put(lambda: self._send(series))
        Thread(target=self._await_armed, args=(series, armed), name="arming", daemon=True).start()
        return armed

    def trigger(self) -> None:
        """Give a software trigger.

        Raises:
            Refused: the detector is not waiting for one; nothing was triggered.
        """
        if self._machine.state is not State.ACQUIRING or self._series is None:
            raise Refused(
                "not_ready", f"SoftwareTrigger refused: the streamer is {self._machine.state}; Arm first"
            )
        self._series.trigger()

    def stop(self, cause: str = "") -> Future[None]:
        """End the series after the running frame and the queued ones; without effect if none is running.

        Args:
            cause: reason for the end message.
        """
        return self._end(EndReason.STOP, cause)

    def abort(self, cause: str = "") -> Future[None]:
        """End the series within a second, dropping queued frames; without effect if none is running.

        Args:
            cause: reason for the end message.
        """
        return self._end(EndReason.ABORT, cause)

    def cancel(self) -> Future[None]:
        """Discard a prepared or announced series, also one that is still being prepared.

        An announced one gets its end message.
        """
        with self._lock:
            if self._busy == PREPARE:
                self._is_given_up = True
                return _done()
        if self._machine.state not in (State.PREPARED, State.ANNOUNCED):
            return _done()
        return self._end(EndReason.ABORT, "cancelled")

    def reset(self) -> None:
        """Leave the state FAULT.

        Raises:
            Refused: a series is running, or the camera still hangs in its last call.
        """
        with self._lock:
            self._refuse_when_busy()
        self._machine.fire(Event.RESET, "")

    def status(self) -> StreamerStatus:
        """Return a snapshot of the status."""
        state, message = self._machine.state, self._machine.message
        peers = self._push.peers
        series = self._series
        if series is None:
            return StreamerStatus(
                state=state,
                message=message,
                peers=len(peers),
                peer_addresses=peers,
                readings=self._parameters.readings,
                warning=self._warning(state),
            )
        used, slots = series.buffers_used, series.ring.slots
        if state is State.ACQUIRING and series.armed:
            message = f"{series.acquired:,} of {plural(series.planned, 'frame')}"
            if series.ready_for_trigger:
                message += ", waiting for a software trigger"
        if self._series_sender.blocked and state in (State.ACQUIRING, State.ENDING):
            message = (
                f"waiting for the receiver to take frames: {used} of {slots} buffers used, "
                f"{len(peers)} connected"
            )
            if len(peers) > 1:
                message += "; one that takes nothing stops the others"
        return StreamerStatus(
            state=state,
            message=message,
            series=series.id,
            planned=series.plan or 0,
            triggered=series.triggers,
            acquired=series.acquired,
            sent=series.sent,
            lost=dict(series.lost),
            armed=series.armed,
            ready_for_trigger=state is State.ACQUIRING and series.ready_for_trigger,
            peers=len(peers),
            peer_addresses=peers,
            ring_used=used,
            ring_total=slots,
            end_sent=series.end_sent,
            readings=self._parameters.readings,
            warning=self._warning(state),
        )

    def _warning(self, state: State) -> str:
        if state is State.ACQUIRING:
            return self._parameters.trouble or self._remark
        return self._parameters.trouble or self._camera.remark() if state is State.IDLE else ""

    def close(self, reason: str = TOLD_TO_END, patience: float = 2.0) -> None:
        """End a running series as a fault; close camera and socket."""
        self._closing = True
        series = self._series
        if series is not None and self._machine.state is State.ACQUIRING:
            series.end(EndReason.FAULT, reason)
        elif self._machine.state is State.ANNOUNCED:
            self._end(EndReason.FAULT, reason)
        self._jobs.end()
        camera, sender = self._threads
        camera.join(patience)
        if camera.is_alive() and series is not None:
            series.end(EndReason.ABORT, reason)
        self._sends.end()
        sender.join(patience)
        if sender.is_alive():
            if series is not None:
                series.end(EndReason.ABORT, reason)
            sender.join(patience)
        if not sender.is_alive():
            self._push.close()

    # The camera's thread ----------------------------------------------------------------------

    def _run_camera(self) -> None:
        self._jobs.run(READ_EVERY, self._parameters.read)
        self._camera.close()

    def _prepare(self, settings: Settings) -> Prepared:
        settings = self._complete(settings)
        try:
            return self._set_up(settings)
        except Exception:  # a camera's SDK may raise anything
            if self._machine.state is State.PREPARED:
                self._machine.fire(Event.CANCEL, "the hardware is no longer set up as prepared before")
            raise

    def _set_up(self, settings: Settings) -> Prepared:
        frames = self._camera.prepare(settings.numbered(self._camera.most_frames()))
        self._parameters.have_been_set(settings.camera)
        taken = self._camera.as_prepared(settings)
        if remark := differences(settings, taken, self._camera.readout_time()):
            log.warning("%s: %s", self._name, remark)
        if self._ring is None or self._ring.slot_bytes != frames.slot_bytes or self._ring.used:
            self._ring = None  # freed before its successor is allocated
            self._ring = Ring(frames.slot_bytes, self._buffer_bytes)
        series = Series(
            uuid.uuid4().hex,
            taken,
            frames,
            self._ring,
            self._clock,
            self._camera.most_frames(),
            self._changed,
            self._parameters.refresh,
        )
        check_orientation(settings, frames)
        self._announcement = header_of(series, self._camera), metadata_of(taken, self._camera)
        self._series, self._remark = series, remark
        self._machine.fire(Event.PREPARE, f"{frames_in_words(series.plan)} prepared")
        return Prepared(
            series=series.id,
            shape=series.orientation.shape,
            dtype=frames.dtype,
            compression=frames.compression,
            frame_bytes=frames.frame_bytes,
            frames=settings.frames,
            index_source=self._camera.index_source,
            limits=self._parameters.description.limits,
        )

    def _complete(self, settings: Settings) -> Settings:
        """Return the settings completed with all of the camera's own parameters, checked."""
        values = self._parameters.merged(settings.camera)
        check_settings(settings, type(self._camera), self._parameters.description.limits)
        return msgspec.structs.replace(settings, camera=values)

    def _acquire(self, series: Series) -> None:
        try:
            if not series.stopping:
                self._take_frames(series)
        except Exception as error:  # a camera's SDK may raise anything; the series ends as a fault
            if not isinstance(error, CameraError | Overrun):
                log.exception("%s raised in acquire", self._name)
            series.fail(error, self._name)
        self._finishing(series.ending or "last frame is in")
        # The camera is free first: a client that sees the series end may prepare the next one at once.
        self._busy = ""
        series.finished()
        self._parameters.read()

    def _take_frames(self, series: Series) -> None:
        for exposure in self._camera.acquire(series):
            series.take(exposure)
            self._parameters.refresh()
        if series.triggers < series.planned and not series.stopping:
            raise CameraError(
                f"it ended after {series.triggers:,} of {plural(series.planned, 'frame')}: acquire returned "
                "before all were accounted for; a frame that was due and did not come is told by "
                "acquisition.triggered()"
            )

    # The sender's thread ----------------------------------------------------------------------

    def _send(self, series: Series) -> None:
        self._series_sender.stream(series)
        self._finishing(series.ending)
        self._finish(series)

    def _finish(self, series: Series) -> None:
        """Close the account, send the end message, and change to idle or fault."""
        undelivered = series.lost.get("undelivered", 0)
        if undelivered:
            series.end(
                EndReason.FAULT,
                f"no receiver took frames any more: {undelivered:,} of "
                f"{plural(series.acquired, 'frame was', 'frames were')} dropped; "
                "is the receiver running, and its disk not full?",
            )
        hung = series.aborting and not series.camera_done and self._busy == "acquire"
        end = series.close()
        series.drop_queued()
        series.end_sent = self._series_sender.end(series, end, lose=self._camera.loses_end)
        if hung:
            self._machine.fire(
                Event.FAULT, f"{self._name} did not end its acquisition after Abort; restart the streamer"
            )
        elif series.reason is EndReason.FAULT:
            self._machine.fire(Event.FAULT, series.ending)
        else:
            frames = plural(series.sent if series.plan is None else series.plan, "frame")
            counts = f"{frames} sent" if series.plan is None else f"{series.sent:,} of {frames} sent"
            self._machine.fire(Event.END, f"{series.ending}, {counts}" if series.ending else counts)

    def _finishing(self, cause: str) -> None:
        """Change to ENDING, unless another thread has done so: no further frame will begin."""
        with self._lock:
            if self._machine.state is State.ACQUIRING:
                self._machine.fire(Event.FINISH, cause)

    # Plumbing ---------------------------------------------------------------------------------

    def _end(self, reason: EndReason, cause: str = "") -> Future[None]:
        series, state = self._series, self._machine.state
        if series is None or state in (State.IDLE, State.FAULT):
            return _done()
        if state in (State.ACQUIRING, State.ENDING):
            if series.end(reason, cause):
                self._finishing(series.ending)
                self._changed()
            return _done()

        def work() -> None:
            # In the sender's thread, after an announcement that may still be running.
            if self._machine.state is State.PREPARED:
                self._machine.fire(Event.CANCEL, cause or ENDINGS[reason])
            elif self._machine.state is State.ANNOUNCED:
                series.end(reason, cause)
                # Do not wait for an absent receiver to take the end message, as for frames.
                series.end_sent = self._series_sender.end(series, series.close())
                self._machine.fire(Event.CANCEL, series.ending)
            elif self._machine.state in (State.ACQUIRING, State.ENDING):
                series.end(reason, cause)

        return self._sends.ask(work)

    def _await_armed(self, series: Series, armed: Future[None]) -> None:
        series.wait_armed()
        if series.armed:
            if self._machine.state is State.ACQUIRING:
                self._machine.message = "ready for triggers"
                self._changed()
            armed.set_result(None)
        else:
            armed.set_exception(Refused("camera", series.ending or "ended before it was armed"))

    def _prepared(self) -> Series:
        """Return the series, which exists in every state from PREPARED to ENDING."""
        if self._series is None:
            raise Refused("illegal_state", "no series is prepared")
        return self._series

    def _on_camera(self, what: str, work: Callable[[], T]) -> Future[T]:
        """Run `work` in the camera's thread, one call at a time."""
        with self._lock:
            self._refuse_when_busy()
            self._busy, self._is_given_up = what, False

        def free() -> None:
            with self._lock:
                self._busy = ""
                if what == PREPARE and self._is_given_up and self._machine.state is State.PREPARED:
                    self._machine.fire(Event.CANCEL, "given up while it was being prepared")

        return self._jobs.ask(work, free)

    def _refuse_when_busy(self) -> None:
        if self._closing:
            raise Refused("busy", "the streamer is ending")
        if self._busy:
            raise Refused("busy", f"{self._name} has not returned from the last call ({self._busy})")


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future
