"""The machine of one detector's series: facts and an event make new facts, and actions.

It calls nobody, waits for nothing and knows no time but that of the event: what happens is a row of `ROWS`,
by state and kind of event; what follows from time alone is a row of the `watchdog`'s table; and the order of
Arm is a table of steps (`procedures`), of which each result has its rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.devices._series.machine import events
from penstock.devices._series.machine.actions import Action, Answer, RunStep, Undo
from penstock.devices._series.machine.draft import Draft, Moment
from penstock.devices._series.machine.facts import BoxCall, Facts
from penstock.devices._series.machine.procedures import Procedure, procedure
from penstock.devices._series.machine.states import ACTIVE, Change, SeriesState
from penstock.devices._series.machine.view import remedied, sentence, warning_of
from penstock.devices._series.machine.watchdog import ABORTING, ready, tick
from penstock.devices._series.refusals import ArmRefused
from penstock.receiver.models import Counts, SeriesCheckResult, Status
from penstock.service.models import NoAnswer, Unavailable
from penstock.stins.table import IllegalEvent
from penstock.streamer.camera.driver import Prepared

Rule = Callable[[Draft, Any], None]
RESET = "Reset"
"""What a call does that resets the box."""


def handle(facts: Facts, event: events.Event, now: Moment) -> tuple[Facts, tuple[Action, ...]]:
    """Return the facts after an event, and what has to be done, in this order.

    Raises:
        IllegalEvent: the event has no row in this state; nothing has changed.
    """
    rule = ROWS.get((facts.view.state, type(event)))
    if rule is None:
        raise IllegalEvent(f"{type(event).__name__} while {facts.view.state.value}")
    draft = Draft(facts, now)
    rule(draft, event)
    return draft.facts, tuple(draft.actions)


# Both sides


def _streamer_told(draft: Draft, event: events.StreamerTold) -> None:
    if (status := event.status) is None:
        draft.set(streamer_lost=True, view=draft.view.without_streamer())
    else:
        draft.set(
            streamer_lost=False, streamer_status=status, streamer_answered=draft.now,
            view=draft.view.with_streamer(status),
        )  # fmt: skip


def _receiver_told(draft: Draft, event: events.ReceiverTold) -> None:
    status = event.status
    if isinstance(status, NoAnswer):
        refuses = isinstance(status, Unavailable) and status.refused
        draft.set(receiver_silence=str(status), receiver_refuses=refuses, view=draft.view.without_receiver())
    else:
        draft.set(
            receiver_silence=None, receiver_refuses=False, receiver_answered=draft.now,
            receiver_status=status, view=draft.view.with_receiver(status),
        )  # fmt: skip


def _withdrawn(draft: Draft, event: events.Withdrawn) -> None:
    _receiver_told(draft, events.ReceiverTold(event.status))
    draft.set(withdrawn=True)


def _format_found(draft: Draft, event: events.FormatFound) -> None:
    if draft.view.state in ACTIVE:
        return  # Arm came first: the frames of the series are shown
    draft.view_set(frame_bytes=event.frame_bytes, frame_shape=event.shape, frame_type=event.dtype)


def _connecting(draft: Draft, event: events.Connecting) -> None:
    draft.set(connected=False)


def _not_connected(draft: Draft, event: events.NotConnected) -> None:
    draft.move(Change.FAIL, f"{sentence(event.error)} Then call Reset, or Init if a property was changed.")


def _connected(draft: Draft, event: events.Connected) -> None:
    description, status = event.description, event.status
    draft.set(
        connected=True, own_stream=description.own_stream, streamer_lost=False, streamer_status=None,
        call=None, found_idle_at=draft.now, left_over="",
    )  # fmt: skip
    draft.view_set(series="", filename="", dataset="", index_source=description.index_source.value)
    if not description.own_stream or status.state == "idle":
        draft.move(Change.CONNECTED, "Ready.")
    elif status.state == "fault":
        draft.move(Change.FAIL, remedied(status.message))
    else:
        draft.move(Change.CONFIGURE, sentence(status.message or "The detector is being reached"))


def _remember(draft: Draft, event: events.Remember) -> None:
    draft.remember(event.last_series, event.note)


# Arm


def _arm(draft: Draft, event: events.Arm) -> None:
    facts, planned = draft.facts, event.settings.planned
    draft.set(
        settings=event.settings, armed_by=event.armed_by, number=facts.number + 1, awaited=True,
        ready=False, failure="", aborted=False, told_to_stop=False, other_consumers="", stopped_by="",
        ended_alone=False, told_why=False, expects=False, withdrawn=False, announced_end="",
        before=facts.view, refusal=None,
    )  # fmt: skip
    draft.view_set(
        note="", series="", filename="", dataset="", planned=planned or 0, acquired=0,
        unplanned=planned is None, ready_for_trigger=False, triggered=0, latest_frame=None,
        counts=Counts(planned=planned, pending=planned or 0),
    )  # fmt: skip
    draft.move(Change.ARM, "Arming: checks, start message, hardware.")
    draft.do(RunStep(draft.facts.number, _procedure(draft).steps[0]))


def _procedure(draft: Draft) -> Procedure:
    return procedure(own_stream=draft.facts.own_stream, expects=draft.facts.expects)


def _caller_gone(draft: Draft, event: events.CallerGone) -> None:
    draft.set(awaited=False)


def _step_done(draft: Draft, event: events.StepDone) -> None:
    """Go on with the next step; after the last one, triggers are taken."""
    number, learned = event.number, event.learned
    if number != draft.facts.number or draft.view.state is not SeriesState.ARMING:
        _undo(draft, number, "")
        return
    if isinstance(learned, tuple):
        _name(draft, *learned)
    elif isinstance(learned, Status):
        _receiver_told(draft, events.ReceiverTold(learned))
    following = _procedure(draft).after(event.step)
    if following is not None:
        draft.do(RunStep(number, following))
        return
    if learned is not False:  # or the hardware needs longer
        ready(draft)
    _over(draft, number)


def _name(draft: Draft, prepared: Prepared, found: SeriesCheckResult) -> None:
    """Set the id of the series; from now on snapshots with this id are used."""
    draft.set(named_at=draft.utc, expects=prepared.expected is not None)
    draft.view_set(
        series=prepared.series, filename=found.filename or "", dataset=found.dataset,
        frame_bytes=prepared.frame_bytes, frame_shape=tuple(found.shape) or prepared.shape,
        frame_type=found.dtype or prepared.dtype, armed_by=draft.facts.armed_by,
        index_source=prepared.index_source.value,
    )  # fmt: skip


def _step_failed(draft: Draft, event: events.StepFailed) -> None:
    """Refuse Arm while its client waits; later it is a failure. A box may need long to be undone, so that the
    client is answered before; otherwise the answer may be that the streamer has died."""
    number, error, facts = event.number, event.error, draft.facts
    is_arming = number == facts.number and draft.view.state is SeriesState.ARMING
    if is_arming and facts.own_stream and not facts.awaited:
        draft.fail(f"the detector could not be armed: {error}")
        _over(draft, number)
    elif is_arming and facts.own_stream:
        draft.set(refusal=error)
        draft.do(Answer(number, over=False))
        _undo(draft, number, str(error))
    else:
        _undo(draft, number, str(error), None if facts.own_stream else error)


def _undo(draft: Draft, number: int, cause: str, refusal: Exception | None = None) -> None:
    if number == draft.facts.number and draft.view.state in UNDONE:
        draft.do(Undo(number, cause, _procedure(draft).undo, refusal))
    else:  # the failure was handled already, or the series is over
        _over(draft, number, refusal)


def _undone(draft: Draft, event: events.Undone) -> None:
    """Show that the series is none; if something could not be undone, the state is FAULT."""
    number, cause, refusal = event.number, event.cause, event.refusal
    state = draft.view.state if number == draft.facts.number else None
    if state in UNDONE and event.left is not None:
        if draft.facts.own_stream:
            draft.fail(_with_cause(event.left, cause))
        else:
            draft.fail(event.left, lost=True)
        if event.died:
            refusal = ArmRefused("streamer_died", remedied(event.left))
    elif state is SeriesState.STOPPING:
        word = "Abort" if draft.facts.aborted else "Stop"
        verdict = f"The last Arm was ended by {word} before the detector took triggers."
        draft.end(Change.REFUSED, f"Ready. {verdict}", verdict)
    elif state is SeriesState.ARMING:
        draft.end(
            Change.REFUSED, f"Ready. The last Arm was refused: {cause}", f"Arm was refused: {sentence(cause)}"
        )
    _over(draft, number, refusal)


def _with_cause(left: str, cause: str) -> str:
    if left in cause:
        return cause
    return f"{cause}; {left}" if cause else left


def _over(draft: Draft, number: int, refusal: Exception | None = None) -> None:
    """End Arm."""
    if refusal is not None and number == draft.facts.number:
        draft.set(refusal=refusal)
    draft.do(Answer(number))


def _arm_over(draft: Draft, event: events.ArmOver) -> None:
    """Read the values of a box again: it may have changed them when it was configured."""
    draft.set(box_changed=draft.facts.box_changed or draft.facts.own_stream)


# Other commands


def _trigger(draft: Draft, event: events.Trigger) -> None:
    before = draft.view.triggered
    draft.view_set(ready_for_trigger=False, triggered=before + event.frames if before else 1)


def _trigger_refused(draft: Draft, event: events.TriggerRefused) -> None:
    draft.view_set(triggered=event.triggered)
    draft.catch_up()


def _stop(draft: Draft, event: events.Stop) -> None:
    text = sentence(event.cause or "the running frame is finished")
    draft.stop(f"Stopping: {text}", aborted=False, cause=event.cause)


def _abort(draft: Draft, event: events.Abort) -> None:
    draft.stop(ABORTING, aborted=True, cause=event.by)


def _process_ends(draft: Draft, event: events.ProcessEnds) -> None:
    if draft.facts.own_stream and draft.facts.ready:
        draft.announce_end(f"ended by {event.by}", failed=True)


def _streamer_reset(draft: Draft, event: events.StreamerReset) -> None:
    draft.move(Change.RESET, "Ready.")


def _reconnect(draft: Draft, event: events.Reconnect) -> None:
    draft.move(Change.RECONNECT, event.sentence)


# The box: settings and Reset


def _set_box(draft: Draft, event: events.SetBox) -> None:
    _call(draft, event.names)


def _reset_box(draft: Draft, event: events.ResetBox) -> None:
    draft.move(Change.CONFIGURE, "The detector is being reset.")
    _call(draft, RESET)


def _call(draft: Draft, what: str) -> None:
    number = draft.facts.calls + 1
    draft.set(calls=number, call=BoxCall(number, what))


def _call_long(draft: Draft, event: events.CallLong) -> None:
    call = _call_of(draft, event.number)
    if call is not None:
        draft.set(call=replace(call, awaited=False))
        if draft.view.state is SeriesState.IDLE:
            draft.move(Change.CONFIGURE, f"{call.what} is being set in the detector.")


def _call_over(draft: Draft, event: events.CallOver) -> None:
    call = _call_of(draft, event.number)
    if call is not None:
        draft.set(call=replace(call, over=True, error=event.error))


def _call_of(draft: Draft, number: int) -> BoxCall | None:
    """Return this call; `None` if another streamer has been reached since."""
    call = draft.facts.call
    return call if call is not None and call.number == number else None


def _box_read(draft: Draft, event: events.BoxRead) -> None:
    """Leave CONFIGURING, unless the box is still busy."""
    call, status = _call_of(draft, event.number), event.status
    draft.set(call=None)
    if status is None or status.state == "configuring":
        return
    is_reset, refused = call is not None and call.what == RESET, ""
    if call is not None and call.error:
        refused = sentence(f"{call.what} {'failed' if is_reset else 'was not set'}: {call.error}")
    if draft.view.state is SeriesState.IDLE:
        draft.warn(warning_of(status))
    if draft.view.state is not SeriesState.CONFIGURING:
        return
    if status.state == "fault" or (refused and is_reset):
        draft.move(Change.FAIL, remedied(status.message or refused))
    else:
        draft.move(Change.CONFIGURED, f"Ready. {refused}".strip())
        draft.warn(warning_of(status))


# The table

UNDONE = (SeriesState.ARMING, SeriesState.STOPPING)
"""States in which an Arm that ends early is undone; in others its failure was handled already."""
EVERY = tuple(SeriesState)


def _rows(
    *rows: tuple[type[events.Event], Iterable[SeriesState], Rule],
) -> Iterator[tuple[tuple[SeriesState, type[events.Event]], Rule]]:
    for kind, states, rule in rows:
        for state in states:
            yield (state, kind), rule


_S = SeriesState

ROWS: Mapping[tuple[SeriesState, type[events.Event]], Rule] = dict(_rows(
    (events.StreamerTold, EVERY, _streamer_told),
    (events.ReceiverTold, EVERY, _receiver_told),
    (events.Withdrawn, EVERY, _withdrawn),
    (events.FormatFound, EVERY, _format_found),
    (events.Remember, EVERY, _remember),
    (events.Tick, EVERY, tick),
    (events.Connecting, [_S.OFFLINE], _connecting),
    (events.Connected, [_S.OFFLINE], _connected),
    (events.NotConnected, [_S.OFFLINE], _not_connected),
    (events.Arm, [_S.IDLE], _arm),
    (events.CallerGone, EVERY, _caller_gone),
    (events.StepDone, EVERY, _step_done),
    (events.StepFailed, EVERY, _step_failed),
    (events.Undone, EVERY, _undone),
    (events.ArmOver, EVERY, _arm_over),
    (events.Trigger, [_S.TAKING], _trigger),
    (events.TriggerRefused, EVERY, _trigger_refused),
    (events.Stop, [_S.ARMING, _S.TAKING], _stop),
    (events.Abort, [_S.ARMING, _S.TAKING, _S.STOPPING], _abort),
    (events.ProcessEnds, [_S.TAKING, _S.STOPPING], _process_ends),
    (events.StreamerReset, [_S.FAULT], _streamer_reset),
    (events.Reconnect, [_S.FAULT], _reconnect),
    (events.SetBox, [_S.IDLE], _set_box),
    (events.ResetBox, [_S.FAULT], _reset_box),
    (events.CallLong, EVERY, _call_long),
    (events.CallOver, EVERY, _call_over),
    (events.BoxRead, EVERY, _box_read),
))  # fmt: skip
"""What happens to an event, by state; an event without a row is illegal."""
