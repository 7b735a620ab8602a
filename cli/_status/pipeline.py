"""`penstock status --pipeline`: what a user wants to know first of a pipeline."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import pipeline_url
from penstock.cli._output import emit
from penstock.stins.errors import UserError
from penstock.stins.texts import counted, plural

if TYPE_CHECKING:
    from penstock.processing.models import Series, Status

WAIT = 0.5
"""Seconds of one request that waits for a change."""


def run(args: argparse.Namespace) -> int:
    """Ask the pipeline and print its state; return the exit status."""
    from penstock.processing.client import NoAnswer, PipelineClient

    client = PipelineClient(pipeline_url(args), timeout=5.0)
    due = time.monotonic() + args.timeout
    late = False
    try:
        status = client.status()
        while args.wait and _is_unfinished(status) and not late:
            status = client.status(seen=status.version, wait=max(0.0, min(WAIT, due - time.monotonic())))
            late = time.monotonic() >= due and _is_unfinished(status)
    except NoAnswer as error:
        raise UserError(str(error)) from error
    if args.json:
        emit(status)
    else:
        print("\n".join(lines(status)))
    if late:
        print(f"no series has ended within {args.timeout:g} s", file=sys.stderr)
    return 1 if late or status.error or (status.series is not None and status.series.lacks) else 0


def lines(status: Status, *, finished: bool = False) -> Iterator[str]:
    """Yield what a user wants to know first, line by line.

    Args:
        status: of the pipeline.
        finished: whether it was on a file, and its processes are no more.
    """
    yield f"{status.pipeline}: {status.state}{f', {status.error}' if status.error else ''}"
    if status.waits_for and not finished:
        yield f"  {status.waits_for}"
    if status.ending:
        yield "  it takes no new series (penstock drain); penstock drain --pipeline --off undoes that"
    for series in filter(None, [status.series, *(each for each in status.others if each.active)]):
        yield from _series(series, status.error)
    if finished and status.series is not None and any(status.series.unmatched.values()):
        yield "    values of channels are recorded only while a series runs; when its file is processed"
        yield "    later, there are only those of the result file that is replaced"
    if status.series is None:
        yield "  no series yet"
    values = ", ".join(f"{name} = {_value(value)}" for name, value in status.parameters.values.items())
    if values:
        since = status.parameters.from_frame
        yield f"  {values} (version {status.parameters.version}, from frame {since})"
    if finished:
        return
    for channel in status.channels:
        how = f", {channel.how}" if channel.how else ""
        so_far = f"{plural(channel.values, 'value')} of {channel.attribute}{how}"
        yield f"  channel {channel.name}: {channel.problem or so_far}"
    yield f"  {plural(len(status.workers), 'worker') if status.workers else 'NO worker'}"
    for worker in status.workers:
        seconds = worker.seconds_per_frame
        speed = "" if seconds is None else f", {seconds * 1000:.3g} ms each"
        error = f"; {worker.last_error}" if worker.last_error else ""
        frames = plural(worker.frames, "frame")
        yield f"    {worker.name} on {worker.host}: {worker.state}, {frames}{speed}{error}"


def _value(value: object) -> str:
    """Return a parameter's value on one line: that of a file, such as a calibration, by its length."""
    if isinstance(value, str) and "\n" in value:
        return f"text of {len(value.splitlines())} lines"
    return str(value) or '""'


def _series(series: Series, error: str) -> Iterator[str]:
    reason = "; ".join(part for part in series.reason.split("; ") if part not in error)
    ended = "NOT all done" if series.lacks else "ended" if reason else "all done"
    so_far = "in progress" if series.active else ended
    yield f"  {series.file or f'series {series.id}'}, {so_far}{f': {reason}' if reason else ''}"
    counts = series.counts
    shown = [
        counted(getattr(counts, name), name.replace("_", " "))
        for name in ("done", "failed", "lost", "dropped", "absent", "held", "in_work", "queued", "pending")
        if name == "done" or getattr(counts, name)
    ]
    yield f"    {plural(counts.frames, 'frame')}: {', '.join(shown)}"
    if series.from_file:
        yield f"    {plural(series.from_file, 'frame')} of them from the file, not taken live"
    for name, frames in series.unmatched.items():
        if frames:
            yield f"    {plural(frames, 'frame')} without a value of {name}"
    yield f"    results: {series.result_file or 'not stored'}"


def _is_unfinished(status: Status) -> bool:
    return not status.error and (status.series is None or status.series.active)
