"""Let a receiver, or a pipeline, take no new series, and wait until the running one has ended.

Before it is stopped, updated or moved. Nothing is lost: Arm is refused in words, and what a streamer sends
all the same waits there. A restart undoes it, as does --off.

Examples:
  penstock drain                                   the receiver on this machine
  penstock drain eiger-1 --timeout 3600            for an hour at most
  penstock drain http://writer-1:5000 --off        let it take series again
  penstock drain --pipeline                        live processing, at http://127.0.0.1:5100
  penstock drain --pipeline spots                  the same, by the name that the receiver knows it by

Exit status: 0 nothing runs any more, 1 a series still runs after the time-out; it is taken to its end.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.cli._arguments.numbers import real
from penstock.cli._arguments.targets import add_pipeline, add_receiver, pipeline_client, receiver_client
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from penstock.processing import models as pipeline
    from penstock.processing.client import PipelineClient
    from penstock.receiver import models as receiver
    from penstock.receiver.client import ReceiverClient

WAIT = 10.0
"""Longest time in seconds for which one request waits for news."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    add_pipeline(parser)
    parser.add_argument(
        "--timeout", type=real(), default=math.inf, metavar="SECONDS",
        help="longest time to wait for the running series (default: for ever)",
    )  # fmt: skip
    parser.add_argument("--off", action="store_true", help="take series again")


def run(args: argparse.Namespace) -> int:
    """Drain it, or let it go on; return the exit status."""
    if args.pipeline is None:
        return _drain(args, receiver_client(args), lambda status: status.detector, _series)
    return _drain(args, pipeline_client(args), lambda status: status.pipeline, _series_of_pipeline)


def _drain(
    args: argparse.Namespace, client: ReceiverClient | PipelineClient, name_in: Callable[[Any], str],
    running_in: Callable[[Any], str],
) -> int:  # fmt: skip
    due = time.monotonic() + args.timeout
    client.drain(not args.off)
    status = client.status()
    name = name_in(status)
    if args.off:
        print(f"{name} takes series again")
        return 0
    if running := running_in(status):
        print(f"{name} takes no new series; waiting for {running}", file=sys.stderr)
    while status.ending != "drained":
        if (left := due - time.monotonic()) <= 0:
            what = running_in(status) or "a series that is about to begin"
            print(
                f"after {args.timeout:g} s {name} still takes {what}; it takes no other one, until it is "
                "restarted or drained with --off",
                file=sys.stderr,
            )
            return 1
        if not status.ending:
            raise UserError(f"somebody else lets {name} take series again")
        status = client.status(status.version, min(WAIT, left))
    print(f"{name} is drained: no series runs, and none is taken")
    return 0


def _series(status: receiver.Status) -> str:
    """Return the running series, in words; "" if there is none."""
    if (series := status.series) is None or not series.active:
        return ""
    counts = status.counts
    planned = "" if counts.planned is None else f" of {counts.planned:,}"
    return f"{series.filename or 'a live view'} (frame {counts.received:,}{planned})"


def _series_of_pipeline(status: pipeline.Status) -> str:
    active = [each for each in (status.series, *status.others) if each is not None and each.active]
    return ", ".join(
        f"{each.file or f'series {each.id}'} ({each.counts.done:,} of {each.counts.frames:,} frames done)"
        for each in active
    )
