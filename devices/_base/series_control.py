"""The closed loop of one detector: from Arm to the closed file, and what happens when a side fails.

No Tango, no socket and no thread of its own: commands call in, both clients' snapshots are noted,
and `step`, called often by one thread, judges them against the clock. The state moves by the table
in `states` only.

A triggered series that merely waits is ended by no clock here: every limit below runs only after
something else has happened (a side fell silent, the end was asked for, the end was sent).
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.devices._base import arming
from penstock.devices._base.arming import ArmRefused, Budget
from penstock.devices._base.series_view import SeriesView, account_sentence
from penstock.devices._base.states import ACTIVE, Event, IllegalEvent, SeriesState, next_state
from penstock.devices._base.streamer_process import StreamerLink
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Counts, Status
from penstock.streamer.client import (
    Description,
    StreamerClient,
    StreamerRefused,
    StreamerStatus,
    StreamerUnavailable,
)  # fmt: skip
from penstock.streamer.settings import Settings, TriggerMode

log = logging.getLogger(__name__)

_S = SeriesState

MOST_PASSED = 100
"""States kept for those who want to know each; a client that fast misses older ones."""


@dataclass(frozen=True, kw_only=True)
class ControlLimits:
    """Seconds after which silence is judged."""

    receiver_silent: float = 2.0
    """No answer from the receiver during a series: it counts as dead."""
    disagreement: float = 1.5
    """One side says that the series is over while the other has not said so."""
    stop: float = 2.0
    """After Stop, beyond the exposure under way, until it becomes an Abort."""
    sending: float = 35.0
    """After Stop, without a frame sent, until it becomes an Abort; above the streamer's own patience."""
    abort: float = 3.0
    """After Abort, until the streamer counts as stuck."""
    end_lost: float = 3.0
    """End message sent, and the receiver neither ends nor takes anything more."""
    closing: float = 10.0
    """The receiver was told to stop and still has not closed the file."""
    drained: float = 0.5
    """Without a new frame at the receiver, after a failure, until it is told to stop."""
    settle: float = 2.5
    """For the other side to end after a failure, so that the counts are final."""
    arming: float = 60.0
    """Slow hardware becomes ready within this time."""


class SeriesControl:
    """Runs series after series on one streamer and one receiver.

    Args:
        link: how the streamer is started or reached.
        receiver: client of the receiver.
        clock: monotonic seconds.
        connected: told about a streamer that has just been reached, before it may be armed.
        changed: called after every change worth a `step`; must only take note.
    """

    def __init__(
        self, link: StreamerLink, receiver: ReceiverClient, *, clock: Callable[[], float],
        connected: Callable[[StreamerClient, Description], None] = lambda streamer, description: None,
        changed: Callable[[], None] = lambda: None, limits: ControlLimits | None = None,
    ) -> None:  # fmt: skip
        self._link = link
        self._receiver = receiver
        self._clock = clock
        self._connected = connected
        self._changed = changed
        self._limits = limits if limits is not None else ControlLimits()
        self._lock = threading.RLock()  # short: never held during a call to the other side
        self._view = SeriesView(sentence="The streamer is being started.")
        self._streamer: StreamerClient | None = None
        self._endpoint = ""
        self._streamer_status: StreamerStatus | None = None
        self._streamer_lost = False
        self._receiver_status: Status | None = None
        self._receiver_silence: str | None = None
        self._receiver_heard = clock()
        self._closed = False
        self._passed: list[SeriesView] = [self._view]
        self._in_arm = False
        self._settings: Settings | None = None
        self._failure = ""
        self._told_to_stop = False
        self._aborted = False
        self._entered = clock()
        self._since: dict[str, float] = {}
        self._progress: tuple[object, float] = (None, clock())

    # What others read

    def passed(self) -> list[SeriesView]:
        """The view at each change of state since the last call, in order."""
        with self._lock:
            passed, self._passed = self._passed, []
            return passed

    @property
    def view(self) -> SeriesView:
        """The series as it stands."""
        with self._lock:
            return self._view

    @property
    def connected(self) -> bool:
        """Whether there is a streamer to talk to."""
        with self._lock:
            return self._streamer is not None and not self._streamer_lost

    @property
    def streamer(self) -> StreamerClient:
        """Client of the streamer.

        Raises:
            ArmRefused: there is none now.
        """
        with self._lock:
            if self._streamer is None or self._streamer_lost:
                raise ArmRefused(
                    "no_streamer", self._view.sentence or "the streamer is not running; call Reset"
                )
            return self._streamer

    # Snapshots: noted here, judged in `step`

    def on_streamer(self, status: StreamerStatus | None) -> None:
        """Note a snapshot of the streamer; `None` when none has come for too long."""
        with self._lock:
            self._streamer_lost = status is None
            if status is not None:
                self._streamer_status = status
                self._view = self._view.with_streamer(status)
        self._changed()

    def on_receiver(self, status: Status | str) -> None:
        """Note a snapshot of the receiver, or the sentence of why there is none."""
        with self._lock:
            if isinstance(status, str):
                self._receiver_silence = status
                self._view = replace(self._view, receiver_answers=False)
            else:
                self._receiver_silence = None
                self._receiver_heard = self._clock()
                self._receiver_status = status
                self._view = self._view.with_receiver(status)
        self._changed()

    # Commands

    def arm(self, settings: Settings) -> None:
        """Begin a series; returns when the hardware takes triggers, or still arms (state ARMING).

        Raises:
            ArmRefused: why not; the state is IDLE again, or FAULT when the streamer is gone.
        """
        with self._lock:
            if self._view.state is not _S.IDLE:
                raise ArmRefused(
                    "not_idle", f"Arm is possible in the state ON only; now: {self._view.sentence}"
                )
            streamer = self.streamer
            self._move(Event.ARM, "Arming: checks, start message, hardware.")
            self._view = replace(
                self._view, series="", filename="", planned=settings.frames, acquired=0,
                ready_for_trigger=False, counts=Counts(planned=settings.frames, pending=settings.frames),
                latest_frame=None,
            )  # fmt: skip
            self._settings = settings
            self._failure, self._told_to_stop, self._aborted = "", False, False
            self._in_arm = True
        try:
            self._arm(streamer, settings, Budget(self._clock))
        except (
            ArmRefused,
            StreamerRefused,
            StreamerUnavailable,
            ReceiverRefused,
            ReceiverUnavailable,
        ) as error:
            died = self._link.died()
            self._undo_arm(streamer, str(error))
            if died is not None:
                raise ArmRefused("streamer_died", f"{_sentence(died)} Call Reset.") from error
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error
        except Exception as error:
            self._undo_arm(streamer, f"internal error, {error!r}")
            raise
        finally:
            self._in_arm = False
            self._changed()

    def trigger(self) -> None:
        """Start the next trigger of a SOFTWARE series.

        Raises:
            ArmRefused: no such series runs, or it takes no trigger now.
        """
        with self._lock:
            state, settings, sentence = self._view.state, self._settings, self._view.sentence
        if state is not _S.TAKING:
            raise ArmRefused("not_running", f"SoftwareTrigger needs an armed series; now: {sentence}")
        if settings is not None and settings.trigger_mode is not TriggerMode.SOFTWARE:
            raise ArmRefused(
                "wrong_mode",
                "SoftwareTrigger needs TriggerMode SOFTWARE; this series was armed with "
                f"{settings.trigger_mode}",
            )
        self._call(self.streamer.trigger)

    def stop(self) -> None:
        """Finish the frame under way and complete the file; does nothing when no series runs."""
        self._end(abort=False)

    def abort(self) -> None:
        """Drop what is queued and mark the file as aborted; does nothing when no series runs."""
        self._end(abort=True)

    def reset(self) -> None:
        """Leave FAULT: at once, or after the streamer has been started anew (state OFFLINE).

        Raises:
            ArmRefused: a series runs, or the streamer refuses.
        """
        with self._lock:
            state, sentence = self._view.state, self._view.sentence
            gone = self._streamer is None or self._streamer_lost or self._link.died() is not None
            if state in ACTIVE:
                raise ArmRefused("running", f"Reset: call Stop or Abort first; now: {sentence}")
            if state is _S.FAULT and gone:
                self._move(Event.RECONNECT, "The streamer is being started.")
                self._changed()
                return
        if state is _S.FAULT:
            try:
                self.streamer.reset()
            except (StreamerRefused, StreamerUnavailable) as error:
                # Its camera hangs in a call: only a new process helps.
                if not self._link.restartable:
                    raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error
                log.warning("the streamer cannot be reset, so it is started anew: %s", error)
                with self._lock:
                    self._move(Event.RECONNECT, "The streamer is being started anew.")
                self._changed()
                return
            with self._lock:
                if self._view.state is _S.FAULT:
                    self._move(Event.RESET, "Ready.")
            self._changed()

    def close(self) -> None:
        """Let go of the streamer for good; a child ends its running series as a fault."""
        self._closed = True
        self._link.close()

    # The loop

    def step(self) -> None:
        """Judge what has been heard against the clock, and act; call it often, from one thread."""
        state = self.view.state
        if self._closed:
            return
        if state is _S.OFFLINE:
            self._connect()
        elif state is _S.IDLE:
            self._judge_streamer()
        elif state is _S.ARMING and not self._in_arm:
            self._judge_arming()
        elif state in (_S.TAKING, _S.STOPPING):
            self._judge_taking()
        elif state is _S.CLOSING:
            self._judge_closing()
        elif state is _S.FAILING:
            self._judge_failing()

    def _connect(self) -> None:
        with self._lock:
            self._streamer = None
        try:
            streamer = self._link.open()
            description = streamer.describe()
            left_over = streamer.status()
            if left_over.state != "idle":
                # A series of a device process that is gone: nobody can account for it any more.
                log.warning(
                    "streamer was found %s with series %s; aborted", left_over.state, left_over.series
                )
                streamer.reset()
            self._connected(streamer, description)
        except (StreamerUnavailable, StreamerRefused) as error:
            with self._lock:
                self._move(Event.FAIL, f"{error} Then call Reset.")
            return
        with self._lock:
            self._streamer = streamer
            self._endpoint = description.data_endpoint
            self._streamer_lost = False
            self._streamer_status = None
            self._view = replace(self._view, series="")
            self._move(Event.CONNECTED, "Ready.")
        streamer.subscribe(self.on_streamer)

    def _judge_streamer(self) -> bool:
        """Whether the streamer lives; if not, the failure is under way."""
        died = self._link.died()
        if died is None and not self._streamer_lost:
            return True
        cause = (
            died if died is not None else "the streamer sends no sign of life; it died or cannot be reached"
        )
        self._fail(cause, lost=True)
        return False

    def _judge_arming(self) -> None:
        """Hardware that needs longer than Arm may take."""
        if not (self._judge_streamer() and self._judge_receiver()):
            return
        status = self._own_streamer_status()
        if status is not None and status.state == "fault":
            self._fail(f"the detector could not be armed: {status.message}")
        elif status is not None and status.armed:
            self._ready()
        elif self._in_state() > self._limits.arming:
            self._fail(f"the detector was not ready within {self._limits.arming:g} s")

    def _judge_taking(self) -> None:
        if not self._judge_streamer():
            return
        status = self._own_streamer_status()
        if status is not None and status.state == "fault":
            self._fail(f"the detector failed: {status.message}")
            return
        if status is not None and status.state == "idle":
            # Also when nobody took the end message: the receiver is told by the other way then.
            with self._lock:
                self._move(Event.END_SENT, "The last frame is sent; the receiver closes the file.")
            return
        if not self._judge_receiver():
            return
        current = self._streamer_status
        if self._lasts("other series", current is not None and status is None):
            self._fail("the streamer was restarted and knows nothing of the series")
            return
        receiver = self._receiver_status
        over = receiver is not None and not self._receiver_runs()
        if self._lasts("receiver over", over):
            series = receiver.series if receiver is not None else None
            if series is not None and series.id == self.view.series:
                self._fail(f"the receiver ended the series: {series.reason}")
            else:
                self._fail("the receiver was restarted and knows nothing of the series")
            return
        if self.view.state is _S.STOPPING:
            self._judge_stopping()

    def _judge_stopping(self) -> None:
        status = self._own_streamer_status()
        sent = status.sent if status is not None else 0
        quiet = self._without_progress(sent)
        if self._aborted:
            patience = self._limits.abort
        elif status is not None and status.state == "ending":
            # Frames that a slow receiver has yet to take; the streamer gives up by itself.
            patience = self._limits.sending
        else:
            patience = self._limits.stop + (self._settings.exposure_time if self._settings else 0.0)
        if quiet <= patience:
            return
        if self._aborted:
            self._fail(f"the streamer has not ended the series within {patience:g} s of Abort")
        else:
            log.warning("nothing happened for %g s after Stop; aborting", patience)
            self._end(abort=True)

    def _judge_closing(self) -> None:
        if not self._judge_receiver():
            return
        if not self._receiver_runs():
            with self._lock:
                series = self._receiver_status.series if self._receiver_status is not None else None
                if series is None or series.id != self._view.series:
                    known = False
                else:
                    known = True
                    self._move(Event.CLOSED, self._last_series_sentence(series.complete, series.reason))
            if not known and self._lasts("receiver over", True):
                self._fail("the receiver was restarted before it had closed the file")
            return
        # A child that dies now has nothing left to say: the end message is out.
        quiet = self._without_progress()
        if not self._told_to_stop and quiet > self._limits.end_lost:
            self._told_to_stop = True
            log.warning("the receiver has not seen the end message; telling it to stop")
            self._tell_receiver("end message lost: the streamer sent it, it never arrived")
        elif self._told_to_stop and quiet > self._limits.closing:
            self._fail(f"the receiver has not closed the file within {quiet:.0f} s of being told to")

    def _judge_failing(self) -> None:
        receiver_done = self._receiver_silence is not None or not self._receiver_runs()
        if not receiver_done and not self._told_to_stop and self._without_progress() > self._limits.drained:
            # What had arrived before the failure has been taken; more will not come.
            self._told_to_stop = True
            self._tell_receiver(self._failure)
        status = self._own_streamer_status()
        streamer_done = self._streamer_lost or self._link.died() is not None
        if status is None or status.state in ("idle", "fault"):
            streamer_done = True
        if (receiver_done and streamer_done) or self._in_state() > self._limits.settle:
            with self._lock:
                where = f" File: {self._view.filename}." if self._view.filename else ""
                self._move(
                    Event.SETTLED,
                    f"{_sentence(self._failure)} {account_sentence(self._view).capitalize()}, "
                    f"{self._view.acquired} acquired.{where} Call Reset.",
                )

    # Parts

    def _arm(self, streamer: StreamerClient, settings: Settings, budget: Budget) -> None:
        prepared = streamer.prepare(settings)
        filename = arming.check_receiver(self._receiver, streamer, settings, prepared, self._endpoint, budget)
        with self._lock:
            self._view = replace(self._view, series=prepared.series, filename=filename or "")
        streamer.announce()
        self.on_receiver(arming.await_receiver(self._receiver, prepared.series, budget))
        try:
            streamer.start()
        except StreamerUnavailable:
            if self._streamer_lost or self._link.died() is not None:
                raise
            log.info("the detector needs longer to arm")
            return
        self._ready()
        view = self.view
        if view.state in (_S.FAILING, _S.FAULT):
            raise ArmRefused("failed", view.sentence)

    def _ready(self) -> None:
        with self._lock:
            settings, view = self._settings, self._view
            if view.state is not _S.ARMING or settings is None:
                return  # it has failed in the meantime
            where = f"into {view.filename}" if view.filename else "for live view, without a file"
            self._move(Event.READY, f"Taking {view.planned} frames, {settings.trigger_mode}, {where}.")
        # Since the snapshot may have come before the series was known here.
        status = self._streamer_status
        if status is not None:
            self.on_streamer(status)

    def _undo_arm(self, streamer: StreamerClient, cause: str) -> None:
        """Take everything back; what cannot be taken back is a FAULT."""
        died = self._link.died()
        if died is None:
            try:
                self._withdraw(streamer)
            except (StreamerRefused, StreamerUnavailable) as error:
                died = str(error)
        with self._lock:
            if self._view.state is not _S.ARMING:
                return  # it has failed in the meantime
            if died is not None:
                self._fail(died, lost=True)
            else:
                self._move(Event.REFUSED, f"Ready. The last Arm was refused: {cause}")

    def _withdraw(self, streamer: StreamerClient) -> None:
        """Bring the streamer back to idle from wherever Arm left it."""
        state = streamer.status().state
        if state in ("prepared", "announced"):
            streamer.cancel()
        elif state in ("acquiring", "ending"):
            streamer.abort()
        elif state == "fault":
            streamer.reset()
        if state != "prepared" and self.view.series:
            # The receiver may have begun; the next Arm must not find it busy with this series.
            with contextlib.suppress(ReceiverUnavailable, ReceiverRefused):
                arming.await_idle(self._receiver, self.view.series, Budget(self._clock, 0.5))

    def _end(self, *, abort: bool) -> None:
        with self._lock:
            if self._view.state not in (_S.ARMING, _S.TAKING, _S.STOPPING):
                return
            if self._view.state is _S.STOPPING and (self._aborted or not abort):
                return
            self._aborted = abort
            doing = (
                "Aborting: what is queued is dropped."
                if abort
                else "Stopping: the frame under way is finished."
            )
            self._move(Event.STOP, doing)
            streamer = self._streamer
        try:
            if streamer is not None:
                (streamer.abort if abort else streamer.stop)()
        except (StreamerRefused, StreamerUnavailable) as error:
            # The series may have ended by itself a moment ago; `step` finds out what is the case.
            log.warning("%s: %s", "Abort" if abort else "Stop", error)
        self._changed()

    def _fail(self, cause: str, *, lost: bool = False) -> None:
        with self._lock:
            state = self._view.state
            self._failure = cause
            self._streamer_lost = self._streamer_lost or lost
            streamer = self._streamer
            sentence = (
                f"{_sentence(cause)} Ending the series."
                if state in ACTIVE
                else f"{_sentence(cause)} Call Reset."
            )
            self._move(Event.FAIL, sentence)
        if state not in ACTIVE or self._streamer_lost or streamer is None:
            return
        own = self._own_streamer_status()
        if own is None or own.state not in ("idle", "fault"):
            try:
                streamer.abort()
            except (StreamerRefused, StreamerUnavailable) as error:
                log.warning("abort after a failure: %s", error)

    def _judge_receiver(self) -> bool:
        """Whether the receiver lives and is well; if not, the failure is under way."""
        silence, status = self._receiver_silence, self._receiver_status
        if silence is not None and self._clock() - self._receiver_heard > self._limits.receiver_silent:
            self._fail(silence)
            return False
        if silence is None and status is not None and status.state == "error":
            self._fail(f"the receiver is in error: {status.error}; mend that and call RestartReceiver")
            return False
        return True

    def _receiver_runs(self) -> bool:
        status = self._receiver_status
        return (
            status is not None and status.state == "running"
            and status.series is not None and status.series.id == self.view.series
        )  # fmt: skip

    def _own_streamer_status(self) -> StreamerStatus | None:
        """The newest snapshot if it is about this series."""
        with self._lock:
            status = self._streamer_status
            return status if status is not None and status.series == self._view.series else None

    def _tell_receiver(self, reason: str) -> None:
        try:
            self._receiver.stop(reason)
        except (ReceiverUnavailable, ReceiverRefused) as error:
            log.warning("telling the receiver to stop: %s", error)

    def _last_series_sentence(self, complete: bool | None, reason: str) -> str:
        view = self._view
        where = f" in {view.filename}" if view.filename else ""
        why = "" if complete or not reason else f" ({reason})"
        return f"Ready. Last series: {account_sentence(view)}{where}{why}."

    def _call(self, call: Callable[[], object]) -> None:
        try:
            call()
        except (StreamerRefused, StreamerUnavailable) as error:
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    # Clock

    def _in_state(self) -> float:
        return self._clock() - self._entered

    def _lasts(self, what: str, holds: bool) -> bool:
        """Whether something has held for as long as two sides may disagree."""
        if not holds:
            self._since.pop(what, None)
            return False
        return self._clock() - self._since.setdefault(what, self._clock()) > self._limits.disagreement

    def _without_progress(self, sent: int = 0) -> float:
        """Seconds since a frame was last sent or taken, or since the state was entered."""
        counts = self.view.counts
        mark = (self._entered, self._told_to_stop, counts.received, counts.stored, counts.flushed, sent)
        if mark != self._progress[0]:
            self._progress = (mark, self._clock())
        return self._clock() - self._progress[1]

    def _move(self, event: Event, sentence: str) -> None:
        """The only place where the state changes; the lock is held."""
        before = self._view.state
        after = next_state(before, event)
        self._view = replace(
            self._view, state=after, sentence=sentence,
            ready_for_trigger=self._view.ready_for_trigger and after is _S.TAKING,
        )  # fmt: skip
        self._since.clear()
        self._passed = [*self._passed[-MOST_PASSED:], self._view]
        if after is not before or event is Event.STOP:
            self._entered = self._clock()
        log.log(
            logging.ERROR if after in (_S.FAILING, _S.FAULT) else logging.INFO,
            "%s -> %s: %s",
            before,
            after,
            sentence,
        )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


__all__ = ["ControlLimits", "IllegalEvent", "SeriesControl"]
