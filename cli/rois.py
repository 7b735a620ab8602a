"""List or set the regions of interest of a receiver.

The receiver computes the sum, mean and maximum of these rectangles in every frame, and how many of their
pixels are saturated, and writes them to the file. Changes take effect with the next series. --set adds a
region, or replaces the one of its name; --clear removes the existing ones. The values shown are those of the
latest frame of the running, or the last, series.

Examples:
  penstock rois                                     those of the receiver on this machine
  penstock rois eiger-1 --set peak=10,20,30,40      30 columns from 10, and 40 rows from 20
  penstock rois eiger-1 --set peak=10,20,30,40 --keep   and after a restart of the receiver, too
  penstock rois eiger-1 --clear --set bg=0,0,9,9    this one and no other
  penstock rois eiger-1 --clear --keep              none, after a restart, too

Exit status: 0 the receiver answered, 2 it did not, or it refused the regions.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import add_receiver, receiver_client
from penstock.cli._output import Answer, add_json

if TYPE_CHECKING:
    from penstock.receiver.models import Rectangle, Roi

VALUES = ("sum", "mean", "max", "saturated")
HEADINGS = ("region", "x", "y", "width", "height", "frame", *VALUES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    parser.add_argument(
        "--set", action="append", default=[], type=region, metavar="REGION=X,Y,WIDTH,HEIGHT",
        help="set this region, in pixels of the stored frame; may be repeated",
    )  # fmt: skip
    parser.add_argument("--clear", action="store_true", help="remove the existing regions")
    parser.add_argument("--keep", action="store_true", help="keep them when the receiver is restarted")
    add_json(parser)


def region(text: str) -> tuple[str, Rectangle]:
    """Return a name and its rectangle.

    Raises:
        ArgumentTypeError: it is not a region.
    """
    from penstock.receiver.models import Rectangle

    name, _, numbers = text.partition("=")
    try:
        x, y, width, height = map(int, numbers.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'"{text}"; give a name and four numbers in pixels, such as peak=10,20,30,40'
        ) from None
    return name, Rectangle(x=x, y=y, width=width, height=height)


def run(args: argparse.Namespace) -> Answer:
    """Set the regions, if asked to, and print the present ones."""
    client = receiver_client(args)
    found = client.rois()
    if args.set or args.clear or args.keep:
        before = {} if args.clear else found.rois
        found = client.put_rois({**before, **dict(args.set)}, keep=args.keep)
    status = client.status()
    kept = "kept over restarts" if found.kept else "until the receiver is restarted: --keep keeps them"
    lines = ["no regions of interest; add one with --set REGION=X,Y,WIDTH,HEIGHT"]
    if found.rois:
        newest = {each.name: each for each in status.rois}
        lines = [*_table(found.rois, newest), f"for the next series, {kept}"]
    return Answer({"rois": found.rois, "kept": found.kept, "values": status.rois}, lines)


def _table(rois: dict[str, Rectangle], newest: dict[str, Roi]) -> list[str]:
    rows = [HEADINGS, *(_row(name, each, newest.get(name)) for name, each in rois.items())]
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], widths)]).rstrip() for row in rows]


def _row(name: str, region: Rectangle, values: Roi | None) -> tuple[str, ...]:
    place = region.x, region.y, region.width, region.height
    if values is None or (values.x, values.y, values.width, values.height) != place:
        return name, *map(str, place), "", *("" for _ in VALUES)  # the last series had no such region
    frame = "" if values.frame is None else str(values.frame)
    found = ("" if (each := getattr(values, value)) is None else f"{each:.10g}" for value in VALUES)
    return name, *map(str, place), frame, *found
