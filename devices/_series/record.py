"""A device's record of its series: its facts, under one lock, and what was shown.

The lock is held briefly and never during a call to another process. Commands, the watchdog's thread and those
of calls that take long let events happen; snapshots arrive in other threads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from penstock.devices._series.machine import events
from penstock.devices._series.machine.actions import Action, Log, Show
from penstock.devices._series.machine.draft import Draft, Moment
from penstock.devices._series.machine.facts import Facts
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.machine import handle
from penstock.devices._series.machine.view import SeriesView, account_sentence
from penstock.receiver.client import NoAnswer
from penstock.receiver.models import Status
from penstock.streamer.remote.client import StreamerStatus

log = logging.getLogger(__name__)

MOST_ENTERED = 100
"""Most views that are kept until they are read; older ones are dropped."""
STEPPED = (
    events.StreamerTold, events.ReceiverTold, events.Withdrawn, events.FormatFound, events.Trigger,
    events.TriggerRefused, events.CallOver, events.StepDone, events.Undone, events.ArmOver, events.CallerGone,
)  # fmt: skip
"""Events after which the series is looked at soon, even if they show nothing."""


class SeriesRecord:
    """The record; its methods may be called from any thread.

    Args:
        clock: monotonic seconds.
        changed: called after every change of the record, from any thread; must return at once.
        limits: time limits of the watchdog.
        remote: True if the streamer may be on another host.
    """

    def __init__(
        self, clock: Callable[[], float], changed: Callable[[], None],
        limits: WatchdogLimits | None = None, *, remote: bool = False,
    ) -> None:  # fmt: skip
        self.lock = threading.RLock()
        self._clock = clock
        self._changed = changed
        now = clock()
        self.facts = Facts(
            limits=limits or WatchdogLimits(), remote=remote, since_state=now, receiver_answered=now,
            streamer_answered=now,
        )  # fmt: skip
        self._entered: list[SeriesView] = [self.facts.view]

    @property
    def view(self) -> SeriesView:
        """The present view of the series."""
        return self.facts.view

    def handle(self, event: events.Event) -> list[Action]:
        """Let an event happen, and return what has to be done.

        Raises:
            IllegalEvent: it is not allowed in this state; nothing was changed.
        """
        with self.lock:
            self.facts, actions = handle(self.facts, event, self._now())
            shown = [action for action in actions if isinstance(action, Show)]
            for each in shown:
                earlier = [view for view in self._entered if view is not each.instead]
                self._entered = [*earlier[-MOST_ENTERED:], each.view]
        for action in actions:
            if isinstance(action, Log):
                log.log(action.level, "%s", action.line)
        if shown or isinstance(event, STEPPED):
            self._changed()
        return [action for action in actions if not isinstance(action, Show | Log)]

    def entered(self) -> list[SeriesView]:
        """Return the views at all changes that were shown since the last call, in order."""
        with self.lock:
            entered, self._entered = self._entered, []
            return entered

    def on_streamer(self, status: StreamerStatus | None) -> None:
        """Record a snapshot of the streamer; `None` if none has arrived for too long."""
        self.handle(events.StreamerTold(status))

    def on_receiver(self, status: Status | NoAnswer) -> None:
        """Record a snapshot of the receiver, or why there is none."""
        self.handle(events.ReceiverTold(status))

    def remember(self, last_series: str, note: str) -> None:
        """Take over how a series of an earlier device object has ended; see `events.Remember`."""
        self.handle(events.Remember(last_series, note))

    def given_up(self, why: str) -> str:
        """Return LastSeries of the running series, with its counts so far: it is no longer waited for."""
        with self.lock:
            draft, view = Draft(self.facts, self._now()), self.view
        where = f" in {view.filename}" if view.filename else ""
        return draft.last_series(f"{account_sentence(view, where)}: {why}.")

    def _now(self) -> Moment:
        return Moment(self._clock(), time.time())
