"""What `penstock bench --consumers` prints."""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.consumers import KINDS, Result, measure

BAR = 1.6
"""Most that a consumer by reference may cost the receiver at 20 kB, times the time without one."""


def report(folder: Path | None, rounds: int, as_json: bool) -> int:
    """Measure and print a table; return the exit status: 1 if the bar is not reached."""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        results = list(measure(Path(place), rounds, status.update))
    found = results[0].ratio("by reference")
    console = Console(stderr=as_json, highlight=False)
    console.print(_table(results))
    console.print(
        f"{results[0].case.name} by reference: {found:.2f} times without; at most {BAR:g} is wanted"
    )
    if as_json:
        print(json.dumps({"bar": BAR, "ratio": found, "cases": [asdict(result) for result in results]}))
    return int(found > BAR)


def _table(results: list[Result]) -> Table:
    table = Table(title="µs of processor time of the receiver per frame (medians)")
    for column in ("frames", "consumer", "receiving thread", "all threads", "times without", "dropped"):
        table.add_column(column, justify="left" if column in ("frames", "consumer") else "right")
    for result in results:
        for kind in KINDS:
            thread, process = (
                f"{statistics.median(found[kind]):,.1f}" for found in (result.thread, result.process)
            )
            ratio, dropped = f"{result.ratio(kind):.2f}", f"{result.dropped[kind]:,}"
            table.add_row(result.case.name, kind, thread, process, ratio, dropped)
    return table
