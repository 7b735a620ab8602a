"""What `penstock bench --reductions` prints: figures, and which bars are reached."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from penstock.bench.reductions import PARTS, Figure, NotMeasured, measured


def report(parts: Sequence[str], rounds: int, as_json: bool) -> int:
    """Measure and print a table; return the exit status: 1 if a bar is not reached.

    Args:
        parts: names of those that are measured; empty for all.
        rounds: how often each is measured.
        as_json: print one object, and the table on standard error.
    """
    console = Console(stderr=as_json, highlight=False)
    with Console(stderr=True).status("starting", refresh_per_second=1) as status:
        found = list(measured(parts or list(PARTS), rounds, status.update))
    figures = [each for each in found if isinstance(each, Figure)]
    console.print(table(figures))
    for each in found:
        if isinstance(each, NotMeasured):
            console.print(f"not measured: {each}")
    if as_json:
        print(json.dumps({"figures": [asdict(each) | {"reached": each.reached} for each in figures]}))
    return 0 if all(each.reached for each in figures) else 1


def table(figures: Sequence[Figure]) -> Table:
    """Return the bars as a table."""
    made = Table(title="Processors that come with Penstock (medians)")
    for column in ("part", "what", "measured", "found", "bar", ""):
        made.add_column(column, justify="right" if column in ("found", "bar") else "left")
    for each in figures:
        values = ", ".join(f"{name} {statistics.median(rounds):,.4g}" for name, rounds in each.values.items())
        sign = "≥" if each.least else "≤"
        said = "reached" if each.reached else "MISSED"
        made.add_row(
            each.part, each.text, values, f"{each.found:.3g} {each.unit}", f"{sign} {each.bar:g}", said
        )
    return made
