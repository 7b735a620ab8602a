"""Measure this machine: what Penstock costs and how fast it is, beside others, in turns.

A case stands for itself, or for all whose names begin with it: `window` for window-frames, window-file and
window-results. All contenders of a case take the same frames from a real generator, in turn, so that a busy
machine slows all of them; trust the ratios and the CPU time per frame, not a single rate.
Exit status: 0 every bar is reached, 1 one is not, 2 something could not be measured.

With --figures, what was measured is kept in DIR/results.json, which is continued after an interruption, the
plots are drawn, and results.md is written: without a case, those of the performance page.

Examples (make bench ARGS='…'):
  contenders                              the bars, on a RAM disk: five minutes
  contenders --dir /data --only '20 kB'   on the storage that counts, frames of one size
  processing --rounds 5 --json            nothing but JSON on standard output
  soak --disk /data --set seconds=60      with another option of a case
  --figures docs/performance --rounds 5 --again    everything for the docs: three quarters of an hour
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from penstock_bench import report
from penstock_bench.bars import verdicts
from penstock_bench.cases import CASES, PAGE, Case, chosen, load_name
from penstock_bench.results import Frames, Results, describe, load
from penstock_bench.runner import Bench, folders, measure

RAM_DISK = Path("/dev/shm")
BUSY_LOAD = 1.0
"""Load average from which on other programs disturb the measurement."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    title, _, text = (__doc__ or "").partition("\n")
    lines = []
    for case in CASES:
        options = ", ".join(f"{name}={value}" for name, value in case.options.items())
        lines.append(f"  {case.name:22}{case.what}{f' [{options}]' if options else ''}")
    epilog = "\n".join([text, "cases:", *lines])
    found = argparse.ArgumentParser(
        prog="python -m penstock_bench", description=title, epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = found.add_argument
    add("cases", nargs="*", metavar="CASE", help="what to measure (contenders)")
    add("--rounds", type=int, metavar="N", help="turns of each contender (by case)")
    add("--only", action="append", default=[], metavar="LOAD", help="this load; may be repeated")
    add("--scale", type=float, default=1.0, metavar="X", help="of the length of series (1)")
    add("--dir", type=Path, metavar="DIR", help="folder to write to (a RAM disk)")
    add("--disk", type=Path, metavar="DIR", help="folder on a disk (the temporary one)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of a case")
    add("--figures", type=Path, metavar="DIR", help="keep results, and draw plots and page here")
    add("--again", action="store_true", help="measure again what is kept there")
    add("--json", action="store_true", help="print JSON, and tables on standard error")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, report, and return the exit status."""
    made = parser()
    args = made.parse_args(argv)
    try:
        cases = with_options(chosen(args.cases) or (PAGE if args.figures else PAGE[:1]), args)
        for option in ("dir", "disk"):
            if (folder := getattr(args, option)) is not None and not folder.is_dir():
                raise ValueError(f"--{option} {folder} is not a folder")
        known = {load_name(load) for case in cases for load in case.loads}
        if unknown := set(args.only) - known:
            raise ValueError(f"--only {min(unknown)}; give some of {', '.join(sorted(known))}")
        kept = args.figures / "results.json" if args.figures else None
        if kept:
            args.figures.mkdir(parents=True, exist_ok=True)
        earlier = load(kept) if kept and kept.exists() else None
    except (ValueError, OSError) as error:
        made.error(str(error))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # and end what was started
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    ram = args.dir or (RAM_DISK if RAM_DISK.is_dir() else None)  # on a disk, the disk would be measured, too
    console, errors = Console(stderr=args.json, highlight=False), Console(stderr=True)
    if not console.is_terminal:
        console.width = 200
    busy, failed = os.getloadavg()[0], False
    with ExitStack() as stack:
        folder, disk = folders(stack, ram, args.disk)
        machine = describe({"RAM disk": folder, "disk": disk})
        results = earlier or Results(machine=machine)
        results.machine = machine
        say = lambda text: None  # noqa: E731
        if errors.is_terminal:
            say = stack.enter_context(errors.status("starting", refresh_per_second=1)).update
        for case in cases:
            bench = Bench(folder=folder, disk=disk, rounds=case.rounds, options=case.options, say=say)
            for _ in measure(case, results, bench, args.only, again=args.again or not kept):
                if kept:
                    results.save(kept)
            failed |= bench.failed
    if not args.figures and busy > BUSY_LOAD:
        results.notes.append(
            f"other programs were running before (load average {busy:.1f}): rates are too low"
        )
    reached = finish(args, cases, results, console)
    return 2 if failed else 0 if reached else 1


def with_options(cases: Sequence[Case], args: argparse.Namespace) -> list[Case]:
    """Return cases as the command line wants them.

    Raises:
        ValueError: none of them has such an option, or its value is another.
    """
    given = dict(text.partition("=")[::2] for text in args.set)
    options = {name: value for case in cases for name, value in case.options.items()}
    if unknown := set(given) - set(options):
        raise ValueError(f"--set {min(unknown)}; give some of {', '.join(options) or '(none)'}")
    values: dict[str, Any] = {name: type(options[name])(value) for name, value in given.items()}
    found = []
    for case in cases:
        own = {name: values.get(name, value) for name, value in case.options.items()}
        scaled = [
            load.of(round(load.count * args.scale)) if isinstance(load, Frames) else load
            for load in case.loads
        ]
        found.append(case._replace(options=own, loads=scaled, rounds=args.rounds or case.rounds))
    return found


def finish(args: argparse.Namespace, cases: Sequence[Case], results: Results, console: Console) -> bool:
    """Print and write what was found; return whether every bar is reached."""
    groups = results.groups if args.figures else [group for case in cases for group in results.of(case.name)]
    found = verdicts(groups)
    reached = all(each.reached for each in found)
    tables = [report.table(case, those) for case in cases if (those := results.of(case.name))]
    for table in [*tables, *([report.bars(found)] if found else [])]:
        console.print(report.terminal(table))
    for note in results.notes:
        console.print(f"- {note}", soft_wrap=True, markup=False)
    if found:
        console.print(
            "every bar reached" if reached else "below a bar: is something else using this machine?"
        )
    if args.figures:
        from penstock_bench.plots import draw_all

        results.save(args.figures / "results.json")
        draw_all(results, args.figures)
        report.write_page(results, args.figures / "results.md")
    if args.json:
        print(msgspec.json.encode(report.as_json(results, found)).decode())
    return reached


if __name__ == "__main__":
    sys.exit(main())
