"""Measure this machine: generator to receiver, beside a naive writer and two limits in C.

All take the same frames, and those that write, write to the same folder, in turn, so that a busy
machine slows all of them; trust the ratios and the processor time a frame, not the single rate. The
limits need a C compiler (apt-get install gcc); without one they are left out. Exit status 1 when the
ratio to the naive writer is below its bar.

Examples:
  penstock bench                           20 kB and 200 kB frames, three rounds
  penstock bench --large                   2 MB and 20 MB too
  penstock bench --dir /data --rounds 5    on the storage that counts
  penstock bench --dir /dev/shm --json     on a RAM disk; the last line is a JSON summary
  penstock bench --transforms              instead: Pilatus CBF to bslz4, beside its libraries alone
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.bench.compare import Result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock bench`."""
    parser.add_argument("--dir", type=Path, help="folder to write to (default: the system's temporary one)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender (%(default)s)")
    parser.add_argument("--large", action="store_true", help="also frames of 2 MB and 20 MB")
    parser.add_argument("--transforms", action="store_true", help="instead: CBF to bslz4, frames/s a core")
    parser.add_argument("--image", type=Path, help="for --transforms: an image to tile (default: made up)")
    parser.add_argument("--json", action="store_true", help="print a JSON summary as the last line")


def run(args: argparse.Namespace) -> int:
    """Measure and print a table."""
    from rich.console import Console

    from penstock.bench.compare import CASES, LARGE_CASES, compare
    from penstock.bench.limit import build
    from penstock.cli.main import UserError
    from penstock.devices._base.processes import ProcessFailed

    if args.rounds < 1:
        raise UserError(f"--rounds is {args.rounds}; it must be at least 1")
    if args.transforms:
        from penstock.bench.transforms_report import report

        if args.image is not None and not args.image.is_file():
            raise UserError(f"--image {args.image} is not a file")
        return report(args.image, args.rounds, args.json)
    if args.dir is not None and not args.dir.is_dir():
        raise UserError(f"--dir {args.dir} is not a folder")
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as tools,
        tempfile.TemporaryDirectory(dir=args.dir, prefix="penstock-bench-") as folder,
        console.status("starting") as status,
    ):
        limit = build(Path(tools))
        if limit is None:
            console.print("no C compiler here, so no limits; apt-get install gcc brings one")
        cases = CASES + LARGE_CASES if args.large else CASES
        try:
            results = list(compare(Path(folder), args.rounds, status.update, cases, limit))
        except (ProcessFailed, RuntimeError) as error:
            raise UserError(f"no figures: {error}") from error
    Console().print(_table(results))
    reached = all(result.reached for result in results)
    print("every bar reached" if reached else "below a bar: is something else using this machine?")
    if args.json:
        print(json.dumps({"reached": reached, "cases": [_summary(result) for result in results]}))
    return 0 if reached else 1


def _table(results: list[Result]) -> Table:
    from rich.table import Table

    table = Table(
        title="generator to receiver (medians; µs of processor time a frame)",
        caption="ratio: frame rate of penstock to this one",
    )
    columns = ("frame", "", "frames/s", "MB/s", "CPU µs", "thread µs", "ratio", "bar")
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for result in results:
        size = result.case.frame_bytes
        for name, runs in result.runs.items():
            rate = statistics.median(run.rate for run in runs)
            cpu = statistics.median(run.cpu_us for run in runs)
            thread = [run.thread_us for run in runs if run.thread_us is not None]
            ratio = None if name == "penstock" else result.ratio(name)
            table.add_row(
                f"{size / 1000:g} kB" if name == "penstock" else "",
                name, f"{rate:,.0f}", f"{rate * size / 1e6:,.0f}", f"{cpu:.1f}",
                f"{statistics.median(thread):.1f}" if thread else "",
                "" if ratio is None else f"{ratio:.2f}", f"{result.case.bar:g}" if name == "naive" else "",
            )  # fmt: skip
        table.add_section()
    return table


def _summary(result: Result) -> dict[str, Any]:
    return {
        "frame_bytes": result.case.frame_bytes,
        "bar": result.case.bar,
        "contenders": {
            name: {
                "rates": [round(run.rate, 1) for run in runs],
                "cpu_us": [round(run.cpu_us, 1) for run in runs],
                "thread_us": [round(run.thread_us, 1) for run in runs if run.thread_us is not None],
                "ratio": None if name == "penstock" else round(result.ratio(name) or 0.0, 3),
            }
            for name, runs in result.runs.items()
        },
    }
