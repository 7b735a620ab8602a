"""Watch receivers and pipelines live, and look at what was taken.

Each argument is a receiver, a pipeline or a file. One with :// is an address, which tells by itself whether
it is a receiver's or a pipeline's; a pipeline's YAML file has its address; a name in the configuration comes
before a file of this name; ./NAME is always a file. Files: Penstock's own, also while they are written, those
of scans, any NXdata, master files of DECTRIS, CBF, TIFF, EDF, and result files of pipelines.

Examples:
  penstock view http://127.0.0.1:5000            the receiver at this address
  penstock view sim-1                            the receiver of this name in the configuration
  penstock view /data/scan-0007.h5               a file, from its first frame on
  penstock view run_master.h5 --frame 1200       a file, from this frame on
  penstock view sim-1 sim-2 --tiles              two detectors side by side; without --tiles, in tabs
  penstock view sim-1 sim-2 sim-3 --wall         full screen: pictures, states and counts
  penstock view sim-1 --log --rate 5             logarithmic colours, five frames per second at most
  penstock view sim-1 --downsample 4             blocks of 4 x 4 pixels: a large detector over a slow network
  penstock view http://127.0.0.1:5100            the results of the pipeline at this address
  penstock view azim.yaml                        the pipeline of this file, with its usual address
  penstock view scan-0007.azim.h5 --all-frames   a result file, its curves as rows of one image
  penstock view sim-1 --screenshot now.png       a picture of the window after one frame; needs no screen

Of results the first curve is shown; --result NAME begins with another one.

The slider below the picture goes to any frame that the file has; of a series without a file, to those that
this window has shown last (up to 256 MB). The viewer requests no more than it draws, and only reads: pausing
or closing it does not affect the series. Colours, scale, tools and size are remembered for each detector.

If no receiver answers at first, it waits for one, and says so in the terminal, too.

Exit status: 0 the window was closed or its picture is written, 2 there is no picture, no screen, or no such
address or file.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from penstock.cli._arguments.numbers import real, whole
from penstock.cli._arguments.targets import address_in, is_file, receiver_url
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "what", nargs="*", default=["http://127.0.0.1:5000"], metavar="URL|NAME|FILE",
        help="addresses of receivers and pipelines, names of receivers in the configuration, and files "
        "(default: http://127.0.0.1:5000)",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file with NAME")
    parser.add_argument("--frame", type=whole(0), metavar="INDEX", help="of files, the frame to begin with")
    parser.add_argument(
        "--result", metavar="NAME", default="", help="of a pipeline, the result to begin with"
    )
    parser.add_argument(
        "--all-frames",
        action="store_true",
        help="of a pipeline's curves, begin with all as rows of one image",
    )
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--tiles", action="store_true", help="several side by side; F12 in the window")
    layout.add_argument(
        "--wall", action="store_true",
        help="full screen, nothing but pictures, states and counts; F11 in the window, Esc leaves it",
    )  # fmt: skip
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
    what = [address_in(Path(each)) if each.endswith((".yaml", ".yml")) else each for each in args.what]
    files = [is_file(each, args.config) for each in what]
    names = [
        os.path.abspath(os.path.expanduser(each)) if file else receiver_url(each, args.config)
        for each, file in zip(what, files, strict=True)
    ]
    missing = [name for name, file in zip(names, files, strict=True) if file and not os.path.exists(name)]
    if missing:
        raise UserError(f"{missing[0]} does not exist")

    from penstock.gui.display import why_no_display

    if args.screenshot is not None and why_no_display(os.environ) and args.backend == "mpl":
        os.environ["QT_QPA_PLATFORM"] = "offscreen"

    # Before the check of the screen: a missing silx should be reported without a screen, too.
    from penstock.gui.live.app import Options, sources_of
    from penstock.gui.live.app import run as show

    if (trouble := why_no_display(os.environ)) is not None:
        raise UserError(trouble)
    trouble = show(
        Options(
            sources=sources_of(names), result=args.result, all_frames=args.all_frames,
            tiles=args.tiles, wall=args.wall, frame=args.frame,
            rate=args.rate, logarithmic=args.log,
            downsample=args.downsample, colours=args.colours, backend=args.backend, theme=args.theme,
            screenshot=args.screenshot, after_frames=args.after_frames, deadline=args.deadline,
        ),
        ready=lambda: print(f"watching {', '.join(names)}", flush=True),
        waits=lambda why: print(f"penstock view: {why}", file=sys.stderr, flush=True),
    )  # fmt: skip
    if trouble is not None:
        raise UserError(trouble)
    return 0
