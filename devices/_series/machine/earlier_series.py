"""The receiver's newest series as LastSeries of a device that has taken none: an earlier process has.

A receiver takes the series of one detector, whoever arms them; it does not know which device has.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.last_series import PROCESS_END, last_series
from penstock.devices._series.machine.left_over import RESTARTED
from penstock.devices._series.machine.view import SeriesView, account_sentence, beyond_counts
from penstock.receiver.models import Counts, Series
from penstock.streamer.camera.driver import TOLD_TO_END


def look_back(draft: Draft) -> None:
    """Take it over, once after the start of a device, as soon as the receiver has ended it."""
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
