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
from typing import NamedTuple, Protocol

from penstock.cli._arguments.numbers import real
from penstock.cli._arguments.targets import add_pipeline, add_receiver, pipeline_url, receiver_url
from penstock.cli.main import UserError

WAIT = 10.0
"""Longest time in seconds for which one request waits for news."""
ANSWER = 5.0
"""Longest time in seconds for an answer."""


class _Status(Protocol):
    """What the status of a receiver and that of a pipeline have in common."""

    @property
    def ending(self) -> str: ...
    @property
    def version(self) -> int: ...


class _Service(NamedTuple):
    """A receiver or pipeline, as far as it is drained."""

    name: Callable[[], str]
    status: Callable[[int | None, float], _Status]
    runs: Callable[[], str]
    """The running series, in words; "" if there is none."""
    drain: Callable[[bool], object]


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
    from penstock.service.http_client import NoAnswer, RefusedCall

    service = _receiver(args) if args.pipeline is None else _pipeline(args)
    try:
        service.drain(not args.off)
        name = service.name()
        if args.off:
            print(f"{name} takes series again")
            return 0
        return _wait(service, name, time.monotonic() + args.timeout, args.timeout)
    except (NoAnswer, RefusedCall) as error:
        raise UserError(str(error)) from error


def _wait(service: _Service, name: str, due: float, seconds: float) -> int:
    if series := service.runs():
        print(f"{name} takes no new series; waiting for {series}", file=sys.stderr)
    status = service.status(None, 0.0)
    while status.ending != "drained":
        if (left := due - time.monotonic()) <= 0:
            what = service.runs() or "a series that is about to begin"
            print(
                f"after {seconds:g} s {name} still takes {what}; it takes no other one, until it is "
                "restarted or drained with --off",
                file=sys.stderr,
            )
            return 1
        if not status.ending:
            raise UserError(f"somebody else lets {name} take series again")
        status = service.status(status.version, min(WAIT, left))
    print(f"{name} is drained: no series runs, and none is taken")
    return 0


def _receiver(args: argparse.Namespace) -> _Service:
    from penstock.receiver.client import ReceiverClient

    client = ReceiverClient(receiver_url(args.receiver, args.config), timeout=ANSWER)

    def runs() -> str:
        status = client.status()
        if (series := status.series) is None or not series.active:
            return ""
        counts = status.counts
        planned = "" if counts.planned is None else f" of {counts.planned:,}"
        return f"{series.filename or 'a live view'} (frame {counts.received:,}{planned})"

    return _Service(lambda: client.status().detector, client.status, runs, client.drain)


def _pipeline(args: argparse.Namespace) -> _Service:
    from penstock.processing.client import PipelineClient

    client = PipelineClient(pipeline_url(args), timeout=ANSWER)

    def runs() -> str:
        status = client.status()
        active = [each for each in (status.series, *status.others) if each is not None and each.active]
        return ", ".join(
            f"{each.file or f'series {each.id}'} ({each.counts.done:,} of {each.counts.frames:,} frames done)"
            for each in active
        )

    return _Service(lambda: client.status().pipeline, client.status, runs, client.drain)
