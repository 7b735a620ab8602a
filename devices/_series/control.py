"""The control loop of one detector: the commands of a series, from Arm to the closed file.

It uses no Tango: commands are calls, both clients' snapshots are kept in the `SeriesRecord`, and `step`,
which one thread calls often, lets time pass. The `machine` decides what follows, and `effects` does it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from penstock.devices._series import arming
from penstock.devices._series.arm_steps import NO_RECEIVER, NO_STREAMER, ArmCall, ArmSteps
from penstock.devices._series.arming import Budget
from penstock.devices._series.checking import Answer, Checker
from penstock.devices._series.effects import Effects
from penstock.devices._series.machine import events
from penstock.devices._series.machine.facts import Facts
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import ACTIVE, SeriesState
from penstock.devices._series.machine.view import SeriesView
from penstock.devices._series.machine.watchdog import UNCHECKED
from penstock.devices._series.next_frames import NextFrames
from penstock.devices._series.record import SeriesRecord
from penstock.devices._series.refusals import ArmRefused, not_idle
from penstock.devices._series.streamer_process import StreamerLink
from penstock.receiver.client import ReceiverClient
from penstock.streamer.camera.settings import Settings, TriggerMode, Value
from penstock.streamer.remote.client import Description, Prepared, StreamerClient

log = logging.getLogger(__name__)

LEFT_OVER = ("prepared", "announced", "arming", "acquiring", "ending")
"""States of a streamer with a series of an earlier device process."""
EXPECTED_BEYOND = 60.0
"""Seconds beyond ArmedTimeLimit for which the receiver expects a series: the limit counts from the end of
arming, and stopping takes time."""
WAIT = 0.7
"""Seconds for which a client waits for the box, so that writing an attribute returns within 1 s."""
PATIENCE = 180.0
"""Seconds for one call of the box, which may set every threshold or initialise the detector."""


class SeriesControl:
    """The control of series on one streamer and one receiver.

    Args:
        link: how the streamer is started or reached.
        receiver: client of the receiver.
        clock: monotonic seconds.
        connected: called with a streamer that has just been reached, before it may be armed; and again when
            the box of a detector that streams by itself has taken settings.
        prepared: called while it is being armed, with the series as the detector will take it.
        changed: called after every change that requires a `step`; must return at once.
        limits: time limits of the watchdog.
        may_connect: returns whether the streamer may be opened; called often until it may.
        armed_limit: returns the most seconds from Arm to the first trigger; 0 for ever.
        trigger_limit: returns the most seconds from a trigger or frame to the next; 0 for ever.
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
        self._armed_limit = armed_limit
        self._trigger_limit = trigger_limit
        self.record = SeriesRecord(clock, changed, limits, remote=not link.restartable)
        self.next_frames = NextFrames(self.record, receiver)
        self._checker = Checker(receiver, clock)
        steps = ArmSteps(self.record, receiver, link.died, clock, prepared)
        self._effects = Effects(self.record, receiver, lambda: self._streamer, steps, connected)
        self._streamer: StreamerClient | None = None
        self._endpoint = ""
        self._closed = False

    @property
    def view(self) -> SeriesView:
        """The present view of the series."""
        return self.record.view

    @property
    def connected(self) -> bool:
        """True if a streamer is connected."""
        return self._facts.reachable

    @property
    def streamer(self) -> StreamerClient:
        """Client of the streamer.

        Raises:
            ArmRefused: there is none now.
        """
        streamer = self._streamer
        if streamer is None or self._facts.streamer_lost:
            raise ArmRefused("no_streamer", self.view.warning or self.view.sentence)
        return streamer

    @property
    def _facts(self) -> Facts:
        return self.record.facts

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
            if self.view.state is not SeriesState.IDLE:
                raise not_idle(self.view.sentence)
            streamer = self.streamer
            first = self.record.handle(events.Arm(settings, armed_by))
            facts, limit = self._facts, self._armed_limit()
        call = ArmCall(
            facts.number, streamer, self._endpoint, settings, Budget(self._clock), facts.own_stream,
            expected_for=limit + EXPECTED_BEYOND if limit else 0.0,
        )  # fmt: skip
        try:
            self._effects.arm(call, first)
        finally:
            self._effects.happen(events.CallerGone())
        error = self._facts.refusal
        if error is not None:
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    def check(self, settings: Settings, period: float) -> Answer:
        """Return what `arm` would answer, and the size of the series; in every state, without any change.

        Args:
            settings: settings of the next series.
            period: period of its frames, in seconds.
        """
        facts = self._facts
        status = facts.receiver_status if facts.receiver_silence is None else None
        return self._checker.answer(
            facts.view, status, lambda: self.streamer, self._endpoint, settings, period,
            unchecked=UNCHECKED if facts.own_stream else "",
        )  # fmt: skip

    def measure(self, settings: Callable[[], Settings]) -> bool:
        """Find out the format of the next series' frames; return whether that was possible now."""
        facts = self._facts
        if facts.view.state not in (SeriesState.IDLE, SeriesState.FAULT) or not facts.reachable:
            return False
        return self.next_frames.ask(lambda: self.streamer, settings)

    def trigger(self) -> None:
        """Start the next trigger of a SOFTWARE series.

        Raises:
            ArmRefused: no such series is running, or it takes no trigger now.
        """
        with self.record.lock:
            view, settings = self.view, self._facts.settings
            if view.state is not SeriesState.TAKING:
                raise ArmRefused(
                    "not_running", f"SoftwareTrigger needs an armed series; now: {view.sentence}"
                )
            if settings is not None and settings.trigger_mode is not TriggerMode.SOFTWARE:
                raise ArmRefused(
                    "wrong_mode",
                    "SoftwareTrigger needs TriggerMode SOFTWARE; this series was armed with "
                    f"{settings.trigger_mode}",
                )
            streamer = self.streamer
            self.record.handle(events.Trigger(1 if settings is None else settings.n_frames_per_trigger))
        try:
            streamer.trigger()
        except NO_STREAMER as error:
            self.record.handle(events.TriggerRefused(view.triggered))
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    def stop(self, cause: str = "") -> None:
        """Finish the running frame and complete the file; without effect if no series is running.

        Args:
            cause: reason in words, if no client has requested it.
        """
        self._happen_if(events.Stop(cause), SeriesState.ARMING, SeriesState.TAKING)

    def abort(self, by: str = "") -> None:
        """Drop queued frames and mark the file as aborted; without effect if no series is running.

        Args:
            by: what ends the series, if not a client's Abort, such as "Init".
        """
        self._happen_if(events.Abort(by), SeriesState.ARMING, SeriesState.TAKING, SeriesState.STOPPING)

    def announce_end(self, by: str) -> None:
        """Tell the receiver that the series of a box ends before its time: no end message of a box says why.
        `close` ends it.

        Args:
            by: what ends the series.
        """
        self._happen_if(events.ProcessEnds(by), SeriesState.TAKING, SeriesState.STOPPING)

    def set(self, values: Mapping[str, Value]) -> None:
        """Set parameters of the detector's own box; return when it has taken them, or after `WAIT` seconds.

        Raises:
            ArmRefused: the state is not IDLE, or the box refuses.
        """
        names = ", ".join(values)
        with self.record.lock:
            streamer = self.streamer
            if self.view.state is not SeriesState.IDLE or self._facts.call is not None:
                raise ArmRefused(
                    "not_idle", f"{names} can be written only in the state ON; now: {self.view.sentence}"
                )
            self.record.handle(events.SetBox(names))
            number = self._facts.calls
        self._call_box(number, lambda: streamer.set(values, PATIENCE))

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
            self.record.handle(events.Reconnect("The streamer is being started."))
            return
        try:
            if self._facts.own_stream:
                self._reset_box()
                return
            self.streamer.reset()
        except (ArmRefused, *NO_STREAMER) as error:
            # The camera or the box hangs in a call, or takes a series that was given up while its streamer
            # was silent: only a new process helps.
            kind = getattr(error, "kind", "unavailable")
            hangs = not self._facts.own_stream or kind in ("busy", "illegal_state")
            if not (self._link.restartable and hangs):
                raise ArmRefused(kind, str(error)) from error
            log.warning("the streamer cannot be reset, so it is restarted: %s", error)
            self.record.handle(events.Reconnect("The streamer is being restarted."))
        else:
            self.record.handle(events.StreamerReset())

    def close(self) -> None:
        """Release the streamer; a child process ends its running series as a fault."""
        self._closed = True
        self._link.close()

    # The loop ---------------------------------------------------------------------------------

    def step(self) -> None:
        """Let time pass: both sides' snapshots are checked against limits; call it often, from one thread."""
        if self._closed:
            return
        if self.view.state is not SeriesState.OFFLINE:
            died = self._link.died()
            self._effects.happen(events.Tick(died, self._armed_limit(), self._trigger_limit()))
        elif self._may_connect(self.record):
            self._connect()

    def _connect(self) -> None:
        self._streamer = None
        self.record.handle(events.Connecting())
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
            self.record.handle(events.NotConnected(str(error)))
            return
        self._endpoint = description.data_endpoint
        with self.record.lock:
            self._streamer = streamer
            self.record.handle(events.Connected(description, status))
        streamer.subscribe(self.record.on_streamer)

    # Parts ------------------------------------------------------------------------------------

    def _happen_if(self, event: events.Event, *states: SeriesState) -> None:
        """Let an event happen that is without effect in other states."""
        with self.record.lock:
            if self.view.state not in states:
                return
            wanted = self.record.handle(event)
        self._effects.do(wanted)

    def _reset_box(self) -> None:
        with self.record.lock:
            streamer = self.streamer
            self.record.handle(events.ResetBox())
            number = self._facts.calls
        self._call_box(number, lambda: streamer.reset(PATIENCE))

    def _call_box(self, number: int, call: Callable[[], object]) -> None:
        """Have a thread call the box; wait for `WAIT` seconds.

        Raises:
            ArmRefused: it has answered with a refusal.
        """
        over, errors = threading.Event(), list[Exception]()

        def run() -> None:
            try:
                call()
            except NO_STREAMER as error:
                errors.append(error)
            finally:
                self.record.handle(events.CallOver(number, str(*errors)))
                over.set()

        threading.Thread(target=run, name="configuring", daemon=True).start()
        if not over.wait(WAIT):
            self._effects.happen(events.CallLong(number))
            return
        self._effects.read_box(number)
        for error in errors:
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    def _end_at_receiver(self) -> None:
        """End the failed series at the receiver too: a receiver that was killed and restarted resumes it, and
        would wait for the rest."""
        try:
            self.record.on_receiver(self._receiver.status())  # it may have started again a moment ago
            if self._facts.receiver_runs:
                self._receiver.stop(f"the detector was reset: {self._facts.failure}", failed=True)
        except NO_RECEIVER as error:
            log.info("Reset continues without the receiver: %s", error)
