"""What `penstock bench --viewer` prints."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.bench.viewer import BAR, LOOKS, Result, measure


def report(folder: Path | None, rounds: int, as_json: bool) -> int:
    """Measure, print a table, and return the exit status: 1 when a ratio is above the bar."""
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as place,
        console.status("starting", refresh_per_second=1) as status,
    ):
        results = list(measure(Path(place), rounds, status.update))
    words = Console(stderr=as_json, highlight=False)
    words.print(_table(results))
    reached = all(result.reached for result in results)
    words.print(
        "every bar reached, within the errors"
        if reached
        else "above the bar: is something else using this machine?"
    )
    if as_json:
        print(json.dumps({"reached": reached, "bar": BAR, "cases": [_summary(result) for result in results]}))
    return 0 if reached else 1


def _table(results: list[Result]) -> Table:
    table = Table(
        title=f"4 million pixels: µs per frame without → with a viewer of {LOOKS:g} frames/s (medians)",
        caption="data path: the thread that every frame passes through; hand over: its time for one frame "
        "for the viewer, measured alone, and its share",
    )
    columns = ("frames", "frames/s", "data path", "ratio", "bar", "hand over", "data process", "HTTP process")
    for column in columns:
        table.add_column(column, justify="left" if column == "frames" else "right")
    for result in results:
        table.add_row(
            result.case.name, f"{result.case.rate:g}", _both(result, "thread"),
            f"{result.ratio:.3f} ± {result.error:.3f}", f"{BAR:g}",
            f"{result.hand_over:.0f} µs, {result.share:.3%}", _both(result, "process"), _both(result, "http"),
        )  # fmt: skip
    return table


def _both(result: Result, figure: str) -> str:
    return f"{result.median(figure, seen=False):,.0f} → {result.median(figure):,.0f}"


def _summary(result: Result) -> dict[str, Any]:
    figures = ("thread", "process", "http", "looks")
    return {
        "case": result.case.name,
        "rate": result.case.rate,
        "ratio": round(result.ratio, 4),
        "error": round(result.error, 4),
        "hand_over_us": round(result.hand_over, 1),
        "share": round(result.share, 5),
        "without": {figure: round(result.median(figure, seen=False), 1) for figure in figures},
        "with": {figure: round(result.median(figure), 1) for figure in figures},
        "ratios": [round(ratio, 3) for ratio in result.ratios],
    }
