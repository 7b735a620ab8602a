"""Arming of a detector that streams by itself, in a thread of its own: the box may need a minute.

The box sends the start message, with the id of the series, while it is being armed; the device is RUNNING
once the receiver has begun the series with this id. If its stream has no start messages, the receiver is told
of the series before, and the device is RUNNING once the box is armed and the receiver still expects it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from penstock.devices._series.machine.states import Event, SeriesState
from penstock.receiver.client import ReceiverClient
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import Prepared, StreamerClient, StreamerRefused
from tests.devices._series.former import arming
from tests.devices._series.former.arm_streamer import NO_RECEIVER, NO_STREAMER
from tests.devices._series.former.arming import ARM_LIMIT, ArmRefused, Budget
from tests.devices._series.former.record import SeriesRecord
from tests.devices._series.former.watchdog import Actions, sentence

log = logging.getLogger(__name__)

PATIENCE = 120.0
"""Seconds for one call of the box: to configure, or to arm."""
DISARM_LIMIT = 10.0
"""Seconds within which the box must be idle after an Arm that was refused or ended."""
TAKEN_LIMIT = 20.0
"""Seconds within which the receiver must have begun the series once the box is armed: a start message with
the mask and flat field of 16 million pixels has 145 MB."""
EXPECTED_BEYOND = 60.0
"""Seconds beyond ArmedTimeLimit for which the receiver expects a series: the limit counts from the end of
arming, and stopping takes time."""
UNDO_LIMIT = 0.3
"""Seconds for which a refusal waits while everything is undone; a Tango client waits 3 s for all of Arm."""
START_LIMIT = 0.5
"""Seconds for the start message of a series that Stop or Abort has ended while it was being armed."""
POLL = 0.05
"""Seconds between two queries of a box that is being disarmed."""


class _Ended(Exception):
    """Stop, Abort or a failure ended the series while it was being armed."""


class BoxArming:
    """The order of arming: configure the box, check the receiver, tell it of the series if no start message
    does, arm the box, wait for the receiver.

    Args:
        record: of the device's series; its state is ARMING when `arm` is called.
        receiver: client of the receiver.
        actions: what the device does next.
        prepared: called with a series that the box has been configured for, from the thread of the arming.
        changed: called at the end of each arming, from its thread; must return at once.
        armed_limit: returns the most seconds from Arm to the first trigger; 0 for ever.
    """

    def __init__(
        self, record: SeriesRecord, receiver: ReceiverClient, actions: Actions,
        prepared: Callable[[Prepared], None], changed: Callable[[], None],
        armed_limit: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self._armed_limit = armed_limit
        self._record = record
        self._receiver = receiver
        self._do = actions
        self._prepared = prepared
        self._changed = changed

    def arm(self, streamer: StreamerClient, endpoint: str, settings: Settings, armed_by: str) -> None:
        """Arm; return when the box takes triggers, or after `ARM_LIMIT` while it is still being armed.

        Raises:
            ArmRefused: within `ARM_LIMIT`, with the reason; the state is IDLE, or becomes IDLE with the box.
        """
        limit = self._armed_limit()
        attempt = _Attempt(
            self._record, self._receiver, self._do, self._prepared, streamer, endpoint, settings, armed_by,
            limit + EXPECTED_BEYOND if limit else 0.0,
        )  # fmt: skip
        thread = threading.Thread(target=self._run, args=(attempt,), name="arming", daemon=True)
        thread.start()
        error = attempt.wait(ARM_LIMIT)
        if error is not None:
            thread.join(UNDO_LIMIT)
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error

    def _run(self, attempt: _Attempt) -> None:
        attempt.run()
        self._changed()


class _Attempt:
    """One Arm."""

    def __init__(
        self, record: SeriesRecord, receiver: ReceiverClient, actions: Actions,
        prepared: Callable[[Prepared], None], streamer: StreamerClient, endpoint: str, settings: Settings,
        armed_by: str, expected_for: float,
    ) -> None:  # fmt: skip
        self._expected_for = expected_for
        self._record = record
        self._receiver = receiver
        self._do = actions
        self._prepared = prepared
        self._streamer = streamer
        self._endpoint = endpoint
        self._settings = settings
        self._armed_by = armed_by
        self._number = record.series_number
        self._decided = threading.Event()
        self._caller_returned = False
        """The client's Arm has returned: a failure is a FAULT from now on."""
        self._refused: Exception | None = None

    def wait(self, seconds: float) -> Exception | None:
        """Return why Arm is refused; `None` if it was not within this time: then it can no longer be."""
        self._decided.wait(seconds)
        with self._record.lock:
            self._caller_returned = True
            return self._refused

    def run(self) -> None:
        """Arm, or undo everything."""
        try:
            self._steps()
        except _Ended:
            self._undo("")
        except (ArmRefused, *NO_STREAMER, *NO_RECEIVER) as error:
            self._give_up(error)
        except Exception as error:
            log.exception("internal error while arming")
            self._give_up(ArmRefused("internal", f"internal error, {error!r}"))
        finally:
            self._decided.set()

    def _steps(self) -> None:
        record = self._record
        prepared = self._streamer.prepare(self._settings, PATIENCE)
        self._check_still_arming()
        self._prepared(prepared)
        found = arming.check_receiver(
            self._receiver, self._streamer, self._settings, prepared, self._endpoint, Budget(record.clock),
            own_stream=True,
        )  # fmt: skip
        with record.lock:
            self._check_still_arming()
            record.name(prepared, found, self._armed_by)
        if prepared.expected is not None:
            filename = self._settings.filename if self._settings.save_raw else ""
            part = msgspec.structs.replace(prepared.expected, filename=filename)
            self._receiver.expect(part, self._expected_for)
            self._check_still_arming()
        self._streamer.start(PATIENCE)
        self._check_still_arming()
        if prepared.expected is not None:
            record.on_receiver(arming.await_expected(self._receiver, prepared.series))
        else:
            budget = Budget(record.clock, TAKEN_LIMIT)
            record.on_receiver(arming.await_receiver(self._receiver, prepared.series, budget, self._endpoint))
        self._check_still_arming()
        self._do.ready()

    def _check_still_arming(self) -> None:
        if not self._is(SeriesState.ARMING):
            raise _Ended

    def _is(self, *states: SeriesState) -> bool:
        """Return whether the device is in one of these states, and still has this series."""
        with self._record.lock:
            return self._record.series_number == self._number and self._record.view.state in states

    def _give_up(self, error: Exception) -> None:
        with self._record.lock:
            late = self._is(SeriesState.ARMING) and self._caller_returned
            if not late and self._is(SeriesState.ARMING):
                self._refused = error
        if late:
            self._do.fail(f"the detector could not be armed: {error}")
        else:
            self._decided.set()
            self._undo(str(error))

    def _undo(self, cause: str) -> None:
        """Leave box and receiver as they were; if that is not possible, the state is FAULT."""
        if not self._is(SeriesState.ARMING, SeriesState.STOPPING):
            return  # the failure was handled already, or the series is over
        try:
            self._disarm()
        except NO_STREAMER as error:
            if self._is(SeriesState.ARMING, SeriesState.STOPPING):
                said = str(error)
                self._do.fail(cause if said in cause else f"{cause}; {said}" if cause else said)
            return
        self._end_at_receiver(cause)
        with self._record.lock:
            if self._is(SeriesState.STOPPING):
                word = "Abort" if self._record.aborted else "Stop"
                verdict = f"The last Arm was ended by {word} before the detector took triggers."
                self._record.end(Event.REFUSED, f"Ready. {verdict}", verdict)
            elif self._is(SeriesState.ARMING):
                self._record.end(
                    Event.REFUSED, f"Ready. The last Arm was refused: {cause}",
                    f"Arm was refused: {sentence(cause)}",
                )  # fmt: skip

    def _disarm(self) -> None:
        """Bring the box to idle.

        Raises:
            StreamerRefused, StreamerUnavailable: it does not become idle, or is in fault.
        """
        status, end = self._streamer.status(), time.monotonic() + DISARM_LIMIT
        if status.state == "prepared":
            self._streamer.cancel()
        elif status.state not in ("idle", "fault"):
            self._streamer.abort()
        while (status := self._streamer.status()).state not in ("idle", "fault"):
            if time.monotonic() > end:
                raise StreamerRefused(
                    "not_idle",
                    f"the detector is still {status.state} after {DISARM_LIMIT:g} s: {status.message}",
                )
            time.sleep(POLL)
        self._record.on_streamer(status)
        if status.state == "fault":
            raise StreamerRefused("fault", status.message)

    def _await_start(self, series: str) -> None:
        budget, status = Budget(self._record.clock, START_LIMIT), self._receiver.status()
        while (status.series is None or status.series.id != series) and (left := budget.left()) > 0.0:
            status = self._receiver.status(seen=status.version, wait=left)

    def _end_at_receiver(self, cause: str) -> None:
        """End the series at the receiver if it has begun: the next Arm must find it idle."""
        series = self._record.view.series
        if not series:
            return
        try:
            if self._record.expects:
                self._record.on_receiver(self._receiver.forget(series))
            elif self._is(SeriesState.STOPPING):  # its start message may be under way
                self._await_start(series)
            status = arming.await_idle(self._receiver, series, Budget(self._record.clock, 0.2))
            if status.state == "running" and status.series is not None and status.series.id == series:
                self._receiver.stop(f"the detector was not armed: {cause or 'Stop or Abort'}", failed=True)
                status = arming.await_idle(self._receiver, series, Budget(self._record.clock, 2.0))
            self._record.on_receiver(status)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told that the series was not armed: %s", error)
