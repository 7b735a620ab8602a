"""Say how a receiver is, in a few lines.

Examples:
  penstock status http://127.0.0.1:5000       the receiver at this address
  penstock status eiger-1                     the receiver of this name in the configuration
  penstock status --wait                      once the running series, or the first one, has ended
  penstock status --json                      everything that GET /status says

Exit status: 0 it is well, and its last series is complete, 1 it is in Error, or that series is not complete,
2 it does not answer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.cli._address import add_receiver, receiver_url
from penstock.cli.main import UserError

if TYPE_CHECKING:
    from penstock.receiver.models import Connection, Status

WAIT = 10.0
"""Seconds of one question that waits for a change."""

ALWAYS = ("planned", "received", "stored")
"""Counts that are said even if they are 0."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    parser.add_argument("--wait", action="store_true", help="until no series runs, and there has been one")
    parser.add_argument("--json", action="store_true", help="print the whole status as one line of JSON")


def run(args: argparse.Namespace) -> int:
    """Ask, print, and judge by the exit status."""
    from penstock.receiver.client import ReceiverClient, ReceiverUnavailable

    client = ReceiverClient(receiver_url(args.receiver, args.config), timeout=5.0)
    try:
        status = client.status()
        while args.wait and not status.error and (status.series is None or status.series.active):
            status = client.status(seen=status.version, wait=WAIT)
    except ReceiverUnavailable as error:
        raise UserError(str(error)) from error
    print(json.dumps(asdict(status)) if args.json else "\n".join(describe(status)))
    return 1 if status.error or (status.series is not None and status.series.complete is False) else 0


def describe(status: Status) -> Iterator[str]:
    """What a user wants to know first, line by line."""
    yield f"{status.detector}: {status.state}{f', {status.error}' if status.error else ''}"
    if status.error:
        yield "  it takes no series until it is reset: penstock reset"
    for connection in status.connections:
        yield f"  {_connection(connection)}"
    if status.waits_for:
        yield f"  {status.waits_for}"
    if status.stalled:
        yield f"  has said nothing for {status.stalled:.1f} s; does its file system hang?"
    series = status.series
    if series is None:
        yield "  no series yet"
    else:
        so_far = "runs" if series.active else "complete" if series.complete else "NOT complete"
        yield f"  series {series.id} {so_far}{f': {series.reason}' if series.reason else ''}"
        yield f"    {', '.join(_counts(status)) or 'nothing received'}"
        yield f"    {series.filename or 'no file: live view and consumers only'}"
        if series.active:
            yield f"    {status.frame_rate:.0f} frames/s, {status.byte_rate / 1e6:.1f} MB/s"
    if status.errors:
        kinds = ", ".join(f"{count} {kind}" for kind, count in status.errors.items())
        yield f"  errors since it was started: {kinds}"
    if status.last_error:
        yield f"    the last bad message, {status.last_error}"
    if status.drained:
        yield f"  {status.drained} messages belonged to no series and were dropped"


def _connection(connection: Connection) -> str:
    if not connection.connections:
        return f"NOT connected to {connection.endpoint}: is that the streamer's address, and does it run?"
    sockets = f" by {connection.connections} sockets" if connection.connections > 1 else ""
    return f"connected to {connection.endpoint}{sockets}"


def _counts(status: Status) -> Iterator[str]:
    for name, count in asdict(status.counts).items():
        if count is None:
            yield f"an unknown number {name}"
        elif name != "flushed" and (count or name in ALWAYS):
            yield f"{count} {name.replace('_', ' ')}"
