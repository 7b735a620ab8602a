"""Settings and Reset of a detector that streams by itself: its box takes a moment, or a minute.

Each call runs in a thread of its own. Who asked waits for a moment; then the state is CONFIGURING, and
`finish`, called often, sees to the end of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from penstock.devices._base.arm_streamer import NO_STREAMER
from penstock.devices._base.arming import ArmRefused
from penstock.devices._base.series_record import SeriesRecord
from penstock.devices._base.series_watchdog import remedied, sentence
from penstock.devices._base.states import Event, SeriesState
from penstock.streamer.client import Description, StreamerClient, StreamerStatus
from penstock.streamer.settings import Value

log = logging.getLogger(__name__)

WAIT = 0.7
"""Seconds for which a client waits for the box: writing an attribute returns within 1 s."""
PATIENCE = 180.0
"""Seconds for one call of the box: moving every threshold, or initialising it."""
RESET = "Reset"


class Configuring:
    """See the module.

    Args:
        record: of the device's series.
        streamer: gives the streamer, or raises ArmRefused.
        took: told what the box has now, by the thread of a client or by the one that calls `finish`.
        changed: called from any thread when there is something to finish; must only take note.
    """

    def __init__(
        self, record: SeriesRecord, streamer: Callable[[], StreamerClient],
        took: Callable[[StreamerClient, Description], None], changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._record = record
        self._streamer = streamer
        self._took = took
        self._changed = changed
        self._job: _Job | None = None

    @property
    def pending(self) -> bool:
        """True if a call is under way."""
        job = self._job
        return job is not None and not job.over.is_set()

    def set(self, values: Mapping[str, Value]) -> None:
        """Set parameters of the box; returns when it has taken them, or after a moment.

        Raises:
            ArmRefused: the state is not IDLE, or the box refuses.
        """
        names = ", ".join(values)
        with self._record.lock:
            view, streamer = self._record.view, self._streamer()
            if view.state is not SeriesState.IDLE or self._job is not None:
                raise ArmRefused(
                    "not_idle", f"{names} can be written in the state ON only; now: {view.sentence}"
                )
            job = self._job = _Job(names, lambda: streamer.set(values, PATIENCE), self._changed)
        if not self._answers_soon(job):
            with self._record.lock:
                if self._record.view.state is SeriesState.IDLE:
                    self._record.move(Event.CONFIGURE, f"{names} is being set in the detector.")

    def reset(self) -> None:
        """Bring the box to idle, whatever it does; returns when it is, or after a moment.

        Raises:
            ArmRefused: it refuses; the state is FAULT again.
        """
        with self._record.lock:
            streamer = self._streamer()
            self._record.move(Event.CONFIGURE, "The detector is being reset.")
            job = self._job = _Job(RESET, lambda: streamer.reset(PATIENCE), self._changed)
        self._answers_soon(job)

    def finish(self) -> None:
        """Look whether the box is still busy; if not, show what it has, and leave CONFIGURING."""
        job, status = self._job, self._record.streamer_status
        if job is not None and not job.awaited and job.over.is_set():
            self._finish(job)
        elif job is None and status is not None and status.state != "configuring":
            self._finish(None)  # another client's doing

    def _finish(self, job: _Job | None) -> None:
        try:
            status = self.take_over()
        finally:
            self._job = None
        if status is None or status.state == "configuring":
            return
        refused = ""
        if job is not None and job.error is not None:
            refused = sentence(f"{job.what} {'failed' if job.what == RESET else 'was not set'}: {job.error}")
        with self._record.lock:
            if self._record.view.state is not SeriesState.CONFIGURING:
                return
            if status.state == "fault" or (refused and job is not None and job.what == RESET):
                self._record.move(Event.FAIL, remedied(status.message or refused))
            else:
                self._record.move(Event.CONFIGURED, f"Ready. {refused}".strip())

    def take_over(self) -> StreamerStatus | None:
        """Show what the box has now; the streamer's status, `None` where it does not answer."""
        try:
            streamer = self._streamer()
            status = streamer.status()
            self._took(streamer, streamer.describe())
        except (ArmRefused, *NO_STREAMER) as error:
            log.warning("what the detector is set to is not known: %s", error)
            return None
        self._record.on_streamer(status)
        return status

    def forget(self) -> None:
        """Another streamer was reached: what was under way is no longer waited for."""
        self._job = None

    def _answers_soon(self, job: _Job) -> bool:
        """Wait for a moment; whether the box has answered.

        Raises:
            ArmRefused: it has, and refuses.
        """
        if not job.over.wait(WAIT):
            job.awaited = False
            return False
        self._finish(job)
        if job.error is not None:
            raise ArmRefused(getattr(job.error, "kind", "unavailable"), str(job.error)) from job.error
        return True


class _Job:
    """One call that the box takes its time for."""

    def __init__(self, what: str, call: Callable[[], object], changed: Callable[[], None]) -> None:
        self.what = what
        self.error: Exception | None = None
        self.over = threading.Event()
        self.awaited = True
        """Who asked waits, and will finish it."""
        self._call = call
        self._changed = changed
        threading.Thread(target=self._run, name="configuring", daemon=True).start()

    def _run(self) -> None:
        try:
            self._call()
        except NO_STREAMER as error:
            self.error = error
        finally:
            self.over.set()
            self._changed()
