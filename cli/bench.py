"""Measure this machine: generator to receiver, beside a naive writer.

Both write the same frames to the same folder, in turn, so that a busy machine slows both; trust the
ratio and the processor time a frame, not the single rate. Exit status 1 when a ratio is below its
bar.

Examples:
  penstock bench                           20 kB and 200 kB frames, three runs each
  penstock bench --dir /data --repeats 5   on the storage that counts
  penstock bench --dir /dev/shm --json     on a RAM disk; the last line is a JSON summary
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock bench`."""
    parser.add_argument("--dir", type=Path, help="folder to write to (default: the system's temporary one)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--json", action="store_true", help="print a JSON summary as the last line")


def run(args: argparse.Namespace) -> int:
    """Measure and print a table."""
    from rich.console import Console
    from rich.table import Table

    from penstock.bench.compare import compare
    from penstock.cli.main import UserError

    if args.repeats < 1:
        raise UserError(f"--repeats is {args.repeats}; it must be at least 1")
    if args.dir is not None and not args.dir.is_dir():
        raise UserError(f"--dir {args.dir} is not a folder")
    console = Console(stderr=True)
    table = Table(title="generate to receiver, with writing (medians)")
    for column in ("frame", "writer", "frames/s", "MB/s", "CPU µs/frame", "ratio", "bar"):
        table.add_column(column, justify="right")
    results = []
    with (
        tempfile.TemporaryDirectory(dir=args.dir, prefix="penstock-bench-") as folder,
        console.status("starting") as status,
    ):
        for result in compare(Path(folder), args.repeats, status.update):
            results.append(result)
            size = result.case.frame_bytes
            for name, runs in (("penstock", result.penstock), ("naive", result.naive)):
                rate = statistics.median(item.rate for item in runs)
                cpu = statistics.median(item.cpu_us for item in runs)
                ours = name == "penstock"
                table.add_row(
                    f"{size / 1000:g} kB", name, f"{rate:,.0f}", f"{rate * size / 1e6:,.0f}", f"{cpu:.1f}",
                    f"{result.ratio:.1f}" if ours else "", f"{result.case.bar:g}" if ours else "",
                )  # fmt: skip
    Console().print(table)
    reached = all(result.reached for result in results)
    print("every bar reached" if reached else "below a bar: is something else using this machine?")
    if args.json:
        summary = [
            {
                "frame_bytes": result.case.frame_bytes,
                "ratio": round(result.ratio, 2),
                "bar": result.case.bar,
                "penstock_rates": [round(item.rate) for item in result.penstock],
                "naive_rates": [round(item.rate) for item in result.naive],
                "penstock_cpu_us": [round(item.cpu_us, 1) for item in result.penstock],
                "naive_cpu_us": [round(item.cpu_us, 1) for item in result.naive],
            }
            for result in results
        ]
        print(json.dumps({"reached": reached, "cases": summary}))
    return 0 if reached else 1
