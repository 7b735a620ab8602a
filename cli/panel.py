"""Control detectors.

Examples:
  penstock panel sim/det/1                       one detector
  penstock panel sim/det/1 eiger/det/1           several, as tabs
  penstock panel                                 all detectors, receivers and pipelines in the Tango database
  penstock panel tango://10.1.0.5:10000/sim/det/1
                                                 a detector of another database than TANGO_HOST's
  penstock panel sim/det/1 --theme light         for a desk in daylight
  penstock panel sim/det/1 --presets /beamline/presets
                                                 with the presets of settings that the site shares
  penstock panel sim/det/1 --screenshot now.png  a picture once all have answered; needs no screen

The panel is built from each device's own description, and follows its events. It may be started before the
device, the receiver or the database: it says what it is waiting for, in the terminal, too. Closing it ends no
series.

Presets are named sets of settings, one JSON file each: yours in ~/.config/penstock/presets, those of the site
in the folders of --presets and of the environment variable PENSTOCK_PRESETS (several as in PATH).

Exit status: 0 the window was closed or its picture is written, 2 there is no picture or no screen, or a
device name is not valid.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from penstock.cli._arguments.numbers import real
from penstock.cli._output import end, end_now
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "devices", nargs="*", metavar="DEVICE",
        help="Tango name, three parts, or tango://HOST:PORT/ and three parts; none: a page of all",
    )  # fmt: skip
    parser.add_argument(
        "--theme", choices=("auto", "dark", "light"), default="dark",
        help="auto: as the desktop (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--presets", type=Path, action="append", default=[], metavar="DIR",
        help="folder of presets that the site shares; may be given several times",
    )  # fmt: skip
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="write the window's picture and end")
    parser.add_argument(
        "--size", type=_size, metavar="WxH", help="size of the window in pixels (default: the last one)"
    )
    parser.add_argument(
        "--deadline", type=real(above=True), default=60.0, metavar="SECONDS",
        help="longest wait for the picture (default: %(default)g)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Show the window until it is closed."""
    from penstock.gui.model.tango.device_name import checked

    devices = tuple(checked(name) for name in args.devices)

    from penstock.gui.display import why_no_display

    if args.screenshot is not None and why_no_display(os.environ):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"

    # Before the check of the screen: a missing Qt should be reported without a screen, too.
    from penstock.gui.panel.app import Options
    from penstock.gui.panel.app import run as show

    if (trouble := why_no_display(os.environ)) is not None:
        raise UserError(trouble)
    trouble = show(
        Options(
            devices=devices, theme=args.theme, screenshot=args.screenshot, size=args.size,
            presets=tuple(args.presets), deadline=args.deadline,
        ),
        ready=lambda: print(f"following {', '.join(devices) or 'all detectors'}", flush=True),
        waits=lambda why: print(f"penstock panel: {why}", file=sys.stderr, flush=True),
    )  # fmt: skip
    if trouble is not None:
        raise UserError(trouble)
    if args.screenshot is None:
        end_now(0)
    return end(0)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) >= 960 and int(height) >= 600):
        raise argparse.ArgumentTypeError(
            f'"{text}"; give width and height, such as 1280x800; at least 960x600'
        )
    return int(width), int(height)
