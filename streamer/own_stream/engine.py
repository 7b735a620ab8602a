"""The engine of a detector with a stream of its own: drives the box, series after series.

Three threads, and one more per software trigger or end: the box's, which makes all calls that may take long,
one after the other; the watcher's, which looks at the box and reads what can only be read; and the caller's,
which never waits for the box.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Event as Flag
from threading import Thread
from typing import TypeVar

import msgspec

from penstock.stins.metadata import read as read_metadata
from penstock.stins.texts import plural
from penstock.stins.user_part import UserPart
from penstock.streamer.checks import check_settings
from penstock.streamer.clock import Clock
from penstock.streamer.errors import Refused
from penstock.streamer.header import metadata_of, period_of
from penstock.streamer.jobs import Jobs
from penstock.streamer.own_stream.contract import BoxLost, BoxState, Progress, StreamingDetector
from penstock.streamer.own_stream.series import Series
from penstock.streamer.own_stream.states import IN_SERIES, Event, Machine, State
from penstock.streamer.parameters import Parameters
from penstock.streamer.protocol import Checked, Description, Prepared, StreamerStatus
from penstock.streamer.settings import Settings, TriggerMode
from penstock.streamer.unit import CameraError

log = logging.getLogger(__name__)
T = TypeVar("T")

LOOK_EVERY, LOOK_EVERY_IN_SERIES = 1.0, 0.1
"""Seconds between two looks at the box."""
SILENT_FOR = 5.0
"""Seconds without an answer of the box in a series, after which it is lost."""
ARMED_WITHIN = 60.0
"""Seconds in which a box is armed."""
ENDED_WITHIN = 20.0
"""Seconds in which it comes to rest after Stop or Abort, beyond the exposure."""


class OwnStreamEngine:
    """See the module.

    Args:
        detector: the unit; the engine connects and closes it.
        clock: for tests.
        changed: called from any thread after every change of `status()`; must return at once.
        died: called when one of the engine's own threads has died, which is a mistake of ours.
    """

    def __init__(
        self, detector: StreamingDetector, *, clock: Clock | None = None,
        changed: Callable[[], None] = lambda: None, died: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._detector = detector
        self._name = type(detector).__name__
        self._clock = clock or Clock()
        self._changed = changed
        self._died = died
        self._wake = Flag()
        self._closing = False
        self._machine = Machine(self._on_move)
        self._parameters = Parameters(detector, detector.stream_endpoint(), self._clock, changed)
        self._series: Series | None = None
        self._busy = ""
        """The call of the box's thread that is under way."""
        self._box = Jobs(self._name)
        self._watcher = Thread(target=self._guard, args=(self._watch,), name="watcher", daemon=True)
        self._watcher.start()
        self._thread("box", self._box.run)
        self._on_box("connect", self._connect)

    # Commands ---------------------------------------------------------------------------------

    def describe(self) -> Description:
        """The detector as it was set last."""
        return self._parameters.description

    def set(self, values: Mapping[str, object]) -> Future[Description]:
        """Give the box new settings; answered when it has confirmed them."""
        merged = self._parameters.merged(values)
        before = self._parameters.description.values
        changed = {name: merged[name] for name in values if merged[name] != before.get(name)}
        names = ", ".join(values)
        if not changed:
            self._machine.after(Event.CONFIGURE)
            return _done(self.describe())
        self._machine.fire(Event.CONFIGURE, f"{names}: the detector takes it over")

        def work() -> Description:
            self._detector.apply(changed)
            self._take_over()
            self._machine.fire(Event.CONFIGURED, "")
            return self.describe()

        def failed(error: CameraError) -> None:
            self._take_over()
            self._machine.fire(Event.CONFIGURED, f"{names} was not set: {error}")

        return self._on_box(f"set {names}", work, failed)

    def check(self, settings: Settings) -> Future[Checked]:
        """Check everything that can be without the box, and change nothing."""
        complete = self._complete(settings)
        try:
            frames = self._detector.check(complete)
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
        """Configure the box for a series, and say what it made of it; nothing is sent."""
        self._machine.after(Event.PREPARE)
        self._refuse_when_busy()

        def work() -> Prepared:
            complete = self._complete(settings)
            frames = self._detector.prepare(complete)
            self._take_over()
            series = Series(uuid.uuid4().hex, complete, frames)
            self._machine.fire(Event.PREPARE, f"{plural(complete.frames, 'frame')} prepared")
            self._series = series
            return Prepared(
                series=series.id, shape=frames.shape, dtype=frames.dtype, compression=frames.compression,
                frame_bytes=frames.frame_bytes, frames=complete.frames,
                index_source=self._detector.index_source, source=self._detector.stream_source(),
            )  # fmt: skip

        return self._on_box("prepare", work, lambda error: self._withdraw())

    def announce(self) -> Future[None]:
        """Refused: the box sends the start message itself, when it is armed."""
        raise Refused("illegal_state", f"{self._name} announces its series itself, when it is armed")

    def start(self) -> Future[None]:
        """Arm the box; done when it takes triggers, or when that failed."""
        self._refuse_when_busy()
        series = self._prepared()
        series.armed_at = self._clock.monotonic()  # before the watcher sees the state
        self._machine.fire(Event.ARM, "the detector is being armed")
        return self._on_box("arm", lambda: self._arm(series), self._not_armed)

    def trigger(self) -> None:
        """One software trigger; returns at once.

        Raises:
            Refused: the box does not wait for one; nothing was triggered.
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
        """Forget a prepared series."""
        if self._machine.state is State.PREPARED:
            self._machine.fire(Event.CANCEL, "cancelled")
        return _done(None)

    def reset(self) -> Future[None]:
        """Reach the box and bring it to rest, whoever has armed it; answered when it is.

        Raises:
            Refused: a series is under way, or the box hangs in a call.
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
            state=shown, message=self._machine.message, peers=None, readings=self._parameters.readings
        )
        if series is None:
            return msgspec.structs.replace(common, acquired=None)
        taking = state is State.ACQUIRING
        return msgspec.structs.replace(
            common, series=series.id, planned=series.settings.frames, triggered=series.triggered,
            acquired=series.acquired, sent=series.acquired or 0, armed=series.armed,
            ready_for_trigger=taking and series.ready_for_trigger, end_sent=series.ended,
        )  # fmt: skip

    def close(self, reason: str = "the detector's control was told to end") -> None:
        """End a running series and let go of the box."""
        self._closing = True
        self._wake.set()
        if self._machine.state in (State.ARMING, State.ACQUIRING):
            try:
                self._detector.abort()
            except CameraError as error:
                log.warning("%s, and the series could not be aborted: %s", reason, error)
        self._box.end()
        self._watcher.join(LOOK_EVERY)
        self._detector.close()

    # The box's thread -------------------------------------------------------------------------

    def _connect(self) -> None:
        self._look_after_connecting(self._detector.connect())

    def _reset(self) -> None:
        self._detector.connect()
        self._detector.reset()
        self._look_after_connecting(self._detector.progress())

    def _look_after_connecting(self, progress: Progress) -> None:
        self._take_over()
        if wrong := _wrong(progress):
            self._machine.fire(Event.FAIL, wrong)
        else:
            self._machine.fire(Event.CONFIGURED, "")

    def _take_over(self) -> None:
        """What the box has counts, and what it lacks is not there."""
        self._parameters.have_been_set(dict(self._detector.values()))

    def _withdraw(self) -> None:
        """Prepare was refused: nothing of an earlier one is left."""
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
            # Stop or Abort came while it was being armed, and may have come before the box could obey.
            self._detector.abort()
            raise Refused("cancelled", f"{self._name}: {self._machine.message} while it was being armed")
        series.armed = True
        self._machine.fire(Event.ARMED, "")
        if series.settings.trigger_mode is TriggerMode.INTERNAL:
            self._thread("start of the series", lambda: self._trigger(series))

    def _not_armed(self, error: CameraError) -> None:
        """The box refuses to be armed: it is disarmed, and the next series may come."""
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
            frames=settings.frames,
            index_source=self._detector.index_source.value,
            trigger_mode=settings.trigger_mode.value,
            frame_time=period_of(settings, self._detector),
            metadata=metadata_of(settings, self._detector),
        )

    def _refuse_when_busy(self) -> None:
        if self._busy:
            raise Refused("busy", f"{self._name} has not returned from the last call ({self._busy})")

    def _on_box(
        self, what: str, work: Callable[[], T], failed: Callable[[CameraError], None] | None = None
    ) -> Future[T]:
        """Let the box's thread do it. What the box refuses is for `failed`; everything else is a fault."""

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
        cause = self._said(error)
        if failed is not None and isinstance(error, CameraError) and not isinstance(error, BoxLost):
            try:
                failed(error)
                return
            except Exception as worse:
                cause = f"{cause}; {self._said(worse)}"
        self._machine.fire(Event.FAIL, cause)

    def _said(self, error: Exception) -> str:
        """The sentence of an error; a detector's file may raise anything, in any call."""
        if isinstance(error, CameraError):
            return str(error)
        log.error("%s raised what is no CameraError", self._name, exc_info=error)
        return f"{self._name} raised {type(error).__name__}: {error}; the streamer's log says where"

    # Threads of one call ----------------------------------------------------------------------

    def _trigger(self, series: Series) -> None:
        try:
            self._detector.trigger()
        except Exception as error:
            seen = self._machine.moves
            if self._machine.state is State.ACQUIRING and self._series is series:
                given = series.software_triggers
                what = f"trigger {given}" if given else "start of the series"
                self._machine.fire(Event.FAIL, f"{what}: {self._said(error)}", seen=seen)
        finally:
            series.triggering = False
            self._changed()
            self._wake.set()

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
            return self._end(what, cause, call)  # it has just moved by itself, perhaps to its end

        def work() -> None:
            try:
                call()
            except Exception as error:
                seen = self._machine.moves
                if self._machine.state is State.ENDING:
                    self._machine.fire(Event.FAIL, f"{what}: {self._said(error)}", seen=seen)
            self._wake.set()

        self._thread(what, work)
        return _done(None)

    def _thread(self, name: str, work: Callable[[], None]) -> None:
        Thread(target=self._guard, args=(work,), name=name, daemon=True).start()

    # The watcher's thread ---------------------------------------------------------------------

    def _watch(self) -> None:
        answered = self._clock.monotonic()
        while not self._closing:
            self._wake.wait(LOOK_EVERY_IN_SERIES if self._machine.state in IN_SERIES else LOOK_EVERY)
            self._wake.clear()
            seen, state = self._machine.moves, self._machine.state  # in this order
            if self._closing or state in (State.CONFIGURING, State.FAULT):
                answered = self._clock.monotonic()
                continue
            try:
                progress = self._detector.progress()
                answered = self._clock.monotonic()
                self._parameters.refresh()
            except BoxLost as error:
                # In a series a moment's silence is no reason to lose it.
                if state not in IN_SERIES or self._clock.monotonic() - answered > SILENT_FOR:
                    self._machine.fire(Event.FAIL, str(error), seen=seen)
                continue
            except Exception as error:
                self._machine.fire(Event.FAIL, self._said(error), seen=seen)
                continue
            self._judge(state, seen, progress)

    def _judge(self, state: State, seen: int, progress: Progress) -> None:
        series = self._series
        if state is State.IDLE or state is State.PREPARED:
            if not self._busy and (wrong := _wrong(progress)):
                self._machine.fire(Event.FAIL, wrong, seen=seen)
            return
        if series is None:
            return
        # Until the box is armed its counter is that of the series before.
        counting = series.armed and state is not State.ARMING
        if counting and progress.acquired is not None and progress.acquired != series.acquired:
            series.acquired = progress.acquired
            self._changed()
        now = self._clock.monotonic()
        if state is State.ARMING:
            if now - series.armed_at > ARMED_WITHIN:
                self._machine.fire(Event.FAIL, f"not armed within {ARMED_WITHIN:g} s", seen=seen)
        elif progress.state is BoxState.IDLE and self._busy != "arm":
            series.ended = True
            counts = f"{series.triggered} of {plural(series.settings.frames, 'frame')} triggered"
            said = self._machine.message if state is State.ENDING else ""
            self._machine.fire(Event.ENDED, f"{said}, {counts}" if said else counts, seen=seen)
        elif progress.state in (BoxState.ERROR, BoxState.UNINITIALISED):
            self._machine.fire(Event.FAIL, _wrong(progress), seen=seen)
        elif state is State.ENDING and now - series.ended_at > ENDED_WITHIN + series.settings.exposure_time:
            self._machine.fire(
                Event.FAIL,
                f"the detector is still {progress.state} {ENDED_WITHIN:g} s after the end was asked for",
                seen=seen,
            )  # fmt: skip

    # Parts ------------------------------------------------------------------------------------

    def _prepared(self) -> Series:
        self._machine.after(Event.ARM)
        if self._series is None:
            raise Refused("illegal_state", "no series is prepared")
        return self._series

    def _on_move(self) -> None:
        self._wake.set()
        self._changed()

    def _guard(self, run: Callable[[], None]) -> None:
        """Run a thread; nobody shall wait for one that is dead."""
        try:
            run()
        except BaseException:
            log.critical("%s: a thread of the engine died", self._name, exc_info=True)
            self._died()
            raise


def _wrong(progress: Progress) -> str:
    """Why the box cannot take a series, with the remedy; "" where it can."""
    said = f": {progress.message}" if progress.message else ""
    match progress.state:
        case BoxState.ARMED:
            return f"the detector was armed by somebody else{said}; Reset disarms it, and ends that series"
        case BoxState.UNINITIALISED:
            return f"the detector was switched on, and is not initialised{said}; Reset initialises it"
        case BoxState.ERROR:
            return f"the detector reports an error{said}; Reset tries to bring it to rest"
    return ""


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
