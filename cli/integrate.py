"""Integrate series files to powder patterns with pyFAI: geometry, mask and energy are those in the file.

The stored frames of a file become one mean curve, and the curve says how many they are. For a file without
geometry, or for anything more than a look, see docs/how-to/integrate-with-pyfai.md. An existing curve is
replaced only with --overwrite.
Exit status: 0 all were integrated, 2 a file cannot be.

Examples:
  penstock integrate /data/scan-0007.h5                  # writes /data/scan-0007.xy
  penstock integrate --unit q_A^-1 --points 2000 /data/*.h5
  penstock integrate --out /tmp/curves --json /data/scan-0007.h5 | jq .written
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from penstock.cli._arguments.numbers import whole
from penstock.cli._arguments.targets import add_files, each_file
from penstock.cli._output import Answer, add_json, say
from penstock.stins.errors import UserError
from penstock.stins.texts import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_files(parser)
    parser.add_argument(
        "--unit", default="2th_deg", choices=("2th_deg", "q_A^-1", "q_nm^-1", "r_mm"),
        help="unit of the abscissa (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--points", type=whole(1), default=1000, metavar="N", help="points per curve (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the curves (default: beside each file)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing curves")
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Integrate each file."""
    found, failed = each_file(args, partial(_integrate, args))
    written = {path: out for path, out, _ in found}
    notes = {path: each for path, _, each in found}
    return Answer({"written": written, "failed": failed, "notes": notes}, status=2 if failed else 0)


def _integrate(args: argparse.Namespace, path: Path) -> tuple[str, str, tuple[str, ...]]:
    """Return the path, that of the curve, and notes on it."""
    from penstock.cli._powder import integrate

    out = (args.out or path.parent) / f"{path.stem}.xy"
    if out.exists() and not args.overwrite:
        raise UserError(f"{out} exists already; --overwrite replaces it, --out chooses another folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        found = integrate(path, points=args.points, unit=args.unit, out=out)
    except OSError as error:
        why = error.strerror and f"cannot write {out}: {error.strerror}; --out chooses another folder"
        raise UserError(why or str(error)) from error
    say(args, f"{out}: {plural(args.points, 'point')} in {args.unit}; {'; '.join(found.notes)}")
    return str(path), str(out), found.notes
