"""The watchdog of a series: at each tick it compares both sides' snapshots with time limits, by state.

A triggered series that has begun and only waits for triggers is never ended here: every limit starts with
another event (a side became silent, the end was requested, the end was sent). A series without a first
trigger has a time limit that can be set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from penstock.devices._series.machine import expected, silence, trigger_waits
from penstock.devices._series.machine.actions import ReadBox, StopReceiver, StopStreamer, Withdraw
from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.earlier_series import RESTARTED, left_over, look_back
from penstock.devices._series.machine.events import Tick
from penstock.devices._series.machine.facts import Facts, Lasting
from penstock.devices._series.machine.states import Change, SeriesState
from penstock.devices._series.machine.view import (
    account_sentence,
    beyond_counts,
    capital,
    remedied,
    sentence,
    warning_of,
)
from penstock.stins.texts import plural


def tick(draft: Draft, event: Tick) -> None:
    """Check the series in its present state; not while a client waits for its Arm."""
    if draft.view.state is SeriesState.OFFLINE or draft.facts.awaited:
        return
    look_back(draft)
    BY_STATE[draft.view.state](draft, event)
    if draft.facts.box_changed and draft.facts.reachable:
        draft.set(box_changed=False)
        draft.do(ReadBox(0, ends=False))


def ready(draft: Draft) -> None:
    """Change to TAKING: the hardware takes triggers."""
    settings, view = draft.facts.settings, draft.view
    if view.state is not SeriesState.ARMING or settings is None:
        return  # it has failed or was stopped meanwhile
    where = f"into {view.filename}" if view.filename else "for live view, without a file"
    frames = "frames until Stop" if view.unplanned else plural(view.planned, "frame")
    pushes = draft.facts.own_stream and not draft.facts.expects  # others are published to everybody
    more = f"; {UNCHECKED}" if pushes else ""
    draft.move(Change.READY, f"Taking {frames}, {settings.trigger_mode}, {where}{more}.")
    draft.catch_up()


UNCHECKED = "other consumers of the stream cannot be seen (unchecked)"
"""Note for a detector that streams by itself: the peers of its box are unknown."""

# By state


def _idle(draft: Draft, event: Tick) -> None:
    if not _streamer_lives(draft, event):
        return
    facts, status = draft.facts, draft.facts.streamer_status
    waits = silence.of_streamer(facts, draft.now) or _end_left_over(draft)
    absent = silence.of_absent_receiver(draft) or _in_error(facts)
    if not facts.own_stream:
        draft.warn(waits or warning_of(status), absent)
        return
    if facts.call is not None and not facts.call.over:
        return
    state = status.state if status is not None else ""
    message = status.message if status is not None else ""
    if draft.lasts(Lasting.BOX_IN_FAULT, state == "fault") > facts.limits.lasting:
        draft.fail(message)
    elif draft.lasts(Lasting.BOX_BUSY, state == "configuring") > facts.limits.lasting:
        draft.move(Change.CONFIGURE, sentence(message or "The detector is being configured"))
    else:
        draft.warn(waits or warning_of(status), absent)


def _end_left_over(draft: Draft) -> str:
    """End the series of an earlier process of this device; return a sentence about it, "" without one."""
    series = left_over(draft)
    if draft.lasts(Lasting.LEFT_OVER, series is not None) > draft.facts.limits.left_over:
        draft.lasts(Lasting.LEFT_OVER, False)
        draft.do(StopReceiver(RESTARTED))
    if series is None:
        return ""
    file = f" ({series.filename})" if series.filename else ""
    return f"The receiver ends the series of an earlier device server{file}."


def _configuring(draft: Draft, event: Tick) -> None:
    """Follow settings or Reset, by this device or by another client of the streamer."""
    if not _streamer_lives(draft, event):
        return
    call, status = draft.facts.call, draft.facts.streamer_status
    if call is not None and not call.awaited and call.over:
        draft.do(ReadBox(call.number))
    elif call is None and status is not None and status.state != "configuring":
        draft.do(ReadBox(0))  # another client of the box had set it


def _arming(draft: Draft, event: Tick) -> None:
    """Wait for hardware that needs longer than Arm may take."""
    if not (_streamer_lives(draft, event) and _receiver_lives(draft)):
        return
    facts, status = draft.facts, draft.facts.own_streamer_status
    if facts.own_stream:  # the answer of a box is a result, but its call may hang
        lost = status is not None and status.state == "fault"
        if draft.lasts(Lasting.BOX_IN_FAULT, lost) > facts.limits.lasting and status is not None:
            draft.fail(f"the detector could not be armed: {status.message}")
    elif status is not None and status.state == "fault":
        draft.fail(f"the detector could not be armed: {status.message}")
    elif status is not None and status.armed:
        ready(draft)
    elif facts.in_state(draft.now) > facts.limits.arming:
        draft.fail(f"the detector was not ready within {facts.limits.arming:g} s")


def _taking(draft: Draft, event: Tick) -> None:
    if not _streamer_lives(draft, event):
        return
    facts, status = draft.facts, draft.facts.own_streamer_status
    if facts.own_stream and not facts.ready:
        return  # Stop while the box was being armed: the next result of Arm ends the series
    if status is not None and status.state == "fault":
        draft.fail(f"the detector failed: {status.message}")
    elif status is not None and status.state == "idle":
        # Even if no receiver has taken the end message: it is then told over HTTP.
        draft.set(ended_alone=draft.view.state is SeriesState.TAKING)
        draft.move(Change.END_SENT, "The last frame has been sent; the receiver is closing the file.")
    elif facts.streamer_lost:
        draft.warn(silence.warning(facts, draft.now))  # its last snapshot may be out of date
    elif _receiver_lives(draft) and _both_agree(draft):
        _note_other_consumers(draft)
        draft.warn(_warning(draft))
        if draft.view.state is SeriesState.STOPPING:
            _stopping(draft)
        else:
            _running(draft, event)


def _warning(draft: Draft) -> str:
    """Return what a series is warned of that goes on; "" for nothing."""
    facts = draft.facts
    return (
        silence.warning(facts, draft.now)
        or silence.unconnected(facts)
        or facts.other_consumers
        or expected.warning(facts)
        or ("" if facts.own_stream else warning_of(facts.own_streamer_status))
        or _slow(draft)
    )


def _running(draft: Draft, event: Tick) -> None:
    draft.show_waiting(trigger_waits.progress(draft))
    facts = draft.facts
    all_in = facts.own_stream and draft.lasts(Lasting.EVERY_FRAME_IN, facts.every_frame_in)
    if all_in > facts.limits.rest:
        draft.do(StopStreamer("every frame has arrived", "after the last frame"))
    elif facts.receiver_silence is not None or silence.warning(facts, draft.now):
        return  # frames may have come that nobody could tell us of
    elif cause := trigger_waits.exceeded(draft, event):
        draft.stop(f"Stopping: {sentence(cause)}", aborted=False, cause=cause)


def _stopping(draft: Draft) -> None:
    facts, limits, status = draft.facts, draft.facts.limits, draft.facts.own_streamer_status
    exposure = facts.settings.exposure_time if facts.settings else 0.0
    if facts.own_stream:
        patience = limits.box + exposure
    elif facts.aborted:
        patience = limits.abort
    elif status is not None and status.state == "ending":
        # A slow receiver still has to take frames; the streamer gives up by itself.
        patience = limits.sending
    else:
        patience = limits.stop + exposure
    if draft.without_progress() <= patience:
        return
    if facts.aborted:
        draft.fail(f"the streamer has not ended the series within {patience:g} s of Abort")
    else:
        draft.log(logging.WARNING, f"no progress for {patience:g} s after Stop; aborting")
        draft.stop(ABORTING, aborted=True)


ABORTING = "Aborting: queued frames are dropped."


def _closing(draft: Draft, event: Tick) -> None:
    # A streamer that dies now has nothing more to send: the end message has been sent.
    if not _receiver_lives(draft):
        return
    facts, limits = draft.facts, draft.facts.limits
    if not facts.receiver_runs:
        if not facts.receiver_expects:
            _closed(draft)
        elif expected.is_over(draft, limits.end_lost):
            draft.do(Withdraw(draft.view.series))
        return
    waits = silence.warning(facts, draft.now)
    draft.warn(waits)
    if waits or facts.receiver_silence is not None:
        return  # it may be closing the file; the receiver itself reports an error
    quiet = draft.without_progress()
    if facts.expects and facts.announced_end and not facts.told_why:
        draft.set(told_why=True)
        draft.announce_end(facts.announced_end, failed=facts.aborted)  # it may have begun only since
    elif facts.own_stream and not facts.told_why and quiet > limits.explained and facts.ended_alone:
        why = expected.reason_of(facts)
        draft.set(told_why=True, stopped_by=why)
        draft.announce_end(why, failed=True)
    if not facts.told_to_stop and quiet > limits.end_lost:
        draft.log(logging.WARNING, "the receiver has not received the end message; telling it to stop")
        draft.set(told_to_stop=True)
        draft.do(StopReceiver("end message lost: the streamer sent it, but it did not arrive"))
    elif facts.told_to_stop and quiet > limits.closing:
        draft.fail(f"the receiver has not closed the file within {quiet:.0f} s of being told to")


def _closed(draft: Draft) -> None:
    facts, series = draft.facts, draft.facts.own_receiver_series
    if series is None and facts.withdrawn:
        _without_frames(draft)
    elif series is not None:
        view, by = draft.view, facts.stopped_by  # which is the receiver's reason too
        explained = series.reason and not series.complete
        why = beyond_counts(series.reason, view) if explained and not by else ""
        more = f" {facts.other_consumers}" if facts.other_consumers else ""
        account = f"{account_sentence(view, _where(view.filename))}{f' ({why})' if why else ''}"
        first = f"Ready. {capital(sentence(by))}" if by else "Ready."
        verdict = f"{capital(account)}: {sentence(by)}" if by else f"{capital(account)}."
        draft.end(Change.CLOSED, f"{first} Last series: {account}.{more}", f"{verdict}{more}")
    elif draft.lasts(Lasting.RECEIVER_OVER, True) > facts.limits.disagreement:
        draft.fail("the receiver was restarted before it had closed the file")


def _without_frames(draft: Draft) -> None:
    """Close a series that the receiver has expected in vain."""
    if why := expected.lost(draft.facts):
        draft.fail(why)
    else:
        verdict = expected.verdict(draft.facts)
        draft.end(Change.CLOSED, f"Ready. Last series: {verdict}", verdict)


def _failing(draft: Draft, event: Tick) -> None:
    """Wait for the other side to end, within limits, so that the counts are final."""
    facts, limits = draft.facts, draft.facts.limits
    # A receiver whose data process was killed still has to read the safe frames from the file.
    receiver_done = facts.receiver_silence is not None or (
        not facts.receiver_runs and not (facts.own_receiver_series and facts.view.counts.pending)
    )
    if facts.receiver_runs and not facts.told_to_stop and draft.without_progress() > limits.drained:
        # Frames that arrived before the failure have been taken; no more will arrive.
        draft.set(told_to_stop=True)
        draft.do(StopReceiver(facts.failure))
    status = facts.own_streamer_status
    streamer_done = (
        facts.streamer_lost or event.died is not None or status is None or status.state in ("idle", "fault")
    )
    if (receiver_done and streamer_done) or facts.in_state(draft.now) > limits.final_counts:
        draft.give_up_pending()
        view = draft.view
        where = f" File: {view.filename}." if view.filename and draft.facts.begun else ""
        counts = f"{account_sentence(view).capitalize()}, {view.acquired} acquired."
        if view.counts.pending:  # the receiver is gone, or needs longer
            counts += " What is pending the receiver has not counted in time: penstock check names it."
        verdict = f"{capital(sentence(facts.failure))} {counts}{where}"
        draft.end(Change.COUNTED, remedied(f"{sentence(facts.failure)} {counts}{where}"), verdict)


def _failed(draft: Draft, event: Tick) -> None:
    """Take over the account of a receiver that has ended the series only after the device gave it up."""
    facts, series, view = draft.facts, draft.facts.own_receiver_series, draft.view
    if not facts.ended_unseen or series is None or series.active:
        return
    account = account_sentence(view, _where(view.filename))
    verdict = f"{capital(sentence(facts.failure))} The receiver has ended the series since: {account}."
    draft.set(ended_unseen=False)
    draft.view_set(last_series=draft.last_series(verdict))
    draft.log(logging.INFO, verdict)
    draft.show()


BY_STATE: Mapping[SeriesState, Callable[[Draft, Tick], None]] = {
    SeriesState.IDLE: _idle,
    SeriesState.CONFIGURING: _configuring,
    SeriesState.ARMING: _arming,
    SeriesState.TAKING: _taking,
    SeriesState.STOPPING: _taking,
    SeriesState.CLOSING: _closing,
    SeriesState.FAILING: _failing,
    SeriesState.FAULT: _failed,
}

# Parts


def _streamer_lives(draft: Draft, event: Tick) -> bool:
    """Return whether the streamer lives; if not, fail the series."""
    died = event.died
    if died is None and silence.is_streamer_dead(draft.facts, draft.now):
        died = "the streamer no longer answers; it died or cannot be reached"
    if died is None:
        return True
    draft.fail(died, lost=True)
    return False


def _in_error(facts: Facts) -> str:
    """Return that the receiver takes no series before it is reset, in a sentence; "" if it is well."""
    status = facts.receiver_status
    if status is None or status.state != "error":
        return ""
    return f"the receiver is in error: {status.error}; RestartReceiver resets it"


def _receiver_lives(draft: Draft) -> bool:
    """Return whether the receiver lives and is well; if not, fail the series."""
    facts, cause = draft.facts, ""
    if silence.is_receiver_dead(draft) and facts.receiver_silence is not None:
        cause = facts.receiver_silence
    elif facts.receiver_silence is not None:
        return True
    elif _in_error(facts):
        cause = _in_error(facts)
    elif (series := facts.own_receiver_series) is not None and not series.taken:
        cause = f"the receiver has refused the series: {series.reason}"
    else:
        return True
    draft.fail(cause)
    return False


def _both_agree(draft: Draft) -> bool:
    """Return whether both sides have this series, or may not have reported it yet; if not, fail it."""
    facts, limits = draft.facts, draft.facts.limits
    other = facts.streamer_status is not None and facts.own_streamer_status is None
    if draft.lasts(Lasting.OTHER_SERIES, other) > limits.disagreement:
        draft.fail("the streamer was restarted and does not know the series")
        return False
    over = facts.receiver_status is not None and not (facts.receiver_runs or facts.receiver_expects)
    waits = silence.waits_for_another(facts)
    if draft.lasts(Lasting.RECEIVER_WAITS, bool(waits)) > limits.receiver_gone:
        draft.fail(waits)
        return False
    if draft.lasts(Lasting.RECEIVER_OVER, over and not waits) <= limits.disagreement:
        return True
    series = facts.own_receiver_series
    if series is not None and series.complete and facts.own_stream:
        return True  # every frame has arrived; the box has not reported its end yet
    draft.fail(_why_over(draft) if series is None else f"the receiver ended the series: {series.reason}")
    return False


def _why_over(draft: Draft) -> str:
    """Return why a series fails that the receiver does not know."""
    facts = draft.facts
    if facts.expects:
        return expected.forgotten(facts)
    if facts.own_stream and facts.receiver_takes:
        return (
            "another client has ended this series at the detector and armed it again: the receiver "
            "takes a series that is not of this device; the detector was aborted"
        )
    if facts.own_stream:
        return (
            "the receiver was restarted after the start message, which the detector sends once, and "
            "does not know the series; the detector was aborted"
        )
    return "the receiver was restarted and does not know the series"


def _slow(draft: Draft) -> str:
    """Return a warning that the receiver is slower than the camera; "" if it is not."""
    used = draft.facts.buffers_used
    if used < draft.facts.limits.buffers:
        return ""
    return (
        f"The receiver is slower than the detector: {used:.0%} of the streamer's buffers are used; "
        "when all are, the series ends with an overrun."
    )


def _note_other_consumers(draft: Draft) -> None:
    facts = draft.facts
    streamer, receiver = facts.own_streamer_status, facts.receiver_status
    if streamer is None or receiver is None or silence.waits_for_another(facts) or streamer.peers is None:
        return
    accounted = sum(item.connections for item in receiver.connections)
    if draft.lasts(Lasting.OTHER_CONSUMERS, streamer.peers > accounted) > facts.limits.disagreement:
        addresses = ", ".join(streamer.peer_addresses)
        draft.set(
            other_consumers=f"{plural(streamer.peers, 'consumer was', 'consumers were')} connected to the "
            f"streamer ({addresses}), the receiver accounts for {accounted}: missing frames went to another "
            "program; end the other consumer."
        )


def _where(filename: str) -> str:
    return f" in {filename}" if filename else ""
