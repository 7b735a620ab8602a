"""The end of a series as one JSON object: the Tango attribute LastSeries."""

from __future__ import annotations

import json
from dataclasses import asdict

import msgspec

from penstock.devices._series.machine.view import SeriesView
from penstock.receiver.models import Series

PROCESS_END = "the end of the device server"
"""What ends a series where the whole process ends."""


def last_series(view: SeriesView, series: Series | None, verdict: str, started: float, ended: float) -> str:
    """Return the JSON object of a series that has just ended.

    Args:
        view: view of the series, with its final counts.
        series: the series as the receiver shows it; `None` if it does not know it, or no longer does.
        verdict: how it ended, one sentence.
        started: seconds since 1970 (UTC) at which it was armed; the receiver's time takes precedence.
        ended: the same of its end.
    """
    filename = view.filename if series is None or series.taken else ""
    found = {
        "series": view.series,
        "file": filename,
        "complete": series is not None and series.complete is True,
        "verdict": verdict,
        "planned": view.planned_now,
        "counts": asdict(view.counts),
        "lost": list(series.lost) if series is not None else [],
        "started": (series.started if series is not None else 0.0) or started,
        "ended": (series.ended if series is not None else 0.0) or ended,
        "armed_by": view.armed_by,
    }
    return json.dumps(msgspec.to_builtins(found))
