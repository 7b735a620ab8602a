"""The facts while the machine handles an event: each change replaces them, actions are collected in order."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.devices._series.machine.actions import Action, Log, Show, StopAtEnd, StopStreamer, Withdraw
from penstock.devices._series.machine.facts import Facts, Lasting, Mark
from penstock.devices._series.machine.last_series import last_series
from penstock.devices._series.machine.states import ACTIVE, TABLE, Change, SeriesState
from penstock.devices._series.machine.view import SeriesView, remedied, sentence, without_pending


class Moment(NamedTuple):
    """A time."""

    seconds: float
    """Monotonic."""
    utc: float
    """Since 1970."""


class Draft:
    """The changes of one event.

    Args:
        facts: the facts before.
        now: when it happens.
    """

    def __init__(self, facts: Facts, now: Moment) -> None:
        self.facts = facts
        self.now = now.seconds
        self.actions: list[Action] = []
        self.utc = now.utc

    @property
    def view(self) -> SeriesView:
        """The view of the series so far."""
        return self.facts.view

    def set(self, **changes: Any) -> None:
        """Change facts."""
        self.facts = replace(self.facts, **changes)

    def view_set(self, **changes: Any) -> None:
        """Change the view."""
        self.set(view=replace(self.view, **changes))

    def do(self, *actions: Action) -> None:
        """Have actions done, after those so far."""
        self.actions += actions

    def log(self, level: int, line: str) -> None:
        """Have a line written to the log."""
        self.do(Log(level, line))

    # Since when

    def lasts(self, what: Lasting, holds: bool) -> float:
        """Return the seconds for which a condition has held in this state without a break."""
        since = self.facts.since
        if not holds:
            if what in since:
                self.set(since={each: at for each, at in since.items() if each is not what})
            return 0.0
        if what not in since:
            self.set(since={**since, what: self.now})
            return 0.0
        return self.now - since[what]

    def without_progress(self) -> float:
        """Return the seconds since a frame was last sent or taken, or since the state was entered."""
        facts, counts, status = self.facts, self.view.counts, self.facts.own_streamer_status
        sent = status.sent if status is not None else 0
        seen = (facts.since_state, facts.told_to_stop, counts.received, counts.stored, counts.flushed, sent)
        if seen != facts.progress.seen:
            self.set(progress=Mark(seen, self.now))
        return self.now - self.facts.progress.since

    def since_trigger(self) -> float:
        """Return the seconds since a trigger or frame last came, or the state was entered; ask it often."""
        facts = self.facts
        seen = (facts.since_state, facts.triggered_frames, self.view.acquired, self.view.counts.received)
        if seen != facts.last_trigger.seen:
            self.set(last_trigger=Mark(seen, self.now))
        return self.now - self.facts.last_trigger.since

    # What is shown

    def move(self, change: Change, text: str) -> None:
        """Change the state, with its cause; the state changes nowhere else.

        Raises:
            IllegalEvent: the table has no such transition; nothing was changed.
        """
        before = self.view.state
        after = TABLE.after(before, change)
        taking = after is SeriesState.TAKING
        view = replace(
            self.view, state=after, sentence=text, waiting="", warning="", reservation="",
            ready_for_trigger=self.view.ready_for_trigger and taking,
        )  # fmt: skip
        is_new = after is not before or change is Change.STOP
        self.set(
            ready=self.facts.ready or taking, view=view, since={},
            since_state=self.now if is_new else self.facts.since_state,
        )  # fmt: skip
        bad = after in (SeriesState.FAILING, SeriesState.FAULT)
        self.log(logging.ERROR if bad else logging.INFO, f"{before} -> {after}: {text}")
        self.show()

    def show(self) -> None:
        """Have the view shown."""
        self.do(Show(self.view))

    def warn(self, warning: str, reservation: str = "") -> None:
        """Set a warning, and why Arm would be refused; neither changes the state, and "" clears each."""
        before = self.view.warning
        if (warning, reservation) == (before, self.view.reservation):
            return
        self.view_set(warning=warning, reservation=reservation)
        if warning and not before:
            self.log(logging.WARNING, warning)
        self.show()

    def show_waiting(self, waiting: str) -> None:
        """Show how long the series has waited for a trigger; "" if it has not."""
        if waiting != self.view.waiting:
            self.view_set(waiting=waiting)
            self.show()

    def catch_up(self) -> None:
        """Evaluate the streamer's latest snapshot again: it may have arrived before the id was known."""
        if (status := self.facts.streamer_status) is not None:
            self.set(view=self.view.with_streamer(status))

    def remember(self, last_series: str, note: str) -> None:
        """Take over how a series of an earlier device object, or of an earlier process, has ended.

        Args:
            last_series: LastSeries, as JSON.
            note: see `SeriesView.note`.
        """
        before = self.view
        self.view_set(last_series=last_series, note=note)
        if self.view != before:
            self.do(Show(self.view, instead=before))

    # How a series ends

    def end(self, change: Change, text: str, verdict: str) -> None:
        """Change the state, by which the series ends.

        Args:
            change: see `move`.
            text: see `move`.
            verdict: how the series ended, one sentence for later readers.
        """
        series = self.facts.own_receiver_series
        if change is Change.REFUSED and (series is None or not series.taken):
            self._show_former()
            self.move(change, text)
            return
        self.give_up_pending()
        if self.view.series:
            self.view_set(last_series=self.last_series(verdict))
        self.set(ended_unseen=series is not None and series.active)
        self.move(change, text)

    def give_up_pending(self) -> None:
        """Count the pending frames of a series that no receiver has begun as not triggered."""
        if not self.facts.begun:
            filename = "" if self.facts.expects else self.view.filename
            self.view_set(counts=without_pending(self.view.counts), filename=filename)

    def last_series(self, verdict: str) -> str:
        """Return LastSeries of the series of the view."""
        facts = self.facts
        return last_series(self.view, facts.own_receiver_series, verdict, facts.named_at, self.utc)

    def _show_former(self) -> None:
        """Show the series before again: the one that was refused is none."""
        before = self.facts.before
        self.view_set(
            series=before.series, filename=before.filename, dataset=before.dataset,
            planned=before.planned, unplanned=before.unplanned, acquired=before.acquired,
            triggered=before.triggered, counts=before.counts, latest_frame=before.latest_frame,
            armed_by=before.armed_by, note=before.note,
        )  # fmt: skip

    # Actions of several rows

    def fail(self, cause: str, *, lost: bool = False) -> None:
        """Fail the series, or the streamer without one; `lost`: the streamer is lost."""
        facts, is_active = self.facts, self.view.state in ACTIVE
        self.set(failure=cause, streamer_lost=facts.streamer_lost or lost)
        self.move(Change.FAIL, f"{sentence(cause)} Ending the series." if is_active else remedied(cause))
        own = facts.own_streamer_status
        ended = own is not None and own.state in ("idle", "fault")
        if is_active and self.facts.reachable and not ended:
            if facts.own_stream and self.view.unplanned:
                self.announce_end(cause, failed=True)  # or the box's end message would make it complete
            self.do(StopStreamer(cause, "after a failure", aborted=True))
        if is_active and facts.expects:
            self.do(Withdraw(self.view.series))

    def stop(self, text: str, *, aborted: bool, cause: str = "") -> None:
        """Stop or abort the series; without effect if there is none to be ended.

        Args:
            text: sentence for the state.
            aborted: True for an abort.
            cause: why, if no client has requested it.
        """
        state = self.view.state
        if state not in (SeriesState.ARMING, SeriesState.TAKING, SeriesState.STOPPING):
            return
        if state is SeriesState.STOPPING and (self.facts.aborted or not aborted):
            return
        self.set(aborted=aborted, stopped_by=f"ended by {cause}" if aborted and cause else cause)
        self.move(Change.STOP, text)
        word = "Abort" if aborted else "Stop"
        if self.facts.own_stream and self.facts.ready:
            self.set(announced_end=f"ended by {word.lower()}{f': {cause}' if cause else ''}")
            self.announce_end(self.facts.announced_end, failed=aborted)
        if self.facts.connected:
            self.do(StopStreamer(cause, word, aborted=aborted))

    def announce_end(self, why: str, *, failed: bool) -> None:
        """Tell the receiver why the series of a box ends."""
        self.do(StopAtEnd(self.view.series, why, failed))
