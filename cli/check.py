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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import add_files, add_group, each_file
from penstock.cli._output import Answer, add_json, progress, say
from penstock.stins.texts import counted, plural

if TYPE_CHECKING:
    from penstock.checks.series_check import Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_files(parser)
    add_group(parser)
    parser.add_argument("--quick", action="store_true", help="do not read the frames themselves")
    parser.add_argument("--strict", action="store_true", help="count notes as problems")
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Check each file, and print the verdict."""
    verdicts, failed = each_file(args, partial(_check, args), args.detector)
    clean = not failed and all(verdict.is_clean(strict=args.strict) for verdict in verdicts)
    files = [{**verdict.summary(), "clean": verdict.is_clean(strict=args.strict)} for verdict in verdicts]
    files += [{"file": path, "error": why, "clean": False} for path, why in failed.items()]
    return Answer({"clean": clean, "files": files}, status=2 if failed else 0 if clean else 1)


def _check(args: argparse.Namespace, path: Path) -> Verdict:
    from penstock.checks.series_check import check_series
    from penstock.receiver.reading.reader import SeriesFile

    with SeriesFile(path, args.detector) as series:
        if args.quick:
            verdict = check_series(series, read_frames=False)
        else:
            with progress("reading frames", len(series)) as done:
                verdict = check_series(series, progress=done)
    for line in _describe(verdict, strict=args.strict):
        say(args, line)
    return verdict


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
