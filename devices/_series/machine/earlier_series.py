"""A series that an earlier process of a device has armed, as its receiver has it: shown, or ended.

One that has ended is the LastSeries of a device that has taken none. A receiver takes the series of one
detector, whoever arms them; it does not know which device has.

One for which the receiver still waits is looked for once after each connection to a streamer. Either device
server and streamer were killed together, and both were back before the receiver missed them: the new streamer
does not know the series. Or its end message was lost, and no device was there to find out.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.last_series import PROCESS_END, last_series
from penstock.devices._series.machine.view import SeriesView, account_sentence, beyond_counts
from penstock.receiver.models import Counts, Series
from penstock.streamer.camera.driver import TOLD_TO_END

RESTARTED = "the device server was restarted during the series, and nothing more came"
"""Why such a series is ended."""


def left_over(draft: Draft) -> Series | None:
    """Return the series for which the receiver still waits; to be asked often while the device is idle.

    Either the streamer has ended it, or the receiver says itself that it lost the series' streamer, is
    connected to the next one, and has received nothing of the series from that one.
    """
    facts = draft.facts
    running = facts.receiver_status.series if facts.receiver_takes and facts.receiver_status else None
    if facts.found_idle_at is not None and facts.receiver_answered > facts.found_idle_at:
        draft.set(found_idle_at=None, left_over=running.id if running is not None else "")
    known = draft.facts.left_over
    if running is None or not known or running.id != known:
        return None
    streamer = facts.streamer_status
    if streamer is None or streamer.state != "idle":
        return None
    is_abandoned = running.id == streamer.series or (running.unconfirmed and bool(streamer.peers))
    return running if is_abandoned else None


def look_back(draft: Draft) -> None:
    """Take over the receiver's newest series, once after the start of a device, as soon as it has ended."""
    facts, status = draft.facts, draft.facts.receiver_status
    if facts.looked_back:
        return
    if facts.number or facts.view.last_series:
        draft.set(looked_back=True)
        return
    if status is None or facts.receiver_silence is not None:
        return
    series = status.series
    if series is not None and series.active:
        return
    draft.set(looked_back=True)
    if series is not None and series.taken:
        draft.remember(*summary(series, status.counts))


def summary(series: Series, counts: Counts) -> tuple[str, str]:
    """Return LastSeries, and the note for Status: "" if the series is complete.

    Args:
        series: the series, which has ended.
        counts: its counts.
    """
    view = SeriesView(
        series=series.id, filename=series.filename or "", planned=counts.planned or 0,
        unplanned=counts.planned is None, counts=counts,
    )  # fmt: skip
    account = account_sentence(view, f" in {view.filename}" if view.filename else "")
    why = "" if series.complete else beyond_counts(series.reason, view)
    if any(words in why for words in (TOLD_TO_END, RESTARTED, PROCESS_END)):
        why = f"ended by {PROCESS_END}"
    verdict = f"{account}: {why}." if why else f"{account}."
    note = "" if series.complete else f"Last series of the receiver: {verdict}"
    return last_series(view, series, verdict, series.started, series.ended), note
