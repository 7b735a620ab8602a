"""The end of a series as one JSON object: the Tango attribute LastSeries."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

from penstock.devices._base.series_view import SeriesView, lossless
from penstock.devices._base.tango_text import tango_json
from penstock.receiver.models import Counts, Series

NOT_TRIGGERED = "not_triggered"


def last_series(view: SeriesView, series: Series | None, verdict: str, started: float) -> str:
    """Return the JSON object of a series that has just ended.

    Args:
        view: view of the series, with its final counts.
        series: the series as the receiver shows it; `None` if it does not know it, or no longer does.
        verdict: how it ended, one sentence.
        started: seconds since 1970 (UTC) at which it was armed; the receiver's time takes precedence.
    """
    counts, lost = view.counts, list(series.lost) if series is not None else []
    complete = series is not None and series.complete is True
    if view.endless:
        # The planned number is only a limit: the frames that arrived are all there were.
        counts = _without_plan(counts)
        lost = [entry for entry in lost if entry[2] != NOT_TRIGGERED]
        complete = series is not None and lossless(counts)
    filename = view.filename if series is None or series.taken else ""
    return tango_json(
        {
            "series": view.series,
            "file": filename,
            "complete": complete,
            "verdict": verdict,
            "planned": counts.planned if view.endless else view.planned_now,
            "counts": asdict(counts),
            "lost": lost,
            "started": (series.started if series is not None else 0.0) or started,
            "ended": (series.ended if series is not None else 0.0) or time.time(),
            "armed_by": view.armed_by,
        }
    )


def _without_plan(counts: Counts) -> Counts:
    """Return the account with only the frames that were due, so that it still adds up to the planned ones."""
    due = counts.not_triggered + counts.pending
    return replace(counts, planned=(counts.planned or 0) - due, not_triggered=0, pending=0)
