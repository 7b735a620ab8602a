"""What `penstock bench --rois` prints."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.rois import RATE, REGIONS, SIDE, Result, measure


def report(folder: Path | None, rounds: int, as_json: bool) -> int:
    """Measure and print a table; return the exit status."""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        results = list(measure(Path(place), rounds, status.update))
    Console(stderr=as_json, highlight=False).print(_table(results))
    if as_json:
        cases = [
            {
                "case": result.case.name,
                "regions": {
                    str(number): {"thread_us": result.thread[number], "process_us": result.process[number]}
                    for number in REGIONS
                },
            }
            for result in results
        ]
        print(json.dumps({"rate": RATE, "side": SIDE, "cases": cases}))
    return 0


def _table(results: list[Result]) -> Table:
    table = Table(
        title=f"µs of processor time per frame at {RATE:g} frames/s, regions of {SIDE} × {SIDE} (medians)"
    )
    for column in ("frames", "regions", "receiving thread", "all threads", "more than without"):
        table.add_column(column, justify="left" if column == "frames" else "right")
    for result in results:
        for number in REGIONS:
            thread, process = (
                f"{statistics.median(found[number]):,.0f}" for found in (result.thread, result.process)
            )
            table.add_row(result.case.name, str(number), thread, process, f"{result.added(number):+,.0f}")
    return table
