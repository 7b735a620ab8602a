"""List the last series of a receiver, newest first: when, how many frames, how they ended, and which file.

The list includes series from before a restart of the receiver, and those in which it was killed, but not the
running one: see `penstock status`. Below an incomplete series is the reason.

Examples:
  penstock series                             the last 20 of the receiver on this machine
  penstock series eiger-1 --since yesterday   of the receiver of this name in the configuration
  penstock series --since 2026-03-01T18:00    all kept ones that ended after that, in local time
  penstock series --since 12h --limit 5       five at most, of the last twelve hours
  penstock series --json | jq -r .series.filename

Exit status: 0 the receiver answered, 2 it did not.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from penstock.cli._arguments.numbers import whole
from penstock.cli._arguments.targets import add_receiver, receiver_client
from penstock.cli._output import add_json, emit

if TYPE_CHECKING:
    from penstock.receiver.models import PastSeries

USUAL = 20
"""Series that are listed by default."""
MOST = 1_000
"""Series that a receiver keeps at most."""
HEADINGS = ("started", "ended", "frames", "verdict", "file")
MARKED = {"incomplete": "NOT complete", "not taken": "NOT taken"}
"""Verdicts that must not be overlooked, although there is no colour."""
UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    parser.add_argument(
        "--since", type=moment, metavar="WHEN",
        help="only those that ended since: today, yesterday, 90m, 12h, 7d, 2026-03-01, 2026-03-01T18:00",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=whole(1, MOST), metavar="N",
        help=f"at most N (default: {USUAL}; with --since, all that are kept, about {MOST})",
    )  # fmt: skip
    add_json(parser)


def moment(text: str) -> float:
    """Return a moment in the past, in seconds since 1970.

    Raises:
        ArgumentTypeError: the text is not a moment.
    """
    now = datetime.now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        return (today - timedelta(days=text == "yesterday")).timestamp()
    if ago := re.fullmatch(r"(\d{1,5})([mhd])", text):
        return (now - timedelta(**{UNITS[ago[2]]: int(ago[1])})).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'"{text}"; give today, yesterday, a time ago such as 90m, 12h or 7d, or a day such as '
            f"{today:%Y-%m-%d} or {now:%Y-%m-%dT%H:%M}"
        ) from None


def run(args: argparse.Namespace) -> int:
    """Ask the receiver and print the list; return the exit status."""
    client = receiver_client(args)
    limit = args.limit or (USUAL if args.since is None else MOST)
    kept = client.history(limit if args.since is None else MOST)
    found = [past for past in kept if args.since is None or past.series.ended >= args.since][:limit]
    if args.json:
        for past in found:
            emit(past)
    elif found:
        print("\n".join(table(found)))
    if not found:
        print(f"no series {_when(kept, args.since)}", file=sys.stderr if args.json else sys.stdout)
    return 0


def _when(kept: list[PastSeries], since: float) -> str:
    return f"since {_text(since)}; the last one ended {_text(kept[0].series.ended)}" if kept else "yet"


def table(found: list[PastSeries]) -> Iterator[str]:
    """Yield a line per series, and a second one if something is wrong with it."""
    rows = [HEADINGS, *map(_row, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    reasons = ["", *(past.why for past in found)]
    for row, wrong in zip(rows, reasons, strict=True):
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
        if wrong:
            yield f"  {wrong}"


def _row(past: PastSeries) -> tuple[str, ...]:
    series, counts = past.series, past.counts
    started, ended = _text(series.started), _text(series.ended)
    if started[:10] == ended[:10]:
        ended = ended[11:]
    frames = f"{past.done:,} of {'?' if counts.planned is None else f'{counts.planned:,}'}"
    verdict = MARKED.get(past.verdict, past.verdict)
    return started, ended, frames, verdict, series.filename or "no file"


def _text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
