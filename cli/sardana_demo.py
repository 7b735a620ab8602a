"""Try Sardana with a simulated detector: motors, step scans, fly scans, at spock's prompt.

Examples:
  penstock sardana-demo                                   opens spock; exit, or Ctrl-D, stops everything
  penstock sardana-demo -- "ascan mot01 0 1 20 0.1"       one step scan, without spock
  penstock sardana-demo --out /data/try -- "ct 1" "wa"    several macros, one after the other
  penstock sardana-demo --view                            and watch the images arrive
  penstock sardana-demo --json -- "ct 1" | jq .images     nothing but JSON on standard output

It starts a Tango database, a Pool, a MacroServer, a Door, two motors, a timer, a simulated detector and
its receiver, on this machine only, on free ports, and stops all of it at the end. Your Tango database and
your spock profiles are neither read nor changed; this spock has no windows (expconf, showscan). A second run
writes files of its own.

Exit status: 0 all macros succeeded, 1 one did not (those after it are not run), 2 the demo cannot start.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli._demonstrations import leave_when_asked_to_end, print_views, viewer
from penstock.cli._output import add_json, console, emit
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.sardana.door import Door, MacroRun
    from penstock.sardana.laboratory.demonstration import SardanaDemonstration

WELCOME = """
Spock is Sardana's command line. Try:

  wa                                  where the motors are
  det_status                          the state of the detector
  ct 0.5                              one image, and the timer's counts
  ascan mot01 0 1 20 0.1              a step scan: 21 points, an image at each
  senv ActiveMntGrp fly               from now on, triggers from the line tg01
  ascanct mot01 0 1 20 0.1            a fly scan: an image in each of 21 intervals

Tab completes names; Ctrl-C stops a scan; exit, or Ctrl-D, stops everything. Files are in
{folder}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock sardana-demo`."""
    parser.add_argument(
        "macros", nargs="*", metavar="MACRO",
        help='after --: a macro with its parameters, in quotes, to run instead of spock: "ct 1"',
    )  # fmt: skip
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("penstock-sardana-demo"),
        metavar="DIR",
        help="folder of the files (%(default)s)",
    )
    parser.add_argument("--view", action="store_true", help="open the live viewer, too")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from penstock.sardana.laboratory.demonstration import SardanaDemonstration

    for package in ("sardana", "itango"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    commands = [(macro, _split(macro)) for macro in args.macros]
    if args.json and not commands:
        raise UserError('--json needs macros to run: penstock sardana-demo --json -- "ct 1"')
    leave_when_asked_to_end()
    words = console(args)
    runs: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        words.print("[dim]This takes a few seconds; everything is stopped when the command ends.[/dim]")
        demonstration = stack.enter_context(
            SardanaDemonstration(args.out, progress=lambda text: words.print(f"[dim]{text}[/dim]"))
        )
        window = stack.enter_context(viewer(demonstration.receiver_url)) if args.view else None
        if commands:
            status = _run_macros(demonstration.door, commands, words, runs)
        else:
            words.print(WELCOME.format(folder=demonstration.folder), markup=False)
            status = demonstration.run_spock()
        _report(demonstration, words)
        if args.json:
            emit(_summary(demonstration, runs))
        if window is not None and commands and status != 128 + signal.SIGINT:
            words.print("\nClose the viewer to end.")
            window.wait()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # already ending
        words.print("[dim]stopping Sardana, the detector and the database[/dim]")
    return status


def _split(macro: str) -> list[str]:
    """Return the words of a macro's line; brackets around a list are words of their own."""

    lexer = shlex.shlex(macro, posix=True, punctuation_chars="[]")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = [part for word in lexer for part in (word if set(word) <= set("[]") else [word])]
    except ValueError as error:
        raise UserError(f"macro {macro!r}: {str(error).lower()}") from error
    if not words:
        raise UserError('an empty macro; write, for example: penstock sardana-demo -- "ct 1"')
    return words


def _run_macros(
    door: Door, commands: list[tuple[str, list[str]]], words: Console, runs: list[dict[str, Any]]
) -> int:
    """Run one after the other, up to the first that fails; add each to `runs`; return the exit status."""
    import tango

    from penstock.sardana.laboratory.macro_screen import MacroScreen

    screen = MacroScreen(words)
    door.on_message = screen.on_message
    for macro, command in commands:
        words.print(f"\n> {macro}", style="bold", markup=False)
        begun = time.monotonic()
        status = 0
        try:
            ended, status = _run_macro(door, command)
        except tango.DevFailed as error:
            why = error.args[0].desc.strip()
            words.print(why, style="red", markup=False)
            ending, status = "refused", 1
        else:
            screen.flush()
            why, ending = ended.error, ended.ending
            status = status or int(ending != "finish")
        runs.append(
            {
                "macro": macro, "ending": ending, "error": why,
                "seconds": round(time.monotonic() - begun, 3),
            }
        )  # fmt: skip
        if status:
            return status
    return 0


def _run_macro(door: Door, command: list[str]) -> tuple[MacroRun, int]:
    """Run one macro; Ctrl-C stops it, a second Ctrl-C aborts it, as in spock."""
    running = door.start(*command)
    for end in (door.stop, door.abort):
        try:
            return door.wait(running, timeout=float("inf")), 0 if end == door.stop else 128 + signal.SIGINT
        except KeyboardInterrupt:
            end()
    return door.wait(running, timeout=float("inf")), 128 + signal.SIGINT


def _report(demonstration: SardanaDemonstration, words: Console) -> None:
    """Print where the files are, and how to look at them."""
    images = demonstration.image_files()
    scan = demonstration.scan_file
    if scan.exists():
        words.print(f"\n[bold]Sardana's scan file[/bold]: {scan}")
        print_views(words, scan)
        words.print(
            f"  python -c \"import h5py, hdf5plugin; f = h5py.File('{scan}'); "
            "s = f[f.attrs['default']]['measurement']; print(s['sim'].shape, s['mot01'][:])\"",
            markup=False,
        )
    if images:
        words.print(f"\n[bold]The detector's files[/bold]: {len(images)} in {demonstration.folder}")
        print_views(words, images[-1], f"penstock check {images[-1]}")
    if not images and not scan.exists():
        words.print("\nNo file was written.")


def _summary(demonstration: SardanaDemonstration, runs: list[dict[str, Any]]) -> dict[str, Any]:
    scan = demonstration.scan_file
    return {
        "macros": runs,
        "folder": demonstration.folder,
        "scan_file": scan if scan.exists() else None,
        "images": demonstration.image_files(),
    }
