"""The values of regions of interest over HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np

from penstock.receiver.models import RoiSeries, RoiValues
from penstock.receiver.process.supervisor.supervisor import Supervisor
from penstock.receiver.regions.memory import Progress
from penstock.receiver.regions.pixels import VALUES
from penstock.service.models import Refused
from penstock.stins.texts import plural

SERIES_SECONDS = 0.5
"""Longest wait for a named series that has not begun: its start message is under way, or lost."""
LOOK_SECONDS = 0.01
"""Seconds between two looks into the memory shared with the data process."""


async def values(
    supervisor: Supervisor, first: int, count: int, series: str | None, wait: float
) -> RoiValues:
    """Return the values of `count` frames from index `first` on, as far as available.

    Args:
        supervisor: supervisor of the receiver.
        first: index of the first frame; wait until it is available, or the series has ended.
        count: maximum number of frames.
        series: id of the series; by default the running one, or else the last one.
        wait: maximum waiting time in seconds.

    Raises:
        Refused: there is no such series or frame, the series has no regions, or the values are no longer
            kept.
    """
    began = time.monotonic()
    due = began + wait
    while True:
        progress = supervisor.roi_memory.progress()
        if progress is None or series not in (None, progress.kept.series):
            if series is None or time.monotonic() >= min(due, began + SERIES_SECONDS):
                raise _no_such_series(supervisor, series)
            await asyncio.sleep(LOOK_SECONDS)
            continue
        series = progress.kept.series
        answer = _answer(supervisor, progress, first, count)
        if answer is not None and (answer.ended or answer.upto > first or time.monotonic() >= due):
            return answer
        await asyncio.sleep(LOOK_SECONDS)


def _answer(supervisor: Supervisor, progress: Progress, first: int, count: int) -> RoiValues | None:
    """Return the values; `None` if another series has begun meanwhile."""
    kept = progress.kept
    if not kept.rois:
        raise Refused(
            "no_rois", f"series {kept.series} has no regions of interest; PUT /rois sets those of the next"
        )
    if first < progress.first:
        raise Refused(
            "no_longer_kept",
            f"values of series {kept.series} are kept from frame {progress.first} on, and {first} was asked "
            "for; the file has them all",
        )
    planned = _planned(supervisor, progress)
    if planned is not None and first > planned:
        raise Refused(
            "out_of_range", f"series {kept.series} has {plural(planned, 'frame')}, and {first} was asked for"
        )
    end = progress.end if progress.end is not None else _end_of_dead(supervisor, progress)
    upto = max(first, min(progress.complete_below if end is None else end, first + count))
    found = supervisor.roi_memory.read(progress, first, upto)
    times = supervisor.roi_memory.read_times(progress, first, upto)
    if found is None or times is None:
        return None
    known = _finite(found.transpose(1, 2, 0))
    return RoiValues(
        series=kept.series, first=first, upto=upto, ended=end is not None, time=_finite(times),
        values={
            name: RoiSeries(**dict(zip(VALUES, columns, strict=True)))
            for name, columns in zip(kept.rois, known, strict=True)
        },
    )  # fmt: skip


def _finite(values: np.ndarray[Any, Any]) -> Any:
    """Return an array as lists, `None` for what JSON has no number for."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return found.tolist()


def _planned(supervisor: Supervisor, progress: Progress) -> int | None:
    """Return the number of planned frames, if it is known."""
    status = supervisor.status
    shown = status.series
    return status.counts.planned if shown is not None and shown.id == progress.kept.series else None


def _end_of_dead(supervisor: Supervisor, progress: Progress) -> int | None:
    """Return the end of a series whose data process died; `None` if the series is running."""
    status = supervisor.status
    shown = status.series
    if shown is None or shown.id != progress.kept.series or shown.active:
        return None
    return max(progress.complete_below, progress.after)


def _no_such_series(supervisor: Supervisor, series: str | None) -> Refused:
    if series is None:
        return Refused("no_series", f"receiver {supervisor.name} has had no series yet")
    shown = supervisor.status.series
    last = "it has had none yet" if shown is None else f"its running, or last, one is {shown.id}"
    return Refused("no_such_series", f"receiver {supervisor.name} has no values of series {series}; {last}")
