"""A device's record of its series: the state, both sides' latest snapshots, and their times.

One lock guards it, which is held briefly and never during a call to another process. Commands and the
watchdog's thread change the state; snapshots arrive in other threads and are only recorded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from penstock.devices._series.machine.states import ACTIVE, TABLE, Event, SeriesState
from penstock.devices._series.machine.view import SeriesView, account_sentence, without_pending
from penstock.receiver.client import NoAnswer, ReceiverUnavailable
from penstock.receiver.models import Counts, Series, SeriesCheckResult, Status
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import Description, Prepared, StreamerStatus
from tests.devices._series.former.last_series import last_series

log = logging.getLogger(__name__)

MOST_ENTERED = 100
"""Most changes of state that are kept until they are read; older ones are dropped."""


class SeriesRecord:
    """The record; its methods may be called from any thread.

    Args:
        clock: monotonic seconds.
        changed: called after every change of the record, from any thread; must return at once.
    """

    def __init__(self, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self._changed = changed
        self._view = self._before = SeriesView(sentence="The streamer is being started.")
        self._entered: list[SeriesView] = [self._view]
        self._since_state = clock()
        self._since: dict[str, float] = {}
        self._progress: tuple[object, float] = (None, clock())
        self._last_trigger: tuple[object, float] = (None, clock())
        self._receiver_answered = self._streamer_answered = clock()
        self.streamer_status: StreamerStatus | None = None
        self.streamer_lost = False
        self.receiver_status: Status | None = None
        self.receiver_silence: str | None = None
        """Why the receiver does not answer; `None` while it does."""
        self.receiver_refuses = False
        """True if nobody listens at the receiver's address."""
        self.own_stream = False
        """True if the detector's own box sends the frames."""
        self.series_number = 0
        """Number of the series that was armed last, counted from the start of this device."""
        self.ready = False
        """True if the hardware has taken triggers in this series."""
        self._named_at = 0.0
        self.settings: Settings | None = None
        self.failure = ""
        self.aborted = False
        self.stopped_by = ""
        """Why the series was stopped without a client's request, in words; "" otherwise."""
        self.ended_alone = False
        """True if the box has ended the series although nobody had called Stop or Abort here."""
        self.other_consumers = ""
        """Other consumers that received frames of this series, in words; "" if there were none."""
        self.expects = False
        """True if the stream of the series has no start message: the receiver was told to expect it."""
        self.announced_end = ""
        """Why Stop or Abort ends the series, as the receiver was told; "" before."""
        self.withdrawn = False
        """True if the receiver was told not to expect the series any more."""
        self.told_why = False
        """True if the receiver was told why the box has ended the series."""
        self.told_to_stop = False
        """True if the receiver was told to stop, since the end message will not reach it."""
        self.ended_unseen = False
        """True if the series has ended here before the receiver had ended it."""

    @property
    def view(self) -> SeriesView:
        """The present view of the series."""
        with self.lock:
            return self._view

    def entered(self) -> list[SeriesView]:
        """Return the views at all changes of state since the last call, in order."""
        with self.lock:
            entered, self._entered = self._entered, []
            return entered

    # Notes ------------------------------------------------------------------------------------

    def on_streamer(self, status: StreamerStatus | None) -> None:
        """Record a snapshot of the streamer; `None` if none has arrived for too long."""
        with self.lock:
            self.streamer_lost = status is None
            if status is None:
                self._view = self._view.without_streamer()
            else:
                self.streamer_status = status
                self._streamer_answered = self.clock()
                self._view = self._view.with_streamer(status)
        self._changed()

    def on_receiver(self, status: Status | NoAnswer) -> None:
        """Record a snapshot of the receiver, or why there is none."""
        with self.lock:
            if isinstance(status, NoAnswer):
                self.receiver_silence = str(status)
                self.receiver_refuses = isinstance(status, ReceiverUnavailable) and status.refused
                self._view = self._view.without_receiver()
            else:
                self.receiver_silence, self.receiver_refuses = None, False
                self._receiver_answered = self.clock()
                self.receiver_status = status
                self._view = self._view.with_receiver(status)
        self._changed()

    def on_next_frames(self, frame_bytes: int, shape: tuple[int, ...], dtype: str) -> None:
        """Record the format of the next series' frames; 0, () and "" if unknown. Not during a series."""
        with self.lock:
            if self._view.state not in ACTIVE:
                self._view = replace(self._view, frame_bytes=frame_bytes, frame_shape=shape, frame_type=dtype)
        self._changed()

    def on_connected(self, description: Description) -> None:
        """Begin with a streamer that has just been reached; earlier snapshots are discarded."""
        with self.lock:
            self.own_stream = description.own_stream
            self.streamer_lost = False
            self.streamer_status = None
            self.forget_name()
            self._view = replace(self._view, index_source=description.index_source.value)

    # The state --------------------------------------------------------------------------------

    def move(self, event: Event, sentence: str) -> None:
        """Change the state by `event`, and log it with its cause; the state changes nowhere else.

        Raises:
            IllegalEvent: the table has no such transition; nothing was changed.
        """
        with self.lock:
            before = self._view.state
            after = TABLE.after(before, event)
            self.ready = self.ready or after is SeriesState.TAKING
            ready = self._view.ready_for_trigger and after is SeriesState.TAKING
            self._view = replace(
                self._view, state=after, sentence=sentence, waiting="", warning="", reservation="",
                ready_for_trigger=ready,
            )  # fmt: skip
            self._entered = [*self._entered[-MOST_ENTERED:], self._view]
            self._since.clear()
            if after is not before or event is Event.STOP:
                self._since_state = self.clock()
        bad = after in (SeriesState.FAILING, SeriesState.FAULT)
        log.log(logging.ERROR if bad else logging.INFO, "%s -> %s: %s", before, after, sentence)
        self._changed()

    def warn(self, warning: str, reservation: str = "") -> None:
        """Set a warning, and why Arm would be refused; neither changes the state, and "" clears each."""
        with self.lock:
            before = self._view.warning
            if (warning, reservation) == (before, self._view.reservation):
                return
            self._view = replace(self._view, warning=warning, reservation=reservation)
            self._entered = [*self._entered[-MOST_ENTERED:], self._view]
        if warning and not before:
            log.warning("%s", warning)
        self._changed()

    def show_waiting(self, waiting: str) -> None:
        """Show how long the series has waited for a trigger; "" if it has not."""
        with self.lock:
            if waiting == self._view.waiting:
                return
            self._view = replace(self._view, waiting=waiting)
            self._entered = [*self._entered[-MOST_ENTERED:], self._view]
        self._changed()

    def begin(self, settings: Settings) -> None:
        """Begin a series: reset all counts."""
        with self.lock:
            self.settings = settings
            self.series_number += 1
            self.ready = False
            self.failure, self.aborted, self.told_to_stop, self.other_consumers = "", False, False, ""
            self.stopped_by, self.ended_alone, self.told_why = "", False, False
            self.expects, self.withdrawn, self.announced_end = False, False, ""
            self._before = self._view
            counts = Counts(planned=settings.planned, pending=settings.planned or 0)
            self._view = replace(
                self._view, note="", series="", filename="", dataset="", planned=settings.planned or 0,
                acquired=0, unplanned=settings.planned is None,
                ready_for_trigger=False, triggered=0, counts=counts, latest_frame=None,
            )  # fmt: skip

    def trigger(self, frames: int) -> None:
        """Count a SoftwareTrigger that is being sent, for so many frames: the next one has to wait."""
        with self.lock:
            before = self._view.triggered
            self._view = replace(
                self._view, ready_for_trigger=False, triggered=before + frames if before else 1
            )
        self._changed()

    def untrigger(self, triggered: int) -> None:
        """Undo `trigger`, which was refused; `triggered` is the earlier value."""
        with self.lock:
            self._view = replace(self._view, triggered=triggered)
        self.catch_up()

    def name(self, prepared: Prepared, found: SeriesCheckResult, armed_by: str) -> None:
        """Set the id of the series; from now on snapshots with this id are used.

        Args:
            prepared: the series as the streamer will send it.
            found: the series as the receiver will take it.
            armed_by: client that armed, in words; "" if unknown.
        """
        with self.lock:
            self._named_at = time.time()
            self.expects = prepared.expected is not None
            self._view = replace(
                self._view, series=prepared.series, filename=found.filename or "", dataset=found.dataset,
                frame_bytes=prepared.frame_bytes, frame_shape=tuple(found.shape) or prepared.shape,
                frame_type=found.dtype or prepared.dtype, armed_by=armed_by,
                index_source=prepared.index_source.value,
            )  # fmt: skip

    def forget_name(self) -> None:
        """Clear the id: no snapshot belongs to a series of this device any more."""
        with self.lock:
            self._view = replace(self._view, series="", filename="", dataset="")

    def give_up_pending(self) -> None:
        """Count the pending frames of a series that no receiver has begun as not triggered."""
        with self.lock:
            if not self.begun:
                filename = "" if self.expects else self._view.filename
                counts = without_pending(self._view.counts)
                self._view = replace(self._view, counts=counts, filename=filename)

    def end(self, event: Event, sentence: str, verdict: str) -> None:
        """Change the state by `event`, which ends the series.

        Args:
            event: see `move`.
            sentence: see `move`.
            verdict: how the series ended, one sentence for later readers.
        """
        with self.lock:
            series = self.own_receiver_series
            if event is Event.REFUSED and (series is None or not series.taken):
                self._restore()
                self.move(event, sentence)
                return
            self.give_up_pending()
            if self._view.series:
                summary = last_series(self._view, series, verdict, self._named_at)
                self._view = replace(self._view, last_series=summary)
            self.ended_unseen = series is not None and series.active
            self.move(event, sentence)

    def _restore(self) -> None:
        """Show the series before again: the one that was refused is none."""
        before = self._before
        self._view = replace(
            self._view, series=before.series, filename=before.filename, dataset=before.dataset,
            planned=before.planned, unplanned=before.unplanned, acquired=before.acquired,
            triggered=before.triggered, counts=before.counts, latest_frame=before.latest_frame,
            armed_by=before.armed_by, note=before.note,
        )  # fmt: skip

    def given_up(self, why: str) -> str:
        """Return LastSeries of the running series, with its counts so far: it is no longer waited for."""
        with self.lock:
            where = f" in {self._view.filename}" if self._view.filename else ""
            verdict = f"{account_sentence(self._view, where)}: {why}."
            return last_series(self._view, self.own_receiver_series, verdict, self._named_at)

    def remember(self, last_series: str, note: str) -> None:
        """Take over how a series of an earlier device object, or of an earlier process, has ended.

        Args:
            last_series: LastSeries, as JSON.
            note: see `SeriesView.note`.
        """
        with self.lock:
            before = self._view
            self._view = replace(before, last_series=last_series, note=note)
            if self._view == before:
                return
            # In place of a view that nobody has seen: a device begins with what it takes over, not without.
            earlier = [view for view in self._entered if view is not before]
            self._entered = [*earlier[-MOST_ENTERED:], self._view]
        self._changed()

    def amend(self, verdict: str) -> None:
        """Change LastSeries: the receiver has ended the series since."""
        with self.lock:
            self.ended_unseen = False
            summary = last_series(self._view, self.own_receiver_series, verdict, self._named_at)
            self._view = replace(self._view, last_series=summary)
            self._entered = [*self._entered[-MOST_ENTERED:], self._view]
        log.info("%s", verdict)
        self._changed()

    def catch_up(self) -> None:
        """Evaluate the streamer's latest snapshot again: it may have arrived before the id was known."""
        status = self.streamer_status
        if status is not None:
            self.on_streamer(status)

    # Both sides, for this series --------------------------------------------------------------

    @property
    def own_streamer_status(self) -> StreamerStatus | None:
        """The streamer's snapshot if it belongs to this series."""
        with self.lock:
            status = self.streamer_status
            return status if status is not None and status.series == self._view.series else None

    @property
    def waits_for_first_trigger(self) -> bool:
        """True if the series needs triggers and has had none yet."""
        with self.lock:
            status, settings, view = self.own_streamer_status, self.settings, self._view
            if settings is None or settings.trigger_mode is TriggerMode.INTERNAL:
                return False
            return not (view.acquired or view.triggered or (status is not None and status.triggered))

    @property
    def triggered_frames(self) -> int:
        """Frames for which triggers have come, as far as known."""
        with self.lock:
            status, view = self.own_streamer_status, self._view
            return max(view.triggered, view.acquired, status.triggered if status is not None else 0)

    @property
    def every_frame_in(self) -> bool:
        """True if the receiver has every frame of this series, and the streamer is still running it."""
        with self.lock:
            status, counts = self.own_streamer_status, self._view.counts
            if status is None or status.state != "acquiring" or self.own_receiver_series is None:
                return False
            return bool(counts.planned) and counts.pending == 0

    @property
    def own_receiver_series(self) -> Series | None:
        """The receiver's series if it is this one."""
        with self.lock:
            series = self.receiver_status.series if self.receiver_status is not None else None
            return series if series is not None and series.id == self._view.series else None

    @property
    def begun(self) -> bool:
        """True if the receiver has begun this series: its file exists."""
        with self.lock:
            if self.own_receiver_series is not None:
                return True
            return bool(self._view.counts.received) if self.expects else self.ready

    @property
    def receiver_expects(self) -> bool:
        """True if the receiver waits for the first frame of this series."""
        with self.lock:
            status = self.receiver_status
            return bool(self._view.series) and status is not None and status.expected == self._view.series

    @property
    def buffers_used(self) -> float:
        """Share of the streamer's buffers that is used; 0 if it is unknown."""
        status = self.own_streamer_status
        return status.ring_used / status.ring_total if status is not None and status.ring_total else 0.0

    @property
    def receiver_is_connected(self) -> bool:
        """True if the receiver has told that a streamer is connected to it."""
        with self.lock:
            status = self.receiver_status
            return status is not None and any(each.connections for each in status.connections)

    @property
    def receiver_is_idle(self) -> bool:
        """True if the receiver answers and is taking no series."""
        with self.lock:
            status = self.receiver_status
            return self.receiver_silence is None and status is not None and status.state == "idle"

    @property
    def receiver_takes(self) -> bool:
        """True if the receiver answers and is taking a series, whoever armed it."""
        with self.lock:
            status = self.receiver_status
            return self.receiver_silence is None and status is not None and status.state == "running"

    @property
    def receiver_runs(self) -> bool:
        """True if the receiver is taking this series."""
        with self.lock:
            status = self.receiver_status
            return status is not None and status.state == "running" and self.own_receiver_series is not None

    # Since when -------------------------------------------------------------------------------

    def in_state(self) -> float:
        """Return the seconds spent in the present state."""
        return self.clock() - self._since_state

    def receiver_silent(self) -> float:
        """Return the seconds without an answer from the receiver; 0 while it answers."""
        return 0.0 if self.receiver_silence is None else self.clock() - self._receiver_answered

    @property
    def receiver_answered(self) -> float:
        """Time of the receiver's last snapshot."""
        return self._receiver_answered

    def streamer_silent(self) -> float:
        """Return the seconds since the streamer's last snapshot."""
        return self.clock() - self._streamer_answered

    def lasts(self, what: str, holds: bool) -> float:
        """Return the seconds for which the condition `what` has held in this state without a break."""
        if not holds:
            self._since.pop(what, None)
            return 0.0
        now = self.clock()
        return now - self._since.setdefault(what, now)

    def since_trigger(self) -> float:
        """Return the seconds since a trigger or frame last came, or the state was entered; call it often."""
        mark = (self._since_state, self.triggered_frames, self.view.acquired, self.view.counts.received)
        if mark != self._last_trigger[0]:
            self._last_trigger = (mark, self.clock())
        return self.clock() - self._last_trigger[1]

    def without_progress(self) -> float:
        """Return the seconds since a frame was last sent or taken, or since the state was entered."""
        counts = self.view.counts
        status = self.own_streamer_status
        sent = status.sent if status is not None else 0
        mark = (self._since_state, self.told_to_stop, counts.received, counts.stored, counts.flushed, sent)
        if mark != self._progress[0]:
            self._progress = (mark, self.clock())
        return self.clock() - self._progress[1]
