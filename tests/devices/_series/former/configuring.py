"""Settings and Reset of a detector that streams by itself: its box takes a moment, or a minute.

Each call runs in a thread of its own. The client waits for a moment; then the state is CONFIGURING until
`finish`, which is called often, finds the call ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from penstock.devices._series.machine.states import Event, SeriesState
from penstock.streamer.camera.settings import Value
from penstock.streamer.remote.client import Description, StreamerClient, StreamerStatus
from tests.devices._series.former.arm_streamer import NO_STREAMER
from tests.devices._series.former.arming import ArmRefused
from tests.devices._series.former.record import SeriesRecord
from tests.devices._series.former.watchdog import remedied, sentence, warning_of

log = logging.getLogger(__name__)

WAIT = 0.7
"""Seconds for which a client waits for the box, so that writing an attribute returns within 1 s."""
PATIENCE = 180.0
"""Seconds for one call of the box, which may set every threshold or initialise the detector."""
RESET = "Reset"


class Configuring:
    """The calls of one box, one at a time.

    Args:
        record: record of the device's series.
        streamer: returns the streamer, or raises ArmRefused.
        took: called with what the box has now, in the thread of a client or of the caller of `finish`.
        changed: called from any thread when a call has ended; must return at once.
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
        """True while a call is running."""
        job = self._job
        return job is not None and not job.over.is_set()

    def set(self, values: Mapping[str, Value]) -> None:
        """Set parameters of the box; return when it has taken them, or after `WAIT` seconds.

        Raises:
            ArmRefused: the state is not IDLE, or the box refuses.
        """
        names = ", ".join(values)
        with self._record.lock:
            view, streamer = self._record.view, self._streamer()
            if view.state is not SeriesState.IDLE or self._job is not None:
                raise ArmRefused(
                    "not_idle", f"{names} can be written only in the state ON; now: {view.sentence}"
                )
            job = self._job = _Job(names, lambda: streamer.set(values, PATIENCE), self._changed)
        if not self._answers_soon(job):
            with self._record.lock:
                if self._record.view.state is SeriesState.IDLE:
                    self._record.move(Event.CONFIGURE, f"{names} is being set in the detector.")

    def reset(self) -> None:
        """Bring the box to idle, whatever it is doing; return when it is idle, or after `WAIT` seconds.

        Raises:
            ArmRefused: the box refuses; the state is FAULT again.
        """
        with self._record.lock:
            streamer = self._streamer()
            self._record.move(Event.CONFIGURE, "The detector is being reset.")
            job = self._job = _Job(RESET, lambda: streamer.reset(PATIENCE), self._changed)
        self._answers_soon(job)

    def finish(self) -> None:
        """Check whether the box is still busy; if not, show its values and leave CONFIGURING."""
        job, status = self._job, self._record.streamer_status
        if job is not None and not job.awaited and job.over.is_set():
            self._finish(job)
        elif job is None and status is not None and status.state != "configuring":
            self._finish(None)  # another client of the box had set it

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
            if self._record.view.state is SeriesState.IDLE:
                self._record.warn(warning_of(status))
            if self._record.view.state is not SeriesState.CONFIGURING:
                return
            if status.state == "fault" or (refused and job is not None and job.what == RESET):
                self._record.move(Event.FAIL, remedied(status.message or refused))
            else:
                self._record.move(Event.CONFIGURED, f"Ready. {refused}".strip())
                self._record.warn(warning_of(status))

    def take_over(self) -> StreamerStatus | None:
        """Show the box's present values; return the streamer's status, `None` if it does not answer."""
        try:
            streamer = self._streamer()
            status = streamer.status()
            self._took(streamer, streamer.describe())
        except (ArmRefused, *NO_STREAMER) as error:
            log.warning("the detector's settings could not be read: %s", error)
            return None
        self._record.on_streamer(status)
        return status

    def forget(self) -> None:
        """Stop waiting for the running call: another streamer has been reached."""
        self._job = None

    def _answers_soon(self, job: _Job) -> bool:
        """Wait for `WAIT` seconds; return whether the box has answered.

        Raises:
            ArmRefused: it has answered with a refusal.
        """
        if not job.over.wait(WAIT):
            job.awaited = False
            return False
        self._finish(job)
        if job.error is not None:
            raise ArmRefused(getattr(job.error, "kind", "unavailable"), str(job.error)) from job.error
        return True


class _Job:
    """One call of the box, which may take long."""

    def __init__(self, what: str, call: Callable[[], object], changed: Callable[[], None]) -> None:
        self.what = what
        self.error: Exception | None = None
        self.over = threading.Event()
        self.awaited = True
        """True while the client waits, whose thread will finish the job."""
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
