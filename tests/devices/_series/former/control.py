"""The control loop of one detector: the commands of a series, from Arm to the closed file.

It uses no Tango, no socket and no thread of its own: commands are calls, both clients' snapshots are kept in
the `SeriesRecord`, and `step`, which one thread calls often, has the `SeriesWatchdog` check them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import ACTIVE, Event, SeriesState
from penstock.devices._series.machine.view import SeriesView
from penstock.devices._series.streamer_process import StreamerLink
from penstock.receiver.client import ReceiverClient
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import Description, Prepared, StreamerClient
from tests.devices._series.former import arming
from tests.devices._series.former.arm_box import BoxArming
from tests.devices._series.former.arm_streamer import NO_RECEIVER, NO_STREAMER, StreamerArming
from tests.devices._series.former.arming import ArmRefused
from tests.devices._series.former.checking import Answer, Checker
from tests.devices._series.former.configuring import Configuring
from tests.devices._series.former.earlier_series import EarlierSeries
from tests.devices._series.former.next_frames import NextFrames
from tests.devices._series.former.record import SeriesRecord
from tests.devices._series.former.trigger_waits import TriggerWaits
from tests.devices._series.former.watchdog import SeriesWatchdog, remedied, sentence

log = logging.getLogger(__name__)

UNCHECKED = "other consumers of the stream cannot be seen (unchecked)"
"""Note for a detector that streams by itself: the peers of its box are unknown."""
LEFT_OVER = ("prepared", "announced", "arming", "acquiring", "ending")
"""States of a streamer with a series of an earlier device process."""


class SeriesControl:
    """The control of series on one streamer and one receiver.

    Args:
        link: how the streamer is started or reached.
        receiver: client of the receiver.
        clock: monotonic seconds.
        connected: called with a streamer that has just been reached, before it may be armed; and again when
            the box of a detector that streams by itself has taken settings.
        prepared: called while it is being armed, with the series as its box will take it.
        changed: called after every change that requires a `step`; must return at once.
        limits: time limits of the watchdog.
        may_connect: returns whether the streamer may be opened; called often until it may.
        armed_limit: see `TriggerWaits`.
        trigger_limit: see `TriggerWaits`.
    """

    def __init__(
        self, link: StreamerLink, receiver: ReceiverClient, *, clock: Callable[[], float],
        connected: Callable[[StreamerClient, Description], None] = lambda streamer, description: None,
        prepared: Callable[[Prepared], None] = lambda prepared: None,
        changed: Callable[[], None] = lambda: None, limits: WatchdogLimits | None = None,
        may_connect: Callable[[SeriesRecord], bool] = lambda record: True,
        armed_limit: Callable[[], float] = lambda: 0.0, trigger_limit: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self._may_connect = may_connect
        self._link = link
        self._receiver = receiver
        self._clock = clock
        self._connected = connected
        self._changed = changed
        self.record = SeriesRecord(clock, changed)
        self.next_frames = NextFrames(self.record, receiver)
        self._checker = Checker(receiver, clock)
        self._watchdog = SeriesWatchdog(
            self.record, link.died, self, limits or WatchdogLimits(),
            TriggerWaits(self.record, armed_limit, trigger_limit), remote=not link.restartable,
        )  # fmt: skip
        self.box = Configuring(self.record, lambda: self.streamer, connected, changed)
        self._earlier = EarlierSeries(self.record)
        self._arm_streamer = StreamerArming(self.record, receiver, link.died, self)
        self._arm_box = BoxArming(self.record, receiver, self, prepared, self._on_armed, armed_limit)
        self._box_changed = False
        self._streamer: StreamerClient | None = None
        self._endpoint = ""
        self._in_arm = False
        self._closed = False

    @property
    def view(self) -> SeriesView:
        """The present view of the series."""
        return self.record.view

    @property
    def connected(self) -> bool:
        """True if a streamer is connected."""
        return self._streamer is not None and not self.record.streamer_lost

    @property
    def streamer(self) -> StreamerClient:
        """Client of the streamer.

        Raises:
            ArmRefused: there is none now.
        """
        streamer = self._streamer
        if streamer is None or self.record.streamer_lost:
            raise ArmRefused("no_streamer", self.view.warning or self.view.sentence)
        return streamer

    # Commands ---------------------------------------------------------------------------------

    def arm(self, settings: Settings, armed_by: str = "") -> None:
        """Begin a series; return when the hardware takes triggers, or is still arming (state ARMING).

        Args:
            settings: settings of the series.
            armed_by: client that arms, in words; "" if unknown.

        Raises:
            ArmRefused: the sentence says why; the state is IDLE again, or FAULT if the streamer is lost.
        """
        with self.record.lock:
            view = self.view
            if view.state is not SeriesState.IDLE:
                raise arming.not_idle(view.sentence)
            streamer = self.streamer
            self._in_arm = True
            self.record.begin(settings)
            self.record.move(Event.ARM, "Arming: checks, start message, hardware.")
        procedure = self._arm_box if self.record.own_stream else self._arm_streamer
        try:
            procedure.arm(streamer, self._endpoint, settings, armed_by)
        finally:
            self._in_arm = False
            self._changed()

    def check(self, settings: Settings, period: float) -> Answer:
        """Return what `arm` would answer, and the size of the series; in every state, without any change.

        Args:
            settings: settings of the next series.
            period: period of its frames, in seconds.
        """
        record = self.record
        status = record.receiver_status if record.receiver_silence is None else None
        return self._checker.answer(
            self.view, status, lambda: self.streamer, self._endpoint, settings, period,
            unchecked=UNCHECKED if record.own_stream else "",
        )  # fmt: skip

    def measure(self, settings: Callable[[], Settings]) -> bool:
        """Find out the format of the next series' frames; return whether that was possible now."""
        if self._in_arm or self.view.state not in (SeriesState.IDLE, SeriesState.FAULT) or not self.connected:
            return False
        return self.next_frames.ask(lambda: self.streamer, settings)

    def trigger(self) -> None:
        """Start the next trigger of a SOFTWARE series.

        Raises:
            ArmRefused: no such series is running, or it takes no trigger now.
        """
        view, settings = self.view, self.record.settings
        if view.state is not SeriesState.TAKING:
            raise ArmRefused("not_running", f"SoftwareTrigger needs an armed series; now: {view.sentence}")
        if settings is not None and settings.trigger_mode is not TriggerMode.SOFTWARE:
            raise ArmRefused(
                "wrong_mode",
                "SoftwareTrigger needs TriggerMode SOFTWARE; this series was armed with "
                f"{settings.trigger_mode}",
            )
        streamer = self.streamer
        self.record.trigger(1 if settings is None else settings.n_frames_per_trigger)
        try:
            streamer.trigger()
        except NO_STREAMER as error:
            self.record.untrigger(view.triggered)
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    def stop(self, cause: str = "") -> None:
        """Finish the running frame and complete the file; without effect if no series is running.

        Args:
            cause: reason in words, if no client has requested it.
        """
        doing = sentence(cause or "the running frame is finished")
        self._end(f"Stopping: {doing}", aborted=False, cause=cause)

    def abort(self, by: str = "") -> None:
        """Drop queued frames and mark the file as aborted; without effect if no series is running.

        Args:
            by: what ends the series, if not a client's Abort, such as "Init".
        """
        self._end("Aborting: queued frames are dropped.", aborted=True, cause=by)

    def announce_end(self, by: str) -> None:
        """Tell the receiver that the series of a box ends before its time: no end message of a box says why.
        `close` ends it.

        Args:
            by: what ends the series.
        """
        with self.record.lock:
            runs = self.view.state in (SeriesState.TAKING, SeriesState.STOPPING)
        if runs and self.record.own_stream and self.record.ready:
            self._announce_end(f"ended by {by}", failed=True)

    def reset(self) -> None:
        """Leave FAULT: at once, or after the streamer has been restarted (state OFFLINE).

        Raises:
            ArmRefused: a series is running, or a streamer on another host refuses.
        """
        view = self.view
        if view.state in ACTIVE:
            raise ArmRefused("running", f"Reset: call Stop or Abort first; now: {view.sentence}")
        if view.state is not SeriesState.FAULT:
            return
        self._end_at_receiver()
        if not self.connected or self._link.died() is not None:
            self.record.move(Event.RECONNECT, "The streamer is being started.")
            return
        try:
            if self.record.own_stream:
                self.box.reset()
                return
            self.streamer.reset()
        except (ArmRefused, *NO_STREAMER) as error:
            # The camera or the box hangs in a call, or takes a series that was given up while its streamer
            # was silent: only a new process helps.
            kind = getattr(error, "kind", "unavailable")
            hangs = not self.record.own_stream or kind in ("busy", "illegal_state")
            if not (self._link.restartable and hangs):
                raise ArmRefused(kind, str(error)) from error
            log.warning("the streamer cannot be reset, so it is restarted: %s", error)
            self.record.move(Event.RECONNECT, "The streamer is being restarted.")
        else:
            self.record.move(Event.RESET, "Ready.")

    def close(self) -> None:
        """Release the streamer; a child process ends its running series as a fault."""
        self._closed = True
        self._link.close()

    # The loop ---------------------------------------------------------------------------------

    def step(self) -> None:
        """Check both sides' snapshots against the time limits, and act; call it often, from one thread."""
        if self._closed:
            return
        if self.view.state is SeriesState.OFFLINE:
            if self._may_connect(self.record):
                self._connect()
        elif not self._in_arm:
            self._earlier.look()
            self._watchdog.check()
            if self._box_changed and self.connected:
                self._box_changed = False
                self.box.take_over()

    def _connect(self) -> None:
        self._streamer = None
        try:
            streamer = self._link.open()
            # In this order: the description of a box is read once it is idle.
            status, description = streamer.status(), streamer.describe()
            if status.state in LEFT_OVER or (status.state == "fault" and not description.own_stream):
                # A series of an earlier device process, which can no longer be accounted for.
                log.warning("the streamer was found %s with the series %s", status.state, status.series)
                arming.bring_to_idle(streamer, status.state)
                status = streamer.status()
            self._connected(streamer, description)
        except NO_STREAMER as error:
            remedy = "Then call Reset, or Init if a property was changed."
            self.record.move(Event.FAIL, f"{sentence(str(error))} {remedy}")
            return
        self._endpoint = description.data_endpoint
        with self.record.lock:
            self._streamer = streamer
            self.box.forget()
            self.record.on_connected(description)
            self._watchdog.left_over.begin()
            if not description.own_stream or status.state == "idle":
                self.record.move(Event.CONNECTED, "Ready.")
            elif status.state == "fault":
                self.record.move(Event.FAIL, remedied(status.message))
            else:
                self.record.move(Event.CONFIGURE, sentence(status.message or "The detector is being reached"))
        streamer.subscribe(self.record.on_streamer)

    # Actions of the watchdog --------------------------------------------------------------------

    def ready(self) -> None:
        """Change to TAKING: the hardware takes triggers."""
        with self.record.lock:
            settings, view = self.record.settings, self.view
            if view.state is not SeriesState.ARMING or settings is None:
                return  # it has failed or was stopped meanwhile
            where = f"into {view.filename}" if view.filename else "for live view, without a file"
            frames = "frames until Stop" if view.unplanned else plural(view.planned, "frame")
            pushes = self.record.own_stream and not self.record.expects  # others are published to everybody
            more = f"; {UNCHECKED}" if pushes else ""
            self.record.move(Event.READY, f"Taking {frames}, {settings.trigger_mode}, {where}{more}.")
        self.record.catch_up()

    def fail(self, cause: str, *, lost: bool = False) -> None:
        """Fail the series, or the streamer without one; `lost`: the streamer is lost."""
        record = self.record
        with record.lock:
            active = self.view.state in ACTIVE
            record.failure = cause
            record.streamer_lost = record.streamer_lost or lost
            record.move(Event.FAIL, f"{sentence(cause)} Ending the series." if active else remedied(cause))
        own = record.own_streamer_status
        ended = own is not None and own.state in ("idle", "fault")
        if active and self.connected and not ended:
            if record.own_stream and self.view.unplanned:
                self._announce_end(cause, failed=True)  # or the box's end message would make it complete
            try:
                self.streamer.abort(cause)
            except NO_STREAMER as error:
                log.warning("the streamer could not be aborted after a failure: %s", error)
        if active and record.expects:
            self.withdraw()

    def finish(self) -> None:
        """Disarm the detector's own box: every frame has been received."""
        try:
            self.streamer.stop("every frame has arrived")
        except (ArmRefused, *NO_STREAMER) as error:
            log.warning("the detector's box cannot be disarmed after its last frame: %s", error)

    def is_configuring(self) -> bool:
        """Return whether a call that sets or resets the detector's own box is running."""
        return self.box.pending

    def finish_configuring(self) -> None:
        """Check whether the box is still busy with settings or Reset, and show the resulting values."""
        self.box.finish()

    def explain(self, why: str) -> None:
        """Tell the receiver why the box has ended the series by itself; "" if frames were lost."""
        self.record.stopped_by = why
        self._announce_end(why, failed=True)

    def repeat_end(self) -> None:
        """Tell the receiver again that Stop or Abort ends the series: it may have begun only since."""
        self._announce_end(self.record.announced_end, failed=self.record.aborted)

    def withdraw(self) -> None:
        """Tell the receiver not to expect the series any more; its status shows one that has begun."""
        try:
            self.record.on_receiver(self._receiver.forget(self.view.series))
            self.record.withdrawn = True
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told not to expect the series any more: %s", error)

    def stop_receiver(self, reason: str) -> None:
        """Have the receiver end the series, with this reason in the file."""
        try:
            self._receiver.stop(reason, failed=True)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told to stop: %s", error)

    # Parts ------------------------------------------------------------------------------------

    def _end_at_receiver(self) -> None:
        """End the failed series at the receiver too: a receiver that was killed and restarted resumes it, and
        would wait for the rest."""
        try:
            self.record.on_receiver(self._receiver.status())  # it may have started again a moment ago
        except NO_RECEIVER as error:
            log.info("Reset continues without the receiver: %s", error)
            return
        if self.record.receiver_runs:
            self.stop_receiver(f"the detector was reset: {self.record.failure}")

    def _on_armed(self) -> None:
        """Read the values back: the box may have changed them when it was configured."""
        self._box_changed = True
        self._changed()

    def _end(self, doing: str, *, aborted: bool, cause: str = "") -> None:
        record = self.record
        with record.lock:
            state = self.view.state
            if state not in (SeriesState.ARMING, SeriesState.TAKING, SeriesState.STOPPING):
                return
            if state is SeriesState.STOPPING and (record.aborted or not aborted):
                return
            record.aborted = aborted
            record.stopped_by = f"ended by {cause}" if aborted and cause else cause
            record.move(Event.STOP, doing)
            streamer = self._streamer
        word = "Abort" if aborted else "Stop"
        if record.own_stream and record.ready:
            record.announced_end = f"ended by {word.lower()}{f': {cause}' if cause else ''}"
            self._announce_end(record.announced_end, failed=aborted)
        try:
            if streamer is not None:
                (streamer.abort if aborted else streamer.stop)(cause)
        except NO_STREAMER as error:
            # The series may have ended by itself a moment ago; `step` finds out.
            log.warning("%s: %s", word, error)

    def _announce_end(self, why: str, *, failed: bool) -> None:
        """Tell the receiver before the box: the box's end message gives no reason, and frames that were never
        taken would count as missing."""
        try:
            self._receiver.stop_at_end(self.view.series, why, failed=failed)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told that the series is %s: %s", why, error)
