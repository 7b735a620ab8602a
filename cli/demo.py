"""Take a first series: a simulated detector, controlled through Tango, into a NeXus file.

Examples:
  penstock demo                               100 frames into ./penstock-demo
  penstock demo --frames 1000 --out /data/try
  penstock demo --view                        and watch them arrive
  penstock demo --panel                       the same in the control panel, which then stays open
  penstock demo --detector eiger              an EIGER2 with a simulated DECTRIS control unit
  penstock demo --detector eiger --stream v2  the same with its newer stream
  penstock demo --detector pilatus            a PILATUS3 with a simulated camserver and a light streamer
  penstock demo --detector genicam            a GigE Vision camera, the fake one of libaravis
  penstock demo --detector areadetector       a simulated areaDetector IOC, over EPICS pvAccess
  penstock demo --detector jungfrau           PSI's own virtual JUNGFRAU (or moench; make judges builds them)
  penstock demo --json | jq .file             nothing but JSON on standard output

It starts everything that a beamline has (Tango database, device server, streamer, receiver) on this
machine only, on free ports, and stops all of it at the end. A second run writes a second file. The Tango
database of this machine, if one is configured, is left alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli._arguments.numbers import whole
from penstock.cli._demonstrations import leave_when_asked_to_end, needs_windows, print_views, viewer, window
from penstock.cli._output import Answer, add_json, console
from penstock.stins.errors import UserError
from penstock.stins.texts import plural

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.beamline.demonstration import Demonstration, Outcome
    from penstock.beamline.stage import Staged
    from penstock.hosts.child import Child


DETECTORS = ("simulator", "eiger", "pilatus", "genicam", "jungfrau", "moench", "areadetector")
"""The keys of `penstock.beamline.stage.MODELS` in small letters."""
FRAMES = 100
FRAMES_IN_A_WINDOW = 1000
"""Long enough to look at: twenty seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock demo`."""
    parser.add_argument(
        "--frames",
        type=whole(1),
        metavar="N",
        help=f"frames to take ({FRAMES}, or {FRAMES_IN_A_WINDOW} with a window)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("penstock-demo"),
        metavar="DIR",
        help="folder of the files (%(default)s)",
    )
    parser.add_argument(
        "--detector",
        choices=DETECTORS,
        default="simulator",
        help="simulated detector (%(default)s)",
    )
    parser.add_argument(
        "--stream",
        choices=("v1", "v2"),
        help="stream of the EIGER's control unit (v1); with --detector eiger",
    )
    window = parser.add_mutually_exclusive_group()
    window.add_argument(
        "--view", action="store_true", help="open the live viewer; the demo ends when it is closed"
    )
    window.add_argument(
        "--panel", action="store_true", help="open the control panel; the demo ends when it is closed"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Run it."""
    from penstock.beamline.demonstration import Demonstration
    from penstock.gui.display import why_no_display

    opens = _viewer if args.view else _panel if args.panel else None
    frames = args.frames if args.frames is not None else FRAMES if opens is None else FRAMES_IN_A_WINDOW
    if opens is not None:
        import_module("silx")  # its absence, and a screen's, is said before anything is started
        if (trouble := why_no_display(os.environ)) is not None:
            raise UserError(trouble)
    leave_when_asked_to_end()
    # Text for people goes to standard error when a program reads standard output.
    words = console(args)
    with contextlib.ExitStack() as stack:
        demonstration = stack.enter_context(
            Demonstration(
                args.out, progress=lambda text: words.print(f"[dim]{text}[/dim]"), staged=_staged(args)
            )
        )
        opened = stack.enter_context(opens(demonstration)) if opens is not None else None
        outcome = _take(demonstration, frames, words)
        _report(outcome, words, at_panel=args.panel, same=_same(args))
        if opened is not None:
            words.print(
                f"\nOther clients reach {demonstration.detector} with "
                f"TANGO_HOST={demonstration.tango_host}\nClose {opened.name} to end."
            )
            opened.wait()
    return Answer(_summary(outcome), status=0 if outcome.complete else 1)


def _staged(args: argparse.Namespace) -> Staged:
    from penstock.beamline import stage

    if args.detector == "eiger":
        return stage.eiger(args.stream or "v1")
    if args.stream is not None:
        raise UserError(f"--stream {args.stream} is for --detector eiger, not for {args.detector}")
    return next(make() for model, make in stage.MODELS.items() if model.lower() == args.detector)


def _same(args: argparse.Namespace) -> str:
    """Return the options that choose the same detector again."""
    if args.detector == "simulator":
        return ""
    return f" --detector {args.detector}" + (f" --stream {args.stream}" if args.stream else "")


def _take(demonstration: Demonstration, frames: int, console: Console) -> Outcome:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("frames written", total=frames)
        try:
            return demonstration.take(frames, lambda written: progress.update(bar, completed=written))
        except KeyboardInterrupt:
            console.print(f"stopped: penstock check {demonstration.folder}/*.h5 says what was taken")
            raise


def _report(outcome: Outcome, console: Console, *, at_panel: bool, same: str) -> None:
    file = outcome.file
    console.print(
        f"\n[bold]{outcome.counts['stored']:,} of {plural(outcome.frames, 'frame')}[/bold] in {file} "
        f"({file.stat().st_size / 1e6:.1f} MB, {outcome.seconds:.1f} s)\n{outcome.status}\n\nLook at it:"
    )
    print_views(console, file, f"penstock check {file}")
    console.print(
        f"  python -c \"import h5py, hdf5plugin; f = h5py.File('{file}'); d = f['entry/data/data']; "
        'print(d.shape, d[0].max())"',
        markup=False,
    )
    how = "which is open" if at_panel else f"\n  penstock demo{same} --panel{needs_windows()}"
    console.print(
        f"\nTake the next one yourself, in the control panel{', ' if at_panel else ':'}{how}", markup=False
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    return {
        "file": str(outcome.file),
        "frames": outcome.frames,
        "complete": outcome.complete,
        "seconds": round(outcome.seconds, 3),
        "counts": outcome.counts,
    }


def _viewer(demonstration: Demonstration) -> Child[bool]:
    """Return the live viewer; it opens before the series."""
    return viewer(demonstration.receiver_url, TANGO_HOST=demonstration.tango_host)


def _panel(demonstration: Demonstration) -> Child[bool]:
    """Return the control panel in the same way."""
    host = demonstration.tango_host
    return window("the panel", "following ", "panel", demonstration.detector, TANGO_HOST=host)
