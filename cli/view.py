"""Watch a receiver live.

Examples:
  penstock view http://127.0.0.1:5000            the receiver at this address
  penstock view sim-1                            the receiver of this name in the configuration
  penstock view sim-1 --log --rate 5             logarithmic colours, five frames per second at most
  penstock view sim-1 --downsample 4             blocks of 4 x 4 pixels: a large detector over a slow network
  penstock view sim-1 --screenshot now.png       a picture of the window after one frame; needs no screen

The viewer requests no more than it draws, and only reads: pausing or closing it does not affect the
series. Colours, scale, tools and size are remembered for each detector.

If no receiver answers at first, it waits for one, and says so in the terminal, too.

Exit status: 0 the window was closed or its picture is written, 2 there is no picture, no screen, or no such
address.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from penstock.cli._address import add_receiver, receiver_url
from penstock.cli._numbers import real, whole
from penstock.cli.main import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    parser.add_argument(
        "--rate",
        type=real(above=True),
        default=10.0,
        metavar="HZ",
        help="frames per second at most (default: %(default)g)",
    )
    parser.add_argument("--log", action="store_true", help="begin with logarithmic colours")
    parser.add_argument(
        "--colours",
        choices=("viridis", "gray", "reversed gray", "fire", "inferno"),
        help="colour map (default: viridis)",
    )
    parser.add_argument(
        "--downsample",
        type=whole(1),
        metavar="N",
        help="transfer the greatest of N x N pixels only: no pixel can be read then",
    )
    parser.add_argument(
        "--backend", choices=("mpl", "gl"), default="mpl",
        help="mpl works everywhere, gl uses the graphics card (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--theme", choices=("dark", "light", "auto"), default="dark",
        help="auto: as the desktop (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="write the window's picture and end")
    parser.add_argument(
        "--after-frames", type=whole(0), default=1, metavar="N",
        help="frames to draw before the picture is taken (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--deadline", type=real(above=True), default=60.0, metavar="SECONDS",
        help="longest wait for the picture (default: %(default)g)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Show the window until it is closed."""
    url = receiver_url(args.receiver, args.config)

    from penstock.gui.live.display import why_no_display

    if args.screenshot is not None and why_no_display(os.environ) and args.backend == "mpl":
        os.environ["QT_QPA_PLATFORM"] = "offscreen"

    # Before the check of the screen: a missing silx should be reported without a screen, too.
    from penstock.gui.live.app import Options
    from penstock.gui.live.app import run as show

    if (trouble := why_no_display(os.environ)) is not None:
        raise UserError(trouble)
    trouble = show(
        Options(
            url=url, rate=args.rate, logarithmic=args.log,
            downsample=args.downsample, colours=args.colours, backend=args.backend, theme=args.theme,
            screenshot=args.screenshot, after_frames=args.after_frames, deadline=args.deadline,
        ),
        ready=lambda: print(f"watching {url}", flush=True),
        waits=lambda why: print(f"penstock view: {why}", file=sys.stderr, flush=True),
    )  # fmt: skip
    if trouble is not None:
        raise UserError(trouble)
    return 0
