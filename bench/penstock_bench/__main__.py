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
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from penstock_bench import report
from penstock_bench.bars import verdicts
from penstock_bench.cases import CASES, PAGE, Case, chosen
from penstock_bench.results import Frames, Results, describe, load
from penstock_bench.runner import Bench, folders, measure

RAM_DISK = Path("/dev/shm")
BUSY_LOAD = 1.0
"""Load average from which on other programs disturb the measurement."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    title, _, text = (__doc__ or "").partition("\n")
    cases = "\n".join(
        f"  {case.name:22}{case.what}" + (f" [{', '.join(f'{k}={v}' for k, v in case.options.items())}]"
                                          if case.options else "")
        for case in CASES
    )  # fmt: skip
    found = argparse.ArgumentParser(
        prog="python -m penstock_bench", description=title, epilog=f"{text}\ncases:\n{cases}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("cases", nargs="*", metavar="CASE", help="what to measure (contenders)")
    found.add_argument("--rounds", type=int, metavar="N", help="turns of each contender (by case)")
    found.add_argument(
        "--only", action="append", default=[], metavar="LOAD", help="this load; may be repeated"
    )
    found.add_argument("--scale", type=float, default=1.0, metavar="X", help="of the length of series (1)")
    found.add_argument("--dir", type=Path, metavar="DIR", help="folder to write to (a RAM disk)")
    found.add_argument("--disk", type=Path, metavar="DIR", help="folder on a disk (the temporary one)")
    found.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of a case")
    found.add_argument(
        "--figures", type=Path, metavar="DIR", help="keep results, and draw plots and page here"
    )
    found.add_argument("--again", action="store_true", help="measure again what is kept there")
    found.add_argument("--json", action="store_true", help="print JSON, and tables on standard error")
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
        known = {str(getattr(each, "name", each)) for case in cases for each in case.loads}
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
    with ExitStack() as stack:
        folder, disk = folders(stack, ram, args.disk)
        machine = describe({"RAM disk": folder, "disk": disk})
        results = earlier or Results(machine=machine)
        results.machine = machine
        status = stack.enter_context(
            errors.status("starting", refresh_per_second=1) if errors.is_terminal else nullcontext()
        )
        say = status.update if status else lambda text: None
        failed = False
        for case in cases:
            bench = Bench(folder=folder, disk=disk, rounds=case.rounds, options=case.options, say=say)
            for _ in measure(case, results, bench, args.only, again=args.again or not kept):
                if kept:
                    results.save(kept)
            failed |= bench.failed
    return finish(args, cases, results, console, failed)


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
    return [
        case._replace(
            options={name: values.get(name, value) for name, value in case.options.items()},
            loads=[
                each.of(round(each.count * args.scale)) if isinstance(each, Frames) else each
                for each in case.loads
            ],
            rounds=args.rounds or case.rounds,
        )
        for case in cases
    ]


def finish(
    args: argparse.Namespace, cases: Sequence[Case], results: Results, console: Console, failed: bool
) -> int:
    """Print and write what was found; return the exit status."""
    groups = results.groups if args.figures else [group for case in cases for group in results.of(case.name)]
    found = verdicts(groups)
    for case in cases:
        if those := results.of(case.name):
            console.print(report.terminal(report.table(case, those)))
    if found:
        console.print(report.terminal(report.bars(found)))
    if not args.figures and (busy := results.machine.load) > BUSY_LOAD:
        console.print(f"- other programs were running before (load average {busy:.1f}): rates are too low")
    for note in results.notes:
        console.print(f"- {note}", soft_wrap=True, markup=False)
    if args.figures:
        from penstock_bench.plots import draw_all

        results.save(args.figures / "results.json")
        draw_all(results, args.figures)
        report.write_page(results, args.figures / "results.md")
    reached = all(each.reached for each in found)
    if found:
        console.print(
            "every bar reached" if reached else "below a bar: is something else using this machine?"
        )
    if args.json:
        print(msgspec.json.encode(report.as_json(results, found)).decode())
    return 2 if failed else 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
