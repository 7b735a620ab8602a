"""One Arm: what is known of it, the client that waits for its answer, and its calls by step.

What can fail, fails here and not during the series.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import msgspec

from penstock.devices._series import arming
from penstock.devices._series.arming import ARM_LIMIT, Budget
from penstock.devices._series.machine.actions import Answer, RunStep, Undo
from penstock.devices._series.machine.procedures import Step
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.record import SeriesRecord
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import SeriesCheckResult, Status
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import Prepared, StreamerClient, StreamerRefused, StreamerUnavailable

log = logging.getLogger(__name__)

UNDO_LIMIT = 0.3
"""Seconds for which a refusal waits while everything is undone."""


@dataclass
class ArmCall:
    """One Arm; what it does next is in `jobs`."""

    number: int
    streamer: StreamerClient
    endpoint: str
    settings: Settings
    budget: Budget
    own_stream: bool
    expected_for: float
    """Seconds for which the receiver expects a series without a start message; 0 for ever."""
    prepared: Prepared | None = None
    jobs: SimpleQueue[RunStep | Undo] = field(default_factory=SimpleQueue)
    answered: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    found: str = ""
    """State in which the streamer was found when this was undone."""

    def answer(self, answer: Answer) -> None:
        """Let the client go on; a box may still have to be disarmed."""
        self.answered.set()
        if answer.over:
            self.over.set()

    def wait(self) -> None:
        """Wait for the answer, for `ARM_LIMIT` at most."""
        if self.answered.wait(ARM_LIMIT):
            self.over.wait(UNDO_LIMIT)


NO_STREAMER = (StreamerRefused, StreamerUnavailable)
NO_RECEIVER = (ReceiverRefused, ReceiverUnavailable)
PREPARE_LIMIT = 1.7
"""Seconds for a camera to be set up: more than for another call, since its SDK and the memory of its frames
take their time. If it does not answer, undoing adds one `CALL_LIMIT`: less than the 3 s of a Tango client."""
PATIENCE = 120.0
"""Seconds for one call of the box: to configure, or to arm."""
DISARM_LIMIT = 10.0
"""Seconds within which the box must be idle after an Arm that was refused or ended."""
TAKEN_LIMIT = 20.0
"""Seconds within which the receiver must have begun the series once the box is armed: a start message with
the mask and flat field of 16 million pixels has 145 MB."""
START_LIMIT = 0.5
"""Seconds for the start message of a series that Stop or Abort has ended while it was being armed."""
POLL = 0.05
"""Seconds between two queries of a box that is being disarmed."""


class ArmSteps:
    """The calls; each raises what its client raises, or ArmRefused.

    Args:
        record: of the device's series.
        receiver: client of the receiver.
        died: returns how the streamer's process ended, `None` while it lives.
        clock: monotonic seconds.
        prepared: called with a series that the detector was set up for, from the thread of the arming.
    """

    def __init__(
        self, record: SeriesRecord, receiver: ReceiverClient, died: Callable[[], str | None],
        clock: Callable[[], float], prepared: Callable[[Prepared], None],
    ) -> None:  # fmt: skip
        self.died = died
        self._record = record
        self._receiver = receiver
        self._clock = clock
        self._prepared = prepared
        self._steps: dict[Step, Callable[[ArmCall], Any]] = {
            Step.PREPARE: self._prepare,
            Step.CHECK: self._check,
            Step.ANNOUNCE: lambda call: call.streamer.announce(),
            Step.BEGUN: self._begun,
            Step.START: self._start,
            Step.EXPECT: self._expect,
            Step.EXPECTED: lambda call: arming.await_expected(receiver, _series(call).series),
        }
        self._undo: dict[Step, Callable[[ArmCall, str], None]] = {
            Step.CANCEL: self._cancel,
            Step.RELEASED: self._released,
            Step.DISARM: self._disarm,
            Step.ENDED: self._ended,
        }

    def do(self, step: Step, call: ArmCall) -> Any:
        """Do a step; return what it has learned, see `events.StepDone`."""
        return self._steps[step](call)

    def undo(self, step: Step, call: ArmCall, cause: str) -> None:
        """Undo what was begun, for this reason; "" after Stop or Abort.

        Raises:
            StreamerRefused, StreamerUnavailable: the streamer cannot be brought to idle.
        """
        self._undo[step](call, cause)

    # The steps

    def _prepare(self, call: ArmCall) -> None:
        streamer, settings = call.streamer, call.settings
        call.prepared = streamer.prepare(settings, PATIENCE if call.own_stream else PREPARE_LIMIT)

    def _check(self, call: ArmCall) -> tuple[Prepared, SeriesCheckResult]:
        prepared, budget = _series(call), call.budget
        self._prepared(prepared)
        if call.own_stream:
            budget = Budget(self._clock)
        found = arming.check_receiver(
            self._receiver, call.streamer, call.settings, prepared, call.endpoint, budget,
            own_stream=call.own_stream,
        )  # fmt: skip
        return prepared, found

    def _begun(self, call: ArmCall) -> Status:
        series = _series(call).series
        if not call.own_stream:
            return arming.await_receiver(self._receiver, series, call.budget)
        return arming.await_receiver(self._receiver, series, Budget(self._clock, TAKEN_LIMIT), call.endpoint)

    def _start(self, call: ArmCall) -> bool | None:
        if call.own_stream:
            call.streamer.start(PATIENCE)
            return None
        try:
            call.streamer.start()
        except StreamerUnavailable:
            if self._record.facts.streamer_lost or self.died() is not None:
                raise
            log.info("the detector needs longer to arm")
            return False
        return True

    def _expect(self, call: ArmCall) -> None:
        expected, settings = _series(call).expected, call.settings
        assert expected is not None, "the step is of a series that is to be expected"
        part = msgspec.structs.replace(expected, filename=settings.filename if settings.save_raw else "")
        self._receiver.expect(part, call.expected_for)

    # Undoing

    def _cancel(self, call: ArmCall, cause: str) -> None:
        call.found = call.streamer.status().state
        arming.bring_to_idle(call.streamer, call.found)

    def _released(self, call: ArmCall, cause: str) -> None:
        series = self._record.view.series
        if call.found != "prepared" and series:
            with contextlib.suppress(*NO_RECEIVER):
                budget = Budget(self._clock, 0.5)
                self._record.on_receiver(arming.await_idle(self._receiver, series, budget))

    def _disarm(self, call: ArmCall, cause: str) -> None:
        streamer = call.streamer
        status, end = streamer.status(), time.monotonic() + DISARM_LIMIT
        if status.state == "prepared":
            streamer.cancel()
        elif status.state not in ("idle", "fault"):
            streamer.abort()
        while (status := streamer.status()).state not in ("idle", "fault"):
            if time.monotonic() > end:
                raise StreamerRefused(
                    "not_idle",
                    f"the detector is still {status.state} after {DISARM_LIMIT:g} s: {status.message}",
                )
            time.sleep(POLL)
        self._record.on_streamer(status)
        if status.state == "fault":
            raise StreamerRefused("fault", status.message)

    def _ended(self, call: ArmCall, cause: str) -> None:
        """End the series at the receiver if it has begun: the next Arm must find it idle."""
        receiver, facts = self._receiver, self._record.facts
        series = facts.view.series
        if not series:
            return
        try:
            if facts.expects:
                self._record.on_receiver(receiver.forget(series))
            elif facts.view.state is SeriesState.STOPPING:  # its start message may be under way
                self._await_start(series)
            status = arming.await_idle(receiver, series, Budget(self._clock, 0.2))
            if status.state == "running" and status.series is not None and status.series.id == series:
                receiver.stop(f"the detector was not armed: {cause or 'Stop or Abort'}", failed=True)
                status = arming.await_idle(receiver, series, Budget(self._clock, 2.0))
            self._record.on_receiver(status)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told that the series was not armed: %s", error)

    def _await_start(self, series: str) -> None:
        budget, status = Budget(self._clock, START_LIMIT), self._receiver.status()
        while (status.series is None or status.series.id != series) and (left := budget.left()) > 0.0:
            status = self._receiver.status(seen=status.version, wait=left)


def _series(call: ArmCall) -> Prepared:
    """Return the series that PREPARE has made."""
    assert call.prepared is not None, "PREPARE is the first step"
    return call.prepared
