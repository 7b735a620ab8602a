"""The watchdog of a series: it compares both sides' snapshots with time limits, and triggers actions.

A triggered series that has begun and only waits for triggers is never ended here: every limit starts with
another event (a side became silent, the end was requested, the end was sent). A series without a first
trigger has a time limit that can be set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.states import Event, SeriesState
from penstock.devices._series.machine.view import account_sentence, beyond_counts
from penstock.stins.texts import plural
from penstock.streamer.remote.client import StreamerStatus
from tests.devices._series.former import expected
from tests.devices._series.former.expected import reason_of
from tests.devices._series.former.left_over import RESTARTED, LeftOver
from tests.devices._series.former.record import SeriesRecord
from tests.devices._series.former.silence import Silence
from tests.devices._series.former.trigger_waits import TriggerWaits

log = logging.getLogger(__name__)


class Actions(Protocol):
    """The actions that the watchdog calls."""

    def ready(self) -> None:
        """Change to TAKING: the hardware takes triggers."""

    def stop(self, cause: str) -> None:
        """Stop the series, for this reason."""

    def abort(self) -> None:
        """Abort the series."""

    def finish(self) -> None:
        """Disarm the detector's own box: every frame has been received."""

    def is_configuring(self) -> bool:
        """Return whether a call that sets or resets the detector's own box is running."""

    def finish_configuring(self) -> None:
        """Leave CONFIGURING if the box is no longer busy with settings or Reset."""

    def fail(self, cause: str, *, lost: bool = False) -> None:
        """Fail the series; `lost`: the streamer is lost."""

    def explain(self, why: str) -> None:
        """Tell the receiver why the box has ended the series by itself; "" if frames were lost."""

    def repeat_end(self) -> None:
        """Tell the receiver again that Stop or Abort ends the series: it may have begun only since."""

    def withdraw(self) -> None:
        """Tell the receiver not to expect the series any more."""

    def stop_receiver(self, reason: str) -> None:
        """Have the receiver end the series, with this reason in the file."""


class SeriesWatchdog:
    """The watchdog of one device's series.

    Args:
        record: record of the series.
        died: returns how the streamer's process ended, `None` while it lives.
        actions: actions that the watchdog may call.
        limits: time limits.
        remote: True if the streamer may be on another host, so that only the network may be interrupted.
        waits: for how long a series waits for triggers.
    """

    def __init__(
        self, record: SeriesRecord, died: Callable[[], str | None], actions: Actions, limits: WatchdogLimits,
        waits: TriggerWaits, *, remote: bool = False,
    ) -> None:  # fmt: skip
        self._record = record
        self._died = died
        self._do = actions
        self._limits = limits
        self._silence = Silence(record, limits, remote=remote)
        self._waits = waits
        self.left_over = LeftOver(record)
        self._checks: dict[SeriesState, Callable[[], None]] = {
            SeriesState.IDLE: self._idle,
            SeriesState.CONFIGURING: self._configuring,
            SeriesState.ARMING: self._arming,
            SeriesState.TAKING: self._taking,
            SeriesState.STOPPING: self._taking,
            SeriesState.CLOSING: self._closing,
            SeriesState.FAILING: self._failing,
            SeriesState.FAULT: self._failed,
        }

    def check(self) -> None:
        """Check the series in its present state."""
        check_state = self._checks.get(self._record.view.state)
        if check_state is not None:
            check_state()

    # By state ---------------------------------------------------------------------------------

    def _idle(self) -> None:
        record = self._record
        if not self._streamer_lives():
            return
        waits = self._silence.of_streamer() or self._end_left_over()
        absent = self._silence.of_absent_receiver()
        if not record.own_stream:
            record.warn(waits or warning_of(record.streamer_status), absent)
            return
        if self._do.is_configuring():
            return
        status = record.streamer_status
        state = status.state if status is not None else ""
        message = status.message if status is not None else ""
        if record.lasts("box in fault", state == "fault") > self._limits.lasting:
            self._do.fail(message)
        elif record.lasts("box busy", state == "configuring") > self._limits.lasting:
            record.move(Event.CONFIGURE, sentence(message or "The detector is being configured"))
        else:
            record.warn(waits or warning_of(status), absent)

    def _end_left_over(self) -> str:
        """End the series of an earlier process of this device; return a sentence about it, "" without one."""
        record, series = self._record, self.left_over.found()
        if record.lasts("left over", series is not None) > self._limits.left_over:
            record.lasts("left over", False)
            self._do.stop_receiver(RESTARTED)
        if series is None:
            return ""
        file = f" ({series.filename})" if series.filename else ""
        return f"The receiver ends the series of an earlier device server{file}."

    def _configuring(self) -> None:
        """Follow settings or Reset, by this device or by another client of the streamer."""
        if self._streamer_lives():
            self._do.finish_configuring()

    def _arming(self) -> None:
        """Wait for hardware that needs longer than Arm may take."""
        if not (self._streamer_lives() and self._receiver_lives()):
            return
        if self._record.own_stream:
            self._arming_box()
            return
        status = self._record.own_streamer_status
        if status is not None and status.state == "fault":
            self._do.fail(f"the detector could not be armed: {status.message}")
        elif status is not None and status.armed:
            self._do.ready()
        elif self._record.in_state() > self._limits.arming:
            self._do.fail(f"the detector was not ready within {self._limits.arming:g} s")

    def _arming_box(self) -> None:
        """Detect a box in fault: `arm_box` receives its answer to Arm, but that call may hang."""
        status = self._record.own_streamer_status
        lost = status is not None and status.state == "fault"
        if self._record.lasts("box in fault", lost) > self._limits.lasting and status is not None:
            self._do.fail(f"the detector could not be armed: {status.message}")

    def _taking(self) -> None:
        if not self._streamer_lives():
            return
        if self._record.own_stream and not self._record.ready:
            return  # Stop while the box was being armed: `arm_box` ends the series
        status = self._record.own_streamer_status
        if status is not None and status.state == "fault":
            self._do.fail(f"the detector failed: {status.message}")
        elif status is not None and status.state == "idle":
            # Even if no receiver has taken the end message: it is then told over HTTP.
            self._record.ended_alone = self._record.view.state is SeriesState.TAKING
            self._record.move(
                Event.END_SENT, "The last frame has been sent; the receiver is closing the file."
            )
        elif self._record.streamer_lost:
            self._record.warn(self._silence.warning())  # its last snapshot may be out of date
        elif self._receiver_lives() and self._both_agree():
            self._check_consumers()
            self._record.warn(
                self._silence.warning()
                or self._silence.unconnected()
                or self._record.other_consumers
                or expected.warning(self._record)
                or ("" if self._record.own_stream else warning_of(status))
                or self._slow()
            )
            if self._record.view.state is SeriesState.STOPPING:
                self._stopping()
            else:
                self._running()

    def _running(self) -> None:
        record = self._record
        record.show_waiting(self._waits.progress())
        if record.own_stream and record.lasts("every frame in", record.every_frame_in) > self._limits.rest:
            self._do.finish()
        elif record.receiver_silence is not None or self._silence.warning():
            return  # frames may have come that nobody could tell us of
        elif cause := self._waits.exceeded():
            self._do.stop(cause)

    def _stopping(self) -> None:
        record, limits = self._record, self._limits
        status = record.own_streamer_status
        if record.own_stream:
            patience = limits.box + (record.settings.exposure_time if record.settings else 0.0)
        elif record.aborted:
            patience = limits.abort
        elif status is not None and status.state == "ending":
            # A slow receiver still has to take frames; the streamer gives up by itself.
            patience = limits.sending
        else:
            patience = limits.stop + (record.settings.exposure_time if record.settings else 0.0)
        if record.without_progress() <= patience:
            return
        if record.aborted:
            self._do.fail(f"the streamer has not ended the series within {patience:g} s of Abort")
        else:
            log.warning("no progress for %g s after Stop; aborting", patience)
            self._do.abort()

    def _closing(self) -> None:
        # A streamer that dies now has nothing more to send: the end message has been sent.
        if not self._receiver_lives():
            return
        record = self._record
        if not record.receiver_runs:
            if not record.receiver_expects:
                self._closed()
            elif expected.is_over(record, self._limits.end_lost):
                self._do.withdraw()
            return
        waits = self._silence.warning()
        record.warn(waits)
        if waits or record.receiver_silence is not None:
            return  # it may be closing the file; the receiver itself reports an error
        quiet = record.without_progress()
        if record.expects and record.announced_end and not record.told_why:
            record.told_why = True
            self._do.repeat_end()
        if (
            record.own_stream
            and not record.told_why
            and quiet > self._limits.explained
            and record.ended_alone
        ):
            record.told_why = True
            self._do.explain(reason_of(record))
        if not record.told_to_stop and quiet > self._limits.end_lost:
            log.warning("the receiver has not received the end message; telling it to stop")
            record.told_to_stop = True
            self._do.stop_receiver("end message lost: the streamer sent it, but it did not arrive")
        elif record.told_to_stop and quiet > self._limits.closing:
            self._do.fail(f"the receiver has not closed the file within {quiet:.0f} s of being told to")

    def _without_frames(self) -> None:
        """Close a series that the receiver has expected in vain."""
        if why := expected.lost(self._record):
            self._do.fail(why)
        else:
            verdict = expected.verdict(self._record)
            self._record.end(Event.CLOSED, f"Ready. Last series: {verdict}", verdict)

    def _closed(self) -> None:
        record, series = self._record, self._record.own_receiver_series
        if series is None and record.withdrawn:
            self._without_frames()
        elif series is not None:
            view = record.view
            where = f" in {view.filename}" if view.filename else ""
            explained = series.reason and not series.complete
            by = record.stopped_by  # which is the receiver's reason too
            why = beyond_counts(series.reason, view) if explained and not by else ""
            more = f" {record.other_consumers}" if record.other_consumers else ""
            account = f"{account_sentence(view, where)}{f' ({why})' if why else ''}"
            first = f"Ready. {_capital(sentence(by))}" if by else "Ready."
            verdict = f"{_capital(account)}: {sentence(by)}" if by else f"{_capital(account)}."
            record.end(Event.CLOSED, f"{first} Last series: {account}.{more}", f"{verdict}{more}")
        elif record.lasts("receiver over", True) > self._limits.disagreement:
            self._do.fail("the receiver was restarted before it had closed the file")

    def _failing(self) -> None:
        """Wait for the other side to end, within limits, so that the counts are final."""
        record, limits = self._record, self._limits
        # A receiver whose data process was killed still has to read the safe frames from the file.
        receiver_done = record.receiver_silence is not None or (
            not record.receiver_runs and not (record.own_receiver_series and record.view.counts.pending)
        )
        if record.receiver_runs and not record.told_to_stop and record.without_progress() > limits.drained:
            # Frames that arrived before the failure have been taken; no more will arrive.
            record.told_to_stop = True
            self._do.stop_receiver(record.failure)
        status = record.own_streamer_status
        streamer_done = (
            record.streamer_lost
            or self._died() is not None
            or status is None
            or status.state in ("idle", "fault")
        )
        if (receiver_done and streamer_done) or record.in_state() > limits.final_counts:
            record.give_up_pending()
            view = record.view
            where = f" File: {view.filename}." if view.filename and record.begun else ""
            counts = f"{account_sentence(view).capitalize()}, {view.acquired} acquired."
            verdict = f"{_capital(sentence(record.failure))} {counts}{where}"
            record.end(Event.COUNTED, remedied(f"{sentence(record.failure)} {counts}{where}"), verdict)

    def _failed(self) -> None:
        """Take over the account of a receiver that has ended the series only after the device gave it up."""
        record = self._record
        series = record.own_receiver_series
        if record.ended_unseen and series is not None and not series.active:
            where = f" in {record.view.filename}" if record.view.filename else ""
            account = account_sentence(record.view, where)
            record.amend(
                f"{_capital(sentence(record.failure))} The receiver has ended the series since: {account}."
            )

    # Parts ------------------------------------------------------------------------------------

    def _streamer_lives(self) -> bool:
        """Return whether the streamer lives; if not, fail the series."""
        died = self._died()
        if died is None and self._silence.is_streamer_dead():
            died = "the streamer no longer answers; it died or cannot be reached"
        if died is None:
            return True
        self._do.fail(died, lost=True)
        return False

    def _receiver_lives(self) -> bool:
        """Return whether the receiver lives and is well; if not, fail the series."""
        record = self._record
        if self._silence.is_receiver_dead() and record.receiver_silence is not None:
            self._do.fail(record.receiver_silence)
            return False
        if record.receiver_silence is not None:
            return True
        status = record.receiver_status
        if status is not None and status.state == "error":
            self._do.fail(f"the receiver is in error: {status.error}; RestartReceiver resets it")
            return False
        if (series := record.own_receiver_series) is not None and not series.taken:
            self._do.fail(f"the receiver has refused the series: {series.reason}")
            return False
        return True

    def _slow(self) -> str:
        """Return a warning that the receiver is slower than the camera; "" if it is not."""
        used = self._record.buffers_used
        if used < self._limits.buffers:
            return ""
        return (
            f"The receiver is slower than the detector: {used:.0%} of the streamer's buffers are used; "
            "when all are, the series ends with an overrun."
        )

    def _check_consumers(self) -> None:
        record = self._record
        streamer, receiver = record.own_streamer_status, record.receiver_status
        if streamer is None or receiver is None or self._silence.waits_for_another():
            return
        accounted = sum(item.connections for item in receiver.connections)
        if streamer.peers is None:
            return
        if record.lasts("other consumers", streamer.peers > accounted) > self._limits.disagreement:
            addresses = ", ".join(streamer.peer_addresses)
            record.other_consumers = (
                f"{plural(streamer.peers, 'consumer was', 'consumers were')} connected to the streamer "
                f"({addresses}), the receiver accounts for {accounted}: missing frames went to another "
                "program; end the other consumer."
            )

    def _both_agree(self) -> bool:
        """Return whether both sides have this series, or may not have reported it yet; if not, fail it."""
        record, limit = self._record, self._limits.disagreement
        other = record.streamer_status is not None and record.own_streamer_status is None
        if record.lasts("other series", other) > limit:
            self._do.fail("the streamer was restarted and does not know the series")
            return False
        over = record.receiver_status is not None and not (record.receiver_runs or record.receiver_expects)
        waits = self._silence.waits_for_another()
        if record.lasts("receiver waits", bool(waits)) > self._limits.receiver_gone:
            self._do.fail(waits)
            return False
        if record.lasts("receiver over", over and not waits) > limit:
            series = record.own_receiver_series
            if series is None and record.expects:
                self._do.fail(expected.forgotten(record))
            elif series is None and record.own_stream and record.receiver_takes:
                self._do.fail(
                    "another client has ended this series at the detector and armed it again: the receiver "
                    "takes a series that is not of this device; the detector was aborted"
                )
            elif series is None and record.own_stream:
                self._do.fail(
                    "the receiver was restarted after the start message, which the detector sends once, and "
                    "does not know the series; the detector was aborted"
                )
            elif series is None:
                self._do.fail("the receiver was restarted and does not know the series")
            elif series.complete and record.own_stream:
                return True  # every frame has arrived; the box has not reported its end yet
            else:
                self._do.fail(f"the receiver ended the series: {series.reason}")
            return False
        return True


def warning_of(status: StreamerStatus | None) -> str:
    """Return what the streamer warns of, as a sentence; "" for nothing."""
    return sentence(status.warning) if status is not None and status.warning else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def remedied(text: str) -> str:
    """Return the text with the remedy for FAULT, unless it mentions Reset itself."""
    text = sentence(text)
    return text if "Reset" in text else f"{text} Call Reset."


def sentence(text: str) -> str:
    """Return the text with a full stop."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."
