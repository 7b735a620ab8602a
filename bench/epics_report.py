"""What `penstock bench --epics` prints."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console, JustifyMethod
from rich.table import Table

from penstock.bench import epics_pvapy
from penstock.bench.epics import BARS, Result, measure
from penstock.bench.epics_pvapy import Streaming, Turn
from penstock.bench.reductions import NotMeasured

PVAPY = "pvapy"
PARTS = (*BARS, PVAPY)


def report(folder: Path | None, rounds: int, as_json: bool, only: Sequence[str] = ()) -> int:
    """Measure and print tables; return the exit status: 1 if a bar is not reached.

    Args:
        folder: for configurations.
        rounds: how often each contender has its turn.
        as_json: print one object, and the tables on standard error.
        only: parts to measure; empty for all.
    """
    parts = [part for part in PARTS if part in only or not only]
    results: list[Result] = []
    streams: list[Streaming] = []
    missing = ""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        results += measure(Path(place), rounds, status.update, parts=parts)
        if PVAPY in parts:
            try:
                streams += epics_pvapy.measure(Path(place), rounds, status.update)
            except NotMeasured as error:
                missing = f"not measured: {error}"
    console = Console(stderr=as_json, highlight=False)
    if results:
        console.print(_table(results))
    if streams:
        console.print(streaming_table(streams))
    if missing:
        console.print(missing)
    if as_json:
        rows = [asdict(result) | {"ratio": result.ratio} for result in results]
        rows += [{"part": PVAPY} | asdict(each) | {"ratio": each.ratio} for each in streams]
        print(json.dumps(rows))
    return 0 if all(result.reached for result in results) else 1


def _table(results: list[Result]) -> Table:
    table = Table(title="CPU per frame, µs, of the whole process (medians)")
    for column in ("what", "frames", "per second", "Penstock", "bare parts", "ratio", "bar"):
        table.add_column(column, justify="left" if column in ("what", "frames") else "right")
    for result in results:
        ours, bare = (f"{statistics.median(values):,.0f}" for values in (result.ours, result.bare))
        bar = f"{'' if result.reached else 'NOT '}≤ {BARS[result.part]:g}"
        row = (result.part, result.case.name, f"{result.case.rate:g}", ours, bare, f"{result.ratio:.2f}", bar)
        table.add_row(*row)
    return table


def streaming_table(streams: list[Streaming]) -> Table:
    """Return PvaPy's streaming test with and without us: totals, what of ours is receiver and bridge, and the
    most that consumers have missed in a turn of PvaPy and of ours."""
    table = Table(title="PvaPy's streaming test: CPU per frame, µs, of all processes (medians)")
    columns = ("frames", "consumers", "PvaPy", "Penstock", "ratio", "receiver", "bridge", "missed")
    for column in columns:
        justify: JustifyMethod = "left" if column in ("frames", "consumers") else "right"
        table.add_column(column, min_width=len(column), justify=justify)
    for each in streams:
        missed = [f"{max(turn.missed for turn in turns):.1%}" for turns in (each.pvapy, each.penstock)]
        table.add_row(
            f"{each.case.name}, {each.case.rate:g}/s", " → ".join([str(each.consumers)] * each.stages),
            _median(turn.total for turn in each.pvapy), _median(turn.total for turn in each.penstock),
            f"{each.ratio:.2f}", _part(each.penstock, epics_pvapy.RECEIVER),
            _part(each.penstock, epics_pvapy.BRIDGE), ", ".join(missed),
        )  # fmt: skip
    return table


def _part(turns: list[Turn], process: str) -> str:
    return _median(turn.spent[process] for turn in turns)


def _median(values: Iterable[float]) -> str:
    return f"{statistics.median(values):,.0f}"
