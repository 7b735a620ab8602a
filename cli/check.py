"""Check files: counts, gaps, NeXus structure, and whether every frame can be read.

A file is clean when it is consistent and complete. Exit status: 0 all clean, 1 there are problems,
2 a file cannot be opened at all. Notes (late messages, a missing account in another program's file)
count as problems only with --strict.

Examples:
  penstock check /data/scan-0007.h5
  penstock check --quick /data/*.h5            # counts and structure only, no frames read
  penstock check --json /data/scan-0007.h5 | jq .clean
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import series_files
from penstock.cli._output import add_json, emit, say
from penstock.stins.texts import counted, plural

if TYPE_CHECKING:
    from penstock.checks.series_check import Verdict
    from penstock.receiver.reading.reader import SeriesFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file of a series")
    parser.add_argument(
        "--detector", metavar="GROUP", help="name of the NXdetector group, where a file has several"
    )
    parser.add_argument("--quick", action="store_true", help="do not read the frames themselves")
    parser.add_argument("--strict", action="store_true", help="count notes as problems")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Check each file, print the verdict; return the exit status."""
    from penstock.cli.main import UserError
    from penstock.receiver.reading.reader import ReaderError, SeriesFile

    verdicts: list[Verdict] = []
    failed: list[dict[str, str]] = []
    paths = series_files(args, args.detector)
    for path in paths:
        try:
            with SeriesFile(path, args.detector) as series:
                verdict = _check(series, quick=args.quick)
        except ReaderError as error:
            if len(paths) == 1 and not args.json:
                raise UserError(str(error)) from error
            say(args, f"penstock check: {error}")
            failed.append({"file": str(path), "error": str(error)})
            continue
        verdicts.append(verdict)
        for line in _describe(verdict, strict=args.strict):
            say(args, line)
    clean = not failed and all(verdict.is_clean(strict=args.strict) for verdict in verdicts)
    if args.json:
        files = [{**verdict.summary(), "clean": verdict.is_clean(strict=args.strict)} for verdict in verdicts]
        emit({"clean": clean, "files": [*files, *({**item, "clean": False} for item in failed)]})
    return 2 if failed else 0 if clean else 1


def _check(series: SeriesFile, *, quick: bool) -> Verdict:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from penstock.checks.series_check import check_series

    # On stderr, and only on a terminal: the output itself stays plain.
    console = Console(stderr=True)
    with Progress(
        TextColumn("reading frames"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=quick or not console.is_terminal,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=len(series))
        return check_series(
            series, read_frames=not quick, progress=lambda count: progress.update(task, completed=count)
        )


def _describe(verdict: Verdict, *, strict: bool) -> Iterator[str]:
    frames, *shape = verdict.shape
    planned = "unknown" if verdict.planned is None else f"{verdict.planned:,}"
    size = " x ".join(map(str, shape)) or "no frames"
    yield f"{verdict.file}: {'clean' if verdict.is_clean(strict=strict) else 'NOT clean'}"
    kind = f"  {verdict.detector}: {plural(frames, 'frame')} of {size} {verdict.dtype or ''}".rstrip()
    yield f"{kind}, {planned} planned"
    shown = {name: count for name, count in verdict.counts.items() if count}
    if shown:
        yield "  " + ", ".join(counted(count, name) for name, count in shown.items())
    for finding in verdict.findings:
        yield f"  {finding.level}: {finding.sentence}"
