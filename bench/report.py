"""What `penstock bench` prints: the table of contenders, and the bars."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from penstock.bench.contenders import PENSTOCK_RECEIVER
from penstock.bench.results import Measurement, Verdict, name_of


def size(nbytes: int) -> str:
    """Return 20000 as "20 kB", 2000000 as "2 MB"."""
    return f"{nbytes / 1e6:g} MB" if nbytes >= 1_000_000 else f"{nbytes / 1e3:g} kB"


def table(measured: list[Measurement]) -> Table:
    """Return the contenders by frame size: means, with their standard errors."""
    found = Table(
        title="generator to receiver",
        caption="means ± standard errors; thread: that receives and writes; CPU: with ZeroMQ's threads",
    )
    for column in ("frame", "", "frames/s", "GB/s", "thread µs", "CPU µs"):
        found.add_column(column, justify="right" if column else "left", no_wrap=True)
    before = 0
    for measurement in measured:
        case = measurement.case
        if before not in (0, case.frame_bytes):
            found.add_section()
        rate, error = measurement.rate
        found.add_row(
            size(case.frame_bytes) if case.frame_bytes != before else "",
            f"[bold]{name_of(case)}" if case.contender == PENSTOCK_RECEIVER else case.contender,
            f"{rate:,.0f} ± {error:,.0f}", f"{rate * case.frame_bytes / 1e9:.2f}",
            f"{measurement.thread_us[0]:,.1f}", f"{measurement.cpu_us[0]:,.1f}",
        )  # fmt: skip
        before = case.frame_bytes
    return found


def bars(verdicts: list[Verdict]) -> Table:
    """Return each bar, and whether it is reached."""
    found = Table(title="bars: penstock, writing, one socket, one I/O thread")
    for column in ("frame", "of", "to", "ratio", "bar", ""):
        found.add_column(column, justify="right" if column in ("frame", "ratio", "bar") else "left")
    for verdict in verdicts:
        bar = verdict.bar
        found.add_row(
            size(bar.frame_bytes), what(verdict), bar.rival, f"{verdict.ratio:.2f}", verdict.required,
            "[green]reached" if verdict.reached else "[red]not reached",
        )  # fmt: skip
    return found


def what(verdict: Verdict) -> str:
    """Return what a bar compares."""
    what = "frame rate" if verdict.bar.least_rate is not None else "thread's CPU per frame"
    return what if verdict.bar.of == PENSTOCK_RECEIVER else f"{what}, {verdict.bar.of.partition(', ')[2]}"


def summary(measured: list[Measurement], verdicts: list[Verdict]) -> dict[str, Any]:
    """Return the same for --json."""
    return {
        "reached": all(verdict.reached for verdict in verdicts),
        "bars": [
            {
                "frame_bytes": verdict.bar.frame_bytes, "of": what(verdict), "to": verdict.bar.rival,
                "ratio": round(verdict.ratio, 3), "bar": verdict.required, "reached": verdict.reached,
            }
            for verdict in verdicts
        ],
        "contenders": [
            {
                "frame_bytes": found.case.frame_bytes, "contender": name_of(found.case),
                "rates": [round(run.rate, 1) for run in found.runs],
                "thread_us": [round(run.thread_us, 1) for run in found.runs],
                "cpu_us": [round(run.cpu_us, 1) for run in found.runs],
            }
            for found in measured
        ],
    }  # fmt: skip
