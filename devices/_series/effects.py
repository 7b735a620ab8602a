"""Does what the machine wants, and lets the results happen.

Calls that return within a second are made by the thread whose event has asked for them. Those of Arm are
made by the client's thread, or for a box, which may need a minute, by one thread of its unit, which is never
waited for: a call that hangs is given up, and its result, with the number of an earlier Arm, changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.devices._series.arm_steps import NO_RECEIVER, NO_STREAMER, ArmCall, ArmSteps
from penstock.devices._series.machine import actions, events
from penstock.devices._series.machine.actions import Action, RunStep, Undo
from penstock.devices._series.record import SeriesRecord
from penstock.devices._series.refusals import ArmRefused
from penstock.receiver.client import ReceiverClient
from penstock.streamer.remote.client import Description, StreamerClient

log = logging.getLogger(__name__)

EXPECTED = (ArmRefused, *NO_STREAMER, *NO_RECEIVER)
"""What a step of Arm raises if it is refused, or if somebody does not answer."""


class Effects:
    """The effects of one device.

    Args:
        record: of the device's series.
        receiver: client of the receiver.
        client: returns the client of the streamer, even of one that does not answer.
        steps: makes the calls of Arm.
        read: called with the values of a box, in the thread of a client or of the watchdog.
    """

    def __init__(
        self, record: SeriesRecord, receiver: ReceiverClient, client: Callable[[], StreamerClient | None],
        steps: ArmSteps, read: Callable[[StreamerClient, Description], None],
    ) -> None:  # fmt: skip
        self._record = record
        self._receiver = receiver
        self._client = client
        self._steps = steps
        self._read = read
        self._calls: dict[int, ArmCall] = {}
        """Arms whose steps are being done, by number: one, and those that were given up."""
        self._done: Mapping[type[Action], Callable[[Any], None]] = {
            actions.StopStreamer: self._stop_streamer,
            actions.StopReceiver: self._stop_receiver,
            actions.StopAtEnd: self._stop_at_end,
            actions.Withdraw: self._withdraw,
            actions.ReadBox: self._read_box,
            actions.RunStep: self._later,
            actions.Undo: self._later,
            actions.Answer: self._answer,
        }

    def happen(self, event: events.Event) -> None:
        """Let an event happen, and do what follows from it."""
        self.do(self._record.handle(event))

    def do(self, wanted: Iterable[Action]) -> None:
        """Do what the machine wants, in order."""
        for action in wanted:
            self._done[type(action)](action)

    # Arm

    def arm(self, call: ArmCall, first: Iterable[Action]) -> None:
        """Arm; return at the answer, or when the client waits no longer.

        Args:
            call: the Arm.
            first: what its beginning wants.
        """
        self._calls[call.number] = call
        self.do(first)
        if call.own_stream:
            threading.Thread(target=self._arm, args=(call,), name="arming", daemon=True).start()
        else:
            self._arm(call)
        call.wait()

    def _arm(self, call: ArmCall) -> None:
        while not call.over.is_set():
            job = call.jobs.get()
            self.happen(self._run(call, job) if isinstance(job, RunStep) else self._undo(call, job))
        del self._calls[call.number]
        self.happen(events.ArmOver())

    def _run(self, call: ArmCall, job: RunStep) -> events.Event:
        try:
            return events.StepDone(job.number, job.step, self._steps.do(job.step, call))
        except EXPECTED as error:
            return events.StepFailed(job.number, error)
        except Exception as error:
            log.exception("internal error while arming")
            return events.StepFailed(job.number, ArmRefused("internal", f"internal error, {error!r}"))

    def _undo(self, call: ArmCall, job: Undo) -> events.Undone:
        died = None if call.own_stream else self._steps.died()
        left = died
        try:
            for step in () if died else job.steps:
                self._steps.undo(step, call, job.cause)
        except NO_STREAMER as error:
            left = str(error)
        except Exception as error:
            log.exception("internal error while an Arm was undone")
            left = f"internal error, {error!r}"
        return events.Undone(job.number, job.cause, job.refusal, left=left, died=died is not None)

    def _later(self, action: RunStep | Undo) -> None:
        self._calls[action.number].jobs.put(action)

    def _answer(self, action: actions.Answer) -> None:
        self._calls[action.number].answer(action)

    # Calls that return within a second

    def _stop_streamer(self, action: actions.StopStreamer) -> None:
        if (streamer := self._client()) is None:
            return
        try:
            (streamer.abort if action.aborted else streamer.stop)(action.cause)
        except NO_STREAMER as error:
            # The series may have ended by itself a moment ago; the next snapshot tells.
            log.warning("%s: the streamer could not be told to end the series: %s", action.purpose, error)

    def _stop_receiver(self, action: actions.StopReceiver) -> None:
        try:
            self._receiver.stop(action.reason, failed=True)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told to stop: %s", error)

    def _stop_at_end(self, action: actions.StopAtEnd) -> None:
        try:
            self._receiver.stop_at_end(action.series, action.why, failed=action.failed)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told that the series is %s: %s", action.why, error)

    def _withdraw(self, action: actions.Withdraw) -> None:
        try:
            status = self._receiver.forget(action.series)
        except NO_RECEIVER as error:
            log.warning("the receiver could not be told not to expect the series any more: %s", error)
        else:
            self.happen(events.Withdrawn(status))

    # The box

    def read_box(self, call: int) -> None:
        """Read the box after one of our calls, which its client has waited for."""
        self._read_box(actions.ReadBox(call))

    def _read_box(self, action: actions.ReadBox) -> None:
        status, streamer = None, self._client()
        try:
            if streamer is not None and self._record.facts.reachable:
                found = streamer.status()
                self._read(streamer, streamer.describe())
                status = found
                self._record.on_streamer(found)
        except NO_STREAMER as error:
            log.warning("the detector's settings could not be read: %s", error)
        finally:
            if action.ends:
                self.happen(events.BoxRead(action.call, status))
