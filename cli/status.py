"""Show the state of a receiver, pipeline or bridge, or of all detectors, receivers, pipelines and bridges.

Examples:
  penstock status http://127.0.0.1:5000       the receiver at this address
  penstock status eiger-1                     the receiver of this name in the configuration
  penstock status --wait                      once the running series, or the first one, has ended
  penstock status --wait --timeout 60         the same, for a minute at most
  penstock status --json | jq .counts         everything that GET /status returns
  penstock status http://127.0.0.1:5100       the pipeline or the bridge to EPICS clients at this address
  penstock status --pipeline                  the pipeline of live processing at http://127.0.0.1:5100
  penstock status --pipeline spots.yaml       the one of this file
  penstock status eiger-1 --pipeline          the one behind this receiver, whose forward entry has its page
  penstock status --pipeline spots            the one of this name behind the receiver on this machine
  penstock status --all                       every detector and receiver in the Tango database, faults first,
                                              devices of pipelines, and pipelines and bridges whose pages
                                              these receivers know
  penstock status --all --json | jq '.[] | select(.state == "FAULT")'
  watch -n 5 penstock status --all            the same every 5 s

Exit status: 0 the receiver is well, and its last series is complete, or was a live view that somebody
stopped, 1 it is in Error, that series is incomplete or was not taken, or --timeout has passed, 2 it does not
answer.

Exit status of a bridge: 0 it has what it serves, 1 it waits for a receiver, a pipeline or the next series.

Exit status of --pipeline: 0 every frame of its last series is done, 1 some are not, or it is in Error, 2 it
does not answer.

Exit status of --all: 0 all are well, 1 one of them is in FAULT or UNKNOWN, or has not answered in time, 2 no
Tango database answers, or it has no device of Penstock. A pipeline that does not run is OFF, and well; one
with a device is UNKNOWN.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.cli._arguments.numbers import real
from penstock.cli._arguments.targets import add_pipeline, add_receiver, receiver_client
from penstock.cli._output import Answer, add_json, finish
from penstock.stins.errors import UserError
from penstock.stins.texts import counted, plural

if TYPE_CHECKING:
    from penstock.receiver.client import ReceiverClient
    from penstock.receiver.models import Connection, Status

WAIT = 0.5
"""Seconds of one request that waits for a change."""

ALWAYS = ("planned", "received", "stored")
"""Counts that are printed even if they are 0."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    add_pipeline(parser)
    parser.add_argument(
        "--all", action="store_true", help="every detector and receiver in the Tango database (TANGO_HOST)"
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait until no series is running, and there has been one"
    )
    parser.add_argument(
        "--timeout", type=real(), default=math.inf, metavar="SECONDS",
        help="with --wait: longest time to wait (default: for ever)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask the receiver and print its state; return the exit status."""
    if args.all:
        return _all(args)
    if args.receiver.endswith((".yaml", ".yml")):
        args.pipeline = args.receiver
    if args.pipeline is not None:
        return _pipeline(args)

    client = receiver_client(args)
    if _is_another(client):
        from penstock.bridges.epics.client import read_status
        from penstock.cli._status.bridge import show
        from penstock.processing.client import NoAnswer, what_answers

        if (bridge := read_status(client.url)) is not None:
            return show(args, bridge)
        with contextlib.suppress(NoAnswer):
            if what_answers(client.url) == "pipeline":
                args.pipeline = client.url
                return _pipeline(args)
    due = time.monotonic() + args.timeout
    late = False
    status = client.status()
    if args.wait and _is_unfinished(status) and status.series is None:
        print("no series yet; waiting for the first", file=sys.stderr)
    while args.wait and _is_unfinished(status) and not late:
        status = client.status(seen=status.version, wait=max(0.0, min(WAIT, due - time.monotonic())))
        late = time.monotonic() >= due and _is_unfinished(status)
    ill = late or status.error or status.refused or status.lacks
    finish(args, Answer(status, describe(status, _arguments(args))))
    if late:
        print(f"no series has ended within {args.timeout:g} s", file=sys.stderr)
    return 1 if ill else 0


def _pipeline(args: argparse.Namespace) -> int:
    from penstock.cli._status.pipeline import run

    return run(args)


def _is_another(client: ReceiverClient) -> bool:
    """Return whether something else is at the address in place of a receiver."""
    from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable

    try:
        return not client.status().detector
    except ReceiverUnavailable as error:
        return error.foreign
    except ReceiverRefused:
        return False


def _all(args: argparse.Namespace) -> int:
    if args.receiver != args.usual or args.config or args.wait or args.pipeline is not None:
        raise UserError(
            "--all shows every detector and receiver as they are now; leave out URL, --config, --pipeline "
            "and --wait"
        )

    from penstock.cli._status.fleet import run

    return run(args)


def _is_unfinished(status: Status) -> bool:
    """Return whether there is something to wait for: the running series, or the first one."""
    return not status.error and not status.refused and (status.series is None or status.series.active)


def _arguments(args: argparse.Namespace) -> str:
    """Return the arguments that name this receiver to another command; "" for the default one."""
    words = [] if args.receiver == args.usual else [args.receiver]
    if args.config:
        words += ["--config", str(args.config)]
    return " ".join(["", *map(shlex.quote, words)])


def describe(status: Status, receiver: str = "") -> Iterator[str]:
    """Yield what a user wants to know first, line by line.

    Args:
        receiver: arguments of `penstock reset` for this one.
    """
    yield f"{status.detector}: {status.state}{f', {status.error}' if status.error else ''}"
    if status.error:
        yield f"  it takes no series until it is reset: penstock reset{receiver}"
    for connection in status.connections:
        yield f"  {_connection(connection, has_left=_is_well(status))}"
    if status.waits_for:
        yield f"  {status.waits_for}"
    if status.ending:
        yield "  it takes no new series (penstock drain); penstock drain --off undoes that"
    if status.unguarded:
        yield f"  {status.unguarded}"
    if status.stalled:
        yield f"  the data process has not answered for {status.stalled:.1f} s; does its file system hang?"
    series = status.series
    if status.refused:
        yield f"  the last series was NOT taken: {status.refused}"
    elif series is None:
        yield "  no series yet"
    elif not series.taken:
        yield f"  the last series was NOT taken{f': {_reason(status)}' if _reason(status) else ''}"
    else:
        ended = "complete" if series.complete else "NOT complete" if status.lacks else "ended"
        so_far = "in progress" if series.active else ended
        file = series.filename or "no file (live view and consumers only)"
        yield f"  {file}, {so_far}{f': {_reason(status)}' if _reason(status) else ''}"
        if series.active and series.restarts:
            times = "once" if series.restarts == 1 else f"{series.restarts} times"
            yield f"    the receiver was restarted {times} within it"
        yield f"    {', '.join(_counts(status)) or 'nothing received'}"
        if series.active:
            yield f"    {status.frame_rate:.0f} frames/s, {status.byte_rate / 1e6:.1f} MB/s"
        yield f"    series {series.id}"
    for consumer in status.consumers:
        if (holder := consumer.holder) is not None:
            yield f"  entry {consumer.name} is held by a pipeline: process {holder.pid} on {holder.host}"
    if status.counts.dropped:
        yield f"    {plural(status.counts.dropped, 'frame of it was', 'frames of it were')} dropped"
    if status.errors:
        kinds = ", ".join(f"{count} {kind}" for kind, count in status.errors.items())
        yield f"  errors since it was started: {kinds}"
    if status.last_error:
        yield f"    the last bad message, {status.last_error}"
    if status.drained:
        yield f"  {plural(status.drained, 'message')} belonged to no series, dropped"


def _reason(status: Status) -> str:
    """Return why the last series ended, or was not taken, unless the state says so already."""
    reason = "" if status.series is None else status.series.reason.removeprefix("not taken: ")
    return "" if reason == status.error else reason


def _is_well(status: Status) -> bool:
    """Return whether the last series has ended as it should have: a streamer may leave after that."""
    series = status.series
    has_ended = series is not None and series.taken and not series.active
    return has_ended and not (status.error or status.refused or status.lacks)


def _connection(connection: Connection, *, has_left: bool) -> str:
    if not connection.connections and has_left:
        return (
            f"not connected to {connection.endpoint}: the streamer has left after the last series, and the "
            "next one begins once it is back"
        )
    if not connection.connections:
        return f"NOT connected to {connection.endpoint}: is that the streamer's address, and is it running?"
    sockets = f" by {plural(connection.connections, 'socket')}" if connection.connections > 1 else ""
    silent = f", whose host has not answered for {connection.silent_seconds} s: is the network interrupted?"
    return f"connected to {connection.endpoint}{sockets}{silent if connection.silent_seconds else ''}"


def _counts(status: Status) -> Iterator[str]:
    for name, count in asdict(status.counts).items():
        if count is None:
            yield f"an unknown number {name}"
        elif name != "flushed" and (count or name in ALWAYS):
            yield counted(count, name)
