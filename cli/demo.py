"""Take a first series: a simulated detector, controlled through Tango, into a NeXus file.

Examples:
  penstock demo                               100 frames into ./penstock-demo
  penstock demo --frames 1000 --out /data/try
  penstock demo --view                        and watch them come in
  penstock demo --json | jq .file             nothing but JSON on standard output

It brings up everything that a beamline has (Tango database, device server, streamer, receiver) on
this machine only, on free ports, and ends all of it again. A second run writes a second file. The Tango
database of this machine, if one is configured, is left alone.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli._numbers import whole
from penstock.cli._output import add_json, console, emit
from penstock.stins.texts import plural

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.devices._base.demonstration import Demonstration, Outcome
    from penstock.devices._base.processes import Child


FRAMES = 100
FRAMES_IN_VIEW = 1000
"""Long enough to look at: twenty seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock demo`."""
    parser.add_argument(
        "--frames",
        type=whole(1),
        metavar="N",
        help=f"frames to take ({FRAMES}, with --view {FRAMES_IN_VIEW})",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("penstock-demo"),
        metavar="DIR",
        help="folder of the files (%(default)s)",
    )
    parser.add_argument("--view", action="store_true", help="open the live viewer; ends when it is closed")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from penstock.cli.main import UserError
    from penstock.devices._base.demonstration import Demonstration, DemonstrationFailed
    from penstock.devices._base.processes import ProcessFailed

    frames = args.frames if args.frames is not None else FRAMES_IN_VIEW if args.view else FRAMES
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # through every `with`
    # Words for people go to standard error when a machine reads standard output.
    words = console(args)
    try:
        with contextlib.ExitStack() as stack:
            demonstration = stack.enter_context(Demonstration(args.out, note=_note(words)))
            viewer = _open_viewer(demonstration, stack) if args.view else None
            outcome = _take(demonstration, frames, words)
            _report(outcome, words)
            if viewer is not None:
                words.print("\nClose the viewer to end.")
                viewer.wait()
    except (DemonstrationFailed, ProcessFailed) as error:
        raise UserError(str(error)) from error
    if args.json:
        emit(_summary(outcome))
    return 0 if outcome.complete else 1


def _take(demonstration: Demonstration, frames: int, console: Console) -> Outcome:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("frames written", total=frames)
        return demonstration.take(frames, lambda written: progress.update(bar, completed=written))


def _report(outcome: Outcome, console: Console) -> None:
    from penstock.cli.extras import install_command

    file = outcome.file
    console.print(
        f"\n[bold]{outcome.counts['stored']} of {plural(outcome.frames, 'frame')}[/bold] in {file} "
        f"({file.stat().st_size / 1e6:.1f} MB, {outcome.seconds:.1f} s)\n{outcome.status}\n\nLook at it:"
    )
    missing = "" if find_spec("silx") else f"   # needs: {install_command('gui')}"
    console.print(f"  penstock check {file}\n  silx view {file}{missing}", markup=False)
    console.print(
        f"  python -c \"import h5py, hdf5plugin; f = h5py.File('{file}'); d = f['entry/data/data']; "
        'print(d.shape, d[0].max())"',
        markup=False,
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    return {
        "file": str(outcome.file),
        "frames": outcome.frames,
        "complete": outcome.complete,
        "seconds": round(outcome.seconds, 3),
        "counts": outcome.counts,
    }


def _note(console: Console) -> Callable[[str], None]:
    return lambda text: console.print(f"[dim]{text}[/dim]")


def _open_viewer(demonstration: Demonstration, stack: contextlib.ExitStack) -> Child[bool]:
    """The live viewer in a process of its own, which the user closes; it is there before the series."""
    from penstock.devices._base.processes import PENSTOCK, Child

    def is_open(line: str) -> bool | None:
        return line.startswith("watching ") or None

    argv = (*PENSTOCK, "view", demonstration.receiver_url, "--log")
    viewer: Child[bool] = Child("the viewer", argv, is_open, deadline=60.0)
    stack.enter_context(viewer)
    return viewer
