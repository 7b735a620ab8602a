"""Measure this machine: the receiver beside a naive writer, a bare loop and two limits in C.

All take the same frames from a real generator, in turn, so that a busy machine slows all of them, and those
that write use the same folder; trust the ratios and the CPU time per frame, not a single rate. The limits
need a C compiler (apt-get install gcc); without one, they and their bars are left out.
Exit status: 0 every bar is reached, 1 one is not, 2 it cannot be measured here.

With --figures it measures everything that the performance page shows (throughput against offered rate,
sockets and I/O threads, workers, files, disk, start and end of series over Tango, profiles), five times
each, writes results.json and draws the plots. It continues an interrupted run; what was measured already is
only drawn.

Examples:
  penstock bench                              four frame sizes, three rounds: five minutes
  penstock bench --sizes 20000,200000         small frames only
  penstock bench --dir /data --rounds 5       on the storage that counts
  penstock bench --json > figures.json        nothing but JSON on standard output
  penstock bench --figures docs/performance --again    everything for the docs: three quarters of an hour
  penstock bench --figures /tmp/try --minutes 35 --disk /data    with shorter series
  penstock bench --files 2 --dir /dev/shm     instead: several files per series beside one, CPU per frame
  penstock bench --loop --rounds 5            instead: what a frame costs the loop with several files; minutes
  penstock bench --cores --dir /dev/shm       instead: one receiver on many cores, beside C; eight minutes
  penstock bench --transforms                 instead: Pilatus CBF to bslz4, beside its libraries alone
  penstock bench --viewer --dir /dev/shm      instead: what a viewer costs the data path
  penstock bench --rois --rounds 10           instead: what regions of interest cost
  penstock bench --consumers --rounds 5       instead: what a consumer costs the receiver
  penstock bench --epics --rounds 5           instead: what EPICS costs, in and out; thirteen minutes
  penstock bench --epics --part pvapy         instead: PvaPy's streaming test with and without Penstock
  penstock bench --processing --rounds 5      instead: what live processing costs; ten minutes
  penstock bench --processing --only pvapy    instead: one of its comparisons
  penstock bench --reductions --part pvapy    instead: what the built-in processors cost, or one part of it
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from penstock.cli._arguments.numbers import real, whole
from penstock.cli._output import add_json, emit, say

RAM_DISK = Path("/dev/shm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock bench`."""
    from penstock.receiver.config import MOST_FILES

    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="folder to write to (default: a RAM disk, if there is one)"
    )
    parser.add_argument(
        "--rounds", type=whole(1), default=3, metavar="N", help="runs of each contender (%(default)s)"
    )
    parser.add_argument(
        "--sizes", type=_sizes, metavar="BYTES,…", help="sizes of frames (20000,200000,2000000,20000000)"
    )
    add_json(parser)
    figures = parser.add_argument_group("everything, for the docs")
    figures.add_argument("--figures", type=Path, metavar="DIR", help="folder of results.json and the plots")
    figures.add_argument(
        "--minutes",
        type=real(above=True),
        metavar="MIN",
        help="shorten the series to finish within this time",
    )
    figures.add_argument(
        "--repeats", type=whole(1), default=5, metavar="N", help="runs of each case (%(default)s)"
    )
    figures.add_argument("--ram", type=Path, default=RAM_DISK, metavar="DIR", help="RAM disk (%(default)s)")
    figures.add_argument(
        "--disk", type=Path, metavar="DIR", help="folder on a disk (default: the temporary one)"
    )
    figures.add_argument("--again", action="store_true", help="measure again what was measured already")
    figures.add_argument(
        "--part", "--only", action="append", metavar="PART",
        help="only this part, also of --epics, --processing and --reductions; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--viewer", action="store_true", help="instead: frames of 4 million pixels, with and without a viewer"
    )
    parser.add_argument(
        "--files",
        type=whole(2, MOST_FILES),
        metavar="N",
        help="instead: N files per series beside one, CPU per frame and equal content",
    )
    parser.add_argument(
        "--loop",
        action="store_true",
        help="instead: CPU of the receiver's loop per frame with 2 and 4 files, beside no file",
    )
    parser.add_argument(
        "--cores",
        action="store_true",
        help="instead: one receiver on 16 cores and more, 1 to 6 files, modules, live, beside a C program",
    )
    parser.add_argument(
        "--rois", action="store_true", help="instead: frames of 2 MB, with and without regions of interest"
    )
    parser.add_argument(
        "--consumers",
        action="store_true",
        help="instead: the receiver without a consumer, with one by reference and one by messages",
    )
    parser.add_argument(
        "--epics", action="store_true",
        help="instead: the camera of areaDetector and the bridge to EPICS, beside their bare parts; PvaPy's "
        "streaming test with and without Penstock; --part camera, bridge or pvapy",
    )  # fmt: skip
    parser.add_argument(
        "--processing",
        action="store_true",
        help="instead: live processing beside a plain loop, dranspose and PvaPy; how workers share the work",
    )
    parser.add_argument(
        "--reductions",
        action="store_true",
        help="instead: the processors that come with Penstock, beside the programs of others; --part for one",
    )
    transforms = parser.add_argument_group("transforms")
    transforms.add_argument(
        "--transforms", action="store_true", help="instead: CBF to bslz4, frames/s per core"
    )
    transforms.add_argument(
        "--image", type=Path, metavar="FILE", help="image to tile (default: a generated one)"
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print a table; return the exit status."""
    from penstock.cli.main import UserError
    from penstock.hosts.child import ProcessFailed

    for option in ("dir", "disk", *(("ram",) if args.figures else ())):
        folder = getattr(args, option)
        if folder is not None and not folder.is_dir():
            raise UserError(f"--{option} {folder} is not a folder")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # and end what was started
    if args.dir is None and RAM_DISK.is_dir():
        args.dir = RAM_DISK  # on a disk, the disk would be measured, too
    try:
        if args.transforms:
            return _transforms(args)
        if args.files is not None:
            from penstock.bench.files_report import report as report_files

            return report_files(args.dir, args.files, args.rounds, args.json)
        if args.loop:
            from penstock.bench.loop_report import report as report_loop

            return report_loop(args.dir, args.rounds, args.json, args.sizes)
        if args.cores:
            from penstock.bench.cores_report import report as report_cores

            return report_cores(args.dir, args.rounds, args.json, args.sizes)
        if args.viewer:
            from penstock.bench.viewer_report import report

            return report(args.dir, args.rounds, args.json)
        if args.rois:
            from penstock.bench.rois_report import report as report_rois

            return report_rois(args.dir, args.rounds, args.json)
        if args.consumers:
            from penstock.bench.consumers_report import report as report_consumers

            return report_consumers(args.dir, args.rounds, args.json)
        if args.epics:
            return _epics(args)
        if args.processing:
            return _processing(args)
        if args.reductions:
            return _reductions(args)
        return _figures(args) if args.figures is not None else _compare(args)
    except (ProcessFailed, RuntimeError) as error:
        raise UserError(f"no figures: {error}") from error


def _epics(args: argparse.Namespace) -> int:
    from penstock.bench.epics_report import PARTS, report
    from penstock.cli.main import UserError

    if unknown := set(args.part or ()) - set(PARTS):
        raise UserError(f"--part {min(unknown)}; give one of {', '.join(PARTS)}")
    return report(args.dir, args.rounds, args.json, args.part or ())


def _processing(args: argparse.Namespace) -> int:
    from penstock.bench.processing_report import PARTS, report
    from penstock.cli.main import UserError

    if unknown := set(args.part or ()) - set(PARTS):
        raise UserError(f"--only {min(unknown)}; give one of {', '.join(PARTS)}")
    return report(args.dir, args.rounds, args.json, args.part or ())


def _reductions(args: argparse.Namespace) -> int:
    from penstock.bench.reductions import PARTS
    from penstock.bench.reductions_report import report
    from penstock.cli.main import UserError

    if unknown := set(args.part or ()) - set(PARTS):
        raise UserError(f"--part {min(unknown)}; give one of {', '.join(PARTS)}")
    return report(args.part or (), args.rounds, args.json)


def _transforms(args: argparse.Namespace) -> int:
    from penstock.bench.transforms_report import report
    from penstock.cli.main import UserError

    if args.image is not None and not args.image.is_file():
        raise UserError(f"--image {args.image} is not a file")
    return report(args.image, args.rounds, args.json)


def _compare(args: argparse.Namespace) -> int:
    from rich.console import Console

    from penstock.bench import report
    from penstock.bench.compare import SIZES, compare
    from penstock.bench.limit import build
    from penstock.bench.results import verdicts_on

    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as tools,
        tempfile.TemporaryDirectory(dir=args.dir, prefix="penstock-bench-") as folder,
        console.status("starting", refresh_per_second=1) as status,
    ):
        limit = build(Path(tools))
        if limit is None:
            console.print(
                "no C compiler here, so no limits are measured; to install one: apt-get install gcc"
            )
        measured = compare(Path(folder), args.rounds, status.update, args.sizes or SIZES, limit)
    verdicts = verdicts_on(measured)
    Console(stderr=args.json).print(report.table(measured), report.bars(verdicts))
    reached = all(verdict.reached for verdict in verdicts)
    say(args, "every bar reached" if reached else "below a bar: is something else using this machine?")
    if args.json:
        emit(report.summary(measured, verdicts))
    return 0 if reached else 1


def _figures(args: argparse.Namespace) -> int:
    from rich.console import Console

    from penstock.cli.extras import install_command
    from penstock.cli.main import UserError

    missing = [name for name in ("matplotlib", "tango") if find_spec(name) is None]
    if missing:
        raise UserError(f"--figures needs {missing[0]}: {install_command('tango,receiver,gui')}")
    from penstock.bench import report
    from penstock.bench.campaign import BARS_PART, Campaign, parts
    from penstock.bench.page import write_page
    from penstock.bench.plots import draw_all
    from penstock.bench.results import verdicts_on

    unknown = set(args.part or ()) - set(parts())
    if unknown:
        raise UserError(f"--part {min(unknown)}; give one of {', '.join(parts())}")
    try:
        args.figures.mkdir(parents=True, exist_ok=True)
        file = args.figures / "results.json"
        campaign = Campaign(
            file, ram=args.ram, disk=args.disk or Path(tempfile.gettempdir()),
            repeats=args.repeats, minutes=args.minutes, only=args.part, again=args.again,
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"--figures {args.figures}: {error.strerror}; give a folder to write to") from error
    except ValueError as error:
        raise UserError(str(error)) from error
    results = campaign.run(Console(stderr=True))
    draw_all(results, args.figures)
    write_page(results, args.figures / "results.md")
    verdicts = verdicts_on(results.of(BARS_PART))
    if verdicts:
        Console(stderr=args.json).print(report.bars(verdicts))
    say(args, "every bar reached" if results.reached else "below a bar: see results.md")
    if args.json:
        emit({"reached": results.reached, "results": file})
    return 0 if results.reached else 1


def _sizes(text: str) -> list[int]:
    from penstock.bench.compare import SIZES

    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; write bytes such as 20000,200000') from None
    if unknown := set(found) - set(SIZES):
        raise argparse.ArgumentTypeError(f"{min(unknown)}; give sizes from {', '.join(map(str, SIZES))}")
    return found
