"""What `penstock bench --epics` prints."""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.epics import BARS, Result, measure


def report(folder: Path | None, rounds: int, as_json: bool) -> int:
    """Measure and print a table; return the exit status: 1 if a bar is not reached."""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        results = list(measure(Path(place), rounds, status.update))
    Console(stderr=as_json, highlight=False).print(_table(results))
    if as_json:
        print(json.dumps([asdict(result) | {"ratio": result.ratio} for result in results]))
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
