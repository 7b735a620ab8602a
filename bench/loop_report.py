"""The table of `penstock bench --loop`."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.bench.loop import LOADS, Found, Taker, measure, name


def report(folder: Path | None, rounds: int, as_json: bool, sizes: Collection[int] | None = None) -> int:
    """Measure, print the table; return 0 if every bar is reached, else 1.

    Args:
        folder: where the receivers write files without pixels.
        rounds: turns of each.
        as_json: whether to print JSON, and the table on standard error.
        sizes: bytes of the frames; `None` for all that there are.

    Raises:
        ProcessFailed: a process did not start or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    loads = [load for load in LOADS if sizes is None or load.frame_bytes in sizes]
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as scratch,
        console.status("starting") as status,
    ):
        found = list(measure(Path(scratch), rounds, status.update, loads))
    Console(stderr=as_json).print(table(found))
    if as_json:
        cases = [row(case, taker) for case in found for taker in case.loop_us]
        print(json.dumps({"cases": cases}))
    return 0 if all(case.reached(taker) for case in found for taker in case.loop_us) else 1


def table(found: Collection[Found]) -> Table:
    """Return the table of all loads."""
    made = Table(title="CPU per frame, µs, of the loop; bars: 200 kB of one socket, 2 MB of as many")
    columns = "loop", "of as many", "of one", "bar", "flush, ms", "GB/s"
    for column in ("bytes", "receiver", *columns):
        is_name = column in ("bytes", "receiver")
        made.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for case in found:
        for taker in case.loop_us:
            bar, bars = "", ("", "")
            if taker.files:
                bars = f"{case.ratio(taker, taker.sockets):.2f}", f"{case.ratio(taker, 1):.2f}"
            if taker.files and case.load.bar:
                bar = f"{'≤' if case.reached(taker) else 'NOT ≤'} {case.load.bar:g}"
            us = statistics.median(case.loop_us[taker])
            flush = f"{case.flush(taker) / 1e3:.1f}" if taker.files else ""
            made.add_row(
                f"{case.load.frame_bytes:,}", name(taker), f"{us:,.0f}", *bars, bar, flush,
                f"{case.ceiling(taker):.1f}",
            )  # fmt: skip
        made.add_section()
    return made


def row(case: Found, taker: Taker) -> dict[str, Any]:
    """Return the figures of one receiver, for JSON."""
    return {
        "frame_bytes": case.load.frame_bytes,
        "files": taker.files,
        "sockets": taker.sockets,
        "loop_us": case.loop_us[taker],
        "flush_us": case.flush_us[taker],
        "beside_as_many": case.ratio(taker, taker.sockets),
        "beside_one": case.ratio(taker, 1),
        "ceiling_gb_per_second": case.ceiling(taker),
        "reached": case.reached(taker),
    }
