"""What `penstock bench --files` prints."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.files import Comparison, compare, ratio


def report(folder: Path | None, files: int, rounds: int, as_json: bool) -> int:
    """Measure, print a table, and return the exit status: 1 when a bar is not reached."""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        Console(stderr=True).status("starting") as status,
    ):
        found = list(compare(Path(place), files, rounds, status.update))
    Console(stderr=as_json).print(_table(found, files))
    if as_json:
        cases = {
            case.load.name: {
                "cpu_us": case.cpu_us,
                "ratio": case.ratio,
                "flat_out_us": case.flat_out_us,
                "equal": case.equal,
            }
            for case in found
        }
        print(json.dumps({"files": files, "cases": cases}))
    return 0 if all(case.reached for case in found) else 1


def _table(found: list[Comparison], files: int) -> Table:
    table = Table(title="CPU per frame, µs, of the data process (medians)")
    columns = "1 file", f"{files} files", "ratio", "bar of two", "flat out", "content"
    for column in ("frames", *columns):
        table.add_column(column, justify="left" if column == "frames" else "right")
    for case in found:
        medians = [f"{statistics.median(case.cpu_us[number]):,.0f}" for number in sorted(case.cpu_us)]
        content = "equal" if case.equal else "NOT EQUAL"
        name = f"{case.load.name}, {case.load.rate:,.0f} per second"
        ratios = f"{case.ratio:.2f}", f"≤ {case.load.bar:g}", f"{ratio(case.flat_out_us):.2f}"
        table.add_row(name, *medians, *ratios, content)
    return table
