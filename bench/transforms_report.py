"""What `penstock bench --transforms` prints."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.bench.transforms import BAR, SHAPE, Result, measure, picture


def report(image: Path | None, rounds: int, as_json: bool) -> int:
    """Measure, print a table, and return the exit status: 1 when the ratio is below its bar."""
    console = Console(stderr=True)
    with console.status("CBF to bslz4"):
        result = measure(picture(image), rounds)
    words = Console(stderr=as_json, highlight=False)
    words.print(_table(result, "rings" if image is None else image.name))
    reached = result.ratio >= BAR
    words.print("the bar is reached" if reached else "below the bar: is something else using this machine?")
    if as_json:
        summary = {
            "reached": reached, "ratio": round(result.ratio, 3), "bar": BAR, "threads": result.threads,
            "gain": round(result.gain, 2),
            "rates": {
                "libraries": [round(rate, 1) for rate in result.libraries],
                "chain": [round(rate, 1) for rate in result.chain],
                "threads": [round(rate, 1) for rate in result.pool],
            },
        }  # fmt: skip
        print(json.dumps(summary))
    return 0 if reached else 1


def _table(result: Result, name: str) -> Table:
    table = Table(
        title=f"CBF to bslz4, {SHAPE[0]} × {SHAPE[1]} int32, {result.blob_bytes / 1e6:.2f} MB ({name})",
        caption="ratio: to the libraries; medians",
    )
    for column in ("", "frames/s", "frames/s per thread", "ratio", "bar"):
        table.add_column(column, justify="right" if column else "left")
    libraries, chain, pool = map(statistics.median, (result.libraries, result.chain, result.pool))
    table.add_row("fabio's decoder and libh5bshuf alone", f"{libraries:.1f}", f"{libraries:.1f}", "", "")
    table.add_row("the chain", f"{chain:.1f}", f"{chain:.1f}", f"{result.ratio:.2f}", f"{BAR:g}")
    table.add_row(
        f"the chain in {result.threads} threads",
        f"{pool:.1f}",
        f"{pool / result.threads:.1f}",
        f"{result.ratio * result.gain:.2f}",
        "",
    )
    return table
