"""The engine of a detector with a stream of its own: drives the box, series after series.

It uses three threads, and one more per software trigger or end: the box's thread, which makes all long calls
one after the other; the watcher's, which checks the box and reads read-only parameters; and the caller's,
which never waits for the box.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

import msgspec

from penstock.stins.metadata import read as read_metadata
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.checks import check_settings
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.driver import Checked, Description, Prepared, Refused, StreamerStatus
from penstock.streamer.camera.features import HasFeatures
from penstock.streamer.camera.header import metadata_of, period_of
from penstock.streamer.camera.jobs import Jobs, guarded
from penstock.streamer.camera.own_stream import BoxLost, Progress, StreamingDetector
from penstock.streamer.camera.parameters import Parameters
from penstock.streamer.camera.settings import Settings, TriggerMode, Value, frames_in_words
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.own_stream.series import LostSettings, Series
from penstock.streamer.own_stream.states import IN_SERIES, Event, State, machine
from penstock.streamer.own_stream.watcher import LOOK_EVERY, Watcher, sentence_of, wrong

log = logging.getLogger(__name__)
T = TypeVar("T")


class OwnStreamEngine:
    """The engine; see the module.

    Args:
        detector: the unit, which the engine connects and closes.
        changed: called from any thread after every change of `status()`; must return at once.
        died: called when one of the engine's own threads has died, an internal error.
    """

    def __init__(
        self, detector: StreamingDetector, *, changed: Callable[[], None] = lambda: None,
        died: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._detector = detector
        self._name = type(detector).__name__
        self._clock = Clock()
        self._changed = changed
        self._died = died
        self._machine = machine(self._on_move)
        self._parameters = Parameters(detector, detector.stream_endpoint(), self._clock, changed)
        self._lost = LostSettings(detector.set_by_reset)
        self._series: Series | None = None
        self._busy = ""
        """The running call of the box's thread."""
        self._box = Jobs(self._name)
        self._watcher = Watcher(
            detector, self._machine, self._parameters, clock=self._clock,
            under_way=lambda: (self._series, self._busy), changed=changed,
        )  # fmt: skip
        self._watching = self._thread("watcher", self._watcher.run)
        self._thread("box", self._box.run)
        self._on_box("connect", self._connect)

    # Commands ---------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return the detector as it was set last."""
        return self._parameters.description

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Give the box new settings; done when it has confirmed them."""
        merged = self._parameters.merged(values)
        before = self._parameters.description.values
        changed = {name: merged[name] for name in values if merged[name] != before.get(name)}
        names = ", ".join(values)
        if not changed:
            self._machine.after(Event.CONFIGURE)
            self._lost.wrote(values)
            self._changed()
            return _done(self.describe())
        self._machine.fire(Event.CONFIGURE, f"{names}: the detector takes it over")

        def work() -> Description:
            self._detector.apply(changed)
            self._take_over()
            self._lost.wrote(values)
            self._machine.fire(Event.CONFIGURED, "")
            return self.describe()

        def failed(error: CameraError) -> None:
            self._take_over()
            self._machine.fire(Event.CONFIGURED, f"{names} was not set: {error}")

        return self._on_box(f"set {names}", work, failed)

    def with_features(self, work: Callable[[HasFeatures], T], *, changes: bool = False) -> Future[T]:
        """Refuse: such detectors declare all that their box has."""
        raise Refused("no_features", f"{self._name} has no features of its own")

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be checked without the box; change nothing."""
        self._lost.refuse()
        complete = self._complete(settings)
        try:
            frames = self._detector.check(complete.numbered(self._detector.most_frames()))
        except CameraError as error:
            raise Refused("camera", f"{self._name}: {error}") from None
        if frames is None:
            return _done(Checked(frames=settings.frames, source=self._detector.stream_source()))
        return _done(
            Checked(
                frames=settings.frames, frame_bytes=frames.frame_bytes, shape=frames.shape,
                dtype=frames.dtype, source=self._detector.stream_source(),
            )
        )  # fmt: skip

    def prepare(self, settings: Settings) -> Future[Prepared]:
        """Configure the box for a series, and return the result; nothing is sent."""
        self._machine.after(Event.PREPARE)
        self._refuse_when_busy()
        self._lost.refuse()

        def work() -> Prepared:
            complete = self._complete(settings)
            until_stop = 0 if complete.n_triggers else self._detector.frames_until_stop()
            numbered = complete.numbered(until_stop)
            frames = self._detector.prepare(numbered)
            self._take_over()
            taken = self._detector.as_prepared(numbered)
            ident = uuid.uuid4().hex[: self._detector.arm_characters]
            series = Series(ident, taken, frames, complete.planned)
            self._machine.fire(Event.PREPARE, f"{frames_in_words(complete.planned)} prepared")
            self._series = series
            return Prepared(
                series=series.id, shape=frames.shape, dtype=frames.dtype, compression=frames.compression,
                frame_bytes=frames.frame_bytes, frames=complete.frames,
                index_source=self._detector.index_source, source=self._detector.stream_source(),
                values=standard_values(taken),
                expected=None if self._detector.sends_start else self._user_part(series),
            )  # fmt: skip

        return self._on_box("prepare", work, lambda error: self._withdraw())

    def announce(self) -> Future[None]:
        """Refused: the box sends the start message itself, when it is armed."""
        raise Refused("illegal_state", f"{self._name} announces its series itself, when it is armed")

    def start(self) -> Future[None]:
        """Arm the box; done when it takes triggers, or when arming has failed."""
        self._refuse_when_busy()
        series = self._prepared()
        series.armed_at = self._clock.monotonic()  # before the watcher sees the state
        self._machine.fire(Event.ARM, "the detector is being armed")
        return self._on_box("arm", lambda: self._arm(series), self._not_armed)

    def trigger(self) -> None:
        """Give a software trigger; return at once.

        Raises:
            Refused: the box is not waiting for one; nothing was triggered.
        """
        series = self._series
        if self._machine.state is not State.ACQUIRING or series is None:
            raise Refused(
                "not_ready", f"SoftwareTrigger refused: the detector is {self._machine.state}; Arm first"
            )
        series.trigger()
        self._thread("trigger", lambda: self._trigger(series))

    def stop(self, cause: str = "") -> Future[None]:
        """Finish the frame and end; nothing to do when nothing runs.

        Args:
            cause: why, in words.
        """
        return self._end("stop", cause or "stopped", self._detector.stop)

    def abort(self, cause: str = "") -> Future[None]:
        """End at once; nothing to do when nothing runs.

        Args:
            cause: why, in words.
        """
        return self._end("abort", cause or "aborted", self._detector.abort)

    def cancel(self) -> Future[None]:
        """Discard a prepared series."""
        if self._machine.state is State.PREPARED:
            self._machine.fire(Event.CANCEL, "cancelled")
        return _done(None)

    def reset(self) -> Future[None]:
        """Connect to the box and bring it to rest, whoever armed it; done when it is.

        Raises:
            Refused: a series is running, or the box hangs in a call.
        """
        self._refuse_when_busy()
        if self._machine.state is State.PREPARED:
            self._machine.fire(Event.CANCEL, "reset")
        self._machine.fire(Event.RESET, "the detector is being reset")
        return self._on_box("reset", self._reset)

    def status(self) -> StreamerStatus:
        """Snapshot."""
        state, series = self._machine.state, self._series
        shown = {State.ARMING: State.ACQUIRING}.get(state, state).value
        common = StreamerStatus(
            state=shown,
            message=self._machine.message,
            peers=None,
            readings=self._parameters.readings,
            warning=self._lost.sentence,
        )
        if series is None:
            return msgspec.structs.replace(common, acquired=None)
        taking = state is State.ACQUIRING
        return msgspec.structs.replace(
            common, series=series.id, planned=series.plan or 0, triggered=series.triggered,
            acquired=series.acquired, sent=(series.acquired if series.sent is None else series.sent) or 0,
            armed=series.armed,
            ready_for_trigger=taking and series.ready_for_trigger, end_sent=series.ended,
            ended_early=series.ended_early, ended_by=series.ended_by,
        )  # fmt: skip

    def close(self, reason: str = "the detector's control was told to end") -> None:
        """End a running series and release the box."""
        self._watcher.close()
        if self._machine.state in (State.ARMING, State.ACQUIRING):
            try:
                self._detector.abort()
            except CameraError as error:
                log.warning("%s, and the series could not be aborted: %s", reason, error)
        self._box.end()
        self._watching.join(LOOK_EVERY)
        self._detector.close()

    # The box's thread -------------------------------------------------------------------------

    def _connect(self) -> None:
        self._look_after_connecting(self._detector.connect(), {})

    def _reset(self) -> None:
        self._detector.connect()
        self._detector.reset()
        before = self.describe().values
        self._look_after_connecting(self._detector.progress(), before)

    def _look_after_connecting(self, progress: Progress, before: Mapping[str, Value]) -> None:
        self._take_over()
        self._lost.compare(before, self.describe().values)
        self._busy = ""  # the box has answered: Reset is possible as soon as the state says FAULT
        if trouble := wrong(progress):
            self._machine.fire(Event.FAIL, trouble)
        else:
            self._machine.fire(Event.CONFIGURED, "")

    def _take_over(self) -> None:
        """Take the box's own values; parameters that it does not have are left out."""
        self._parameters.have_been_set(dict(self._detector.values()))
        if self._detector.newest_image:  # it follows from a setting
            self._parameters.read_again(self._detector.newest_image)

    def _withdraw(self) -> None:
        """Discard an earlier prepared series: the new one was refused."""
        if self._machine.state is State.PREPARED:
            self._machine.fire(Event.CANCEL, "the detector is no longer set up as prepared before")

    def _complete(self, settings: Settings) -> Settings:
        values = self._parameters.merged(settings.camera)
        if lacking := values.keys() - self._parameters.description.values:
            raise Refused("unknown_parameter", f"this detector has no {', '.join(sorted(lacking))}")
        check_settings(settings, type(self._detector), self._parameters.description.limits)
        return msgspec.structs.replace(settings, camera=values)

    def _arm(self, series: Series) -> None:
        self._detector.arm(self._user_part(series))
        if self._machine.state is not State.ARMING:
            # Stop or Abort was called during arming, perhaps before the box could obey.
            self._detector.abort()
            raise Refused("cancelled", f"{self._name}: {self._machine.message} while it was being armed")
        series.armed = True
        self._machine.fire(Event.ARMED, "")
        if series.settings.trigger_mode is TriggerMode.INTERNAL:
            self._thread("start of the series", lambda: self._trigger(series))

    def _not_armed(self, error: CameraError) -> None:
        """Disarm the box after it has refused to arm, so that the next series can be prepared."""
        if self._machine.state is not State.ARMING or self._series is None:
            return
        self._series.ended_at = self._clock.monotonic()
        self._detector.abort()
        self._machine.fire(Event.END, str(error))
        self._machine.fire(Event.ENDED, str(error))

    def _user_part(self, series: Series) -> UserPart:
        settings = series.settings
        read_metadata(settings.metadata)
        return UserPart(
            arm=series.id,
            filename=settings.filename,
            overwrite=settings.overwrite,
            frames=series.plan or 0,
            frames_per_trigger=settings.n_frames_per_trigger,
            index_source=self._detector.index_source.value,
            trigger_mode=settings.trigger_mode.value,
            frame_time=period_of(settings, self._detector),
            metadata=metadata_of(series.as_set, self._detector),
        )

    def _refuse_when_busy(self) -> None:
        if self._busy:
            raise Refused("busy", f"{self._name} has not returned from the last call ({self._busy})")

    def _on_box(
        self, what: str, work: Callable[[], T], failed: Callable[[CameraError], None] | None = None
    ) -> Future[T]:
        """Let the box's thread do the work. A refusal of the box is passed to `failed`; other errors are
        faults."""

        def guarded() -> T:
            self._busy = what
            try:
                return work()
            except Refused:
                raise
            except Exception as error:
                self._went_wrong(error, failed)
                raise
            finally:
                self._busy = ""

        return self._box.ask(guarded)

    def _went_wrong(self, error: Exception, failed: Callable[[CameraError], None] | None) -> None:
        cause = sentence_of(error, self._name)
        if failed is not None and isinstance(error, CameraError) and not isinstance(error, BoxLost):
            try:
                failed(error)
                return
            except Exception as worse:
                cause = f"{cause}; {sentence_of(worse, self._name)}"
        self._machine.fire(Event.FAIL, cause)

    # Threads of one call ----------------------------------------------------------------------

    def _trigger(self, series: Series) -> None:
        series.triggered_at = self._clock.monotonic()
        try:
            self._detector.trigger()
        except Exception as error:
            seen = self._machine.moves
            if self._machine.state is State.ACQUIRING and self._series is series:
                given = series.software_triggers
                # In INTERNAL mode the one call lasts as long as the series, and may fail at any frame.
                which = f"trigger {given}: " if given else ""
                self._machine.fire(Event.FAIL, f"{which}{sentence_of(error, self._name)}", seen=seen)
        finally:
            series.triggering = False
            self._changed()
            self._watcher.wake()

    def _end(self, what: str, cause: str, call: Callable[[], None]) -> Future[None]:
        seen, series, state = self._machine.moves, self._series, self._machine.state  # in this order
        if state is State.PREPARED:
            return self.cancel()
        if state not in IN_SERIES or series is None:
            return _done(None)
        if state is State.ENDING and what == "stop":
            return _done(None)
        series.ended_at = self._clock.monotonic()
        if not self._machine.fire(Event.END, cause, seen=seen):
            return self._end(what, cause, call)  # the state has just changed by itself, perhaps to the end

        def work() -> None:
            try:
                call()
            except Exception as error:
                seen = self._machine.moves
                if self._machine.state is State.ENDING:
                    self._machine.fire(Event.FAIL, f"{what}: {sentence_of(error, self._name)}", seen=seen)
            self._watcher.wake()

        self._thread(what, work)
        return _done(None)

    def _thread(self, name: str, work: Callable[[], None]) -> Thread:
        thread = Thread(target=guarded, args=(work, self._name, self._died), name=name, daemon=True)
        thread.start()
        return thread

    # Parts ------------------------------------------------------------------------------------

    def _prepared(self) -> Series:
        self._machine.after(Event.ARM)
        if self._series is None:
            raise Refused("illegal_state", "no series is prepared")
        return self._series

    def _on_move(self) -> None:
        self._watcher.wake()
        self._changed()


def standard_values(settings: Settings) -> dict[str, Value]:
    """Return the standard settings of a series that a box may round, by parameter."""
    return {
        "ExposureTime": settings.exposure_time, "LatencyTime": settings.latency_time,
        "BeamCenterX": settings.beam_center[0], "BeamCenterY": settings.beam_center[1],
        "Distance": settings.distance,
    }  # fmt: skip


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
