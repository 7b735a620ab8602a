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
from pathlib import Path

from penstock.cli._arguments.numbers import whole
from penstock.cli._arguments.targets import series_files
from penstock.cli._output import add_json, emit, say
from penstock.stins.texts import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file of a series")
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


def run(args: argparse.Namespace) -> int:
    """Integrate each file; return the exit status."""
    from penstock.cli._powder import integrate
    from penstock.cli.main import UserError
    from penstock.receiver.reading.reader import ReaderError

    written: dict[str, str] = {}
    failed: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    paths = series_files(args)
    for path in paths:
        out = (args.out or path.parent) / f"{path.stem}.xy"
        try:
            if out.exists() and not args.overwrite:
                raise FileExistsError(
                    f"{out} exists already; --overwrite replaces it, --out chooses another folder"
                )
            out.parent.mkdir(parents=True, exist_ok=True)
            found = integrate(path, points=args.points, unit=args.unit, out=out)
        except (ReaderError, OSError) as error:
            why = str(error)
            if isinstance(error, OSError) and error.strerror:
                why = f"cannot write {out}: {error.strerror}; --out chooses another folder"
            if len(paths) == 1 and not args.json:
                raise UserError(why) from error
            say(args, f"penstock integrate: {why}")
            failed[str(path)] = why
            continue
        say(args, f"{out}: {plural(args.points, 'point')} in {args.unit}; {'; '.join(found.notes)}")
        written[str(path)], notes[str(path)] = str(out), found.notes
    if args.json:
        emit({"written": written, "failed": failed, "notes": notes})
    return 2 if failed else 0
