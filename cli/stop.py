"""End the running series of a receiver; its file is closed, and has the reason.

This stops the receiver's side only: what the detector still sends of the series is dropped, and counted. The
Tango device of the series goes to FAULT; its own command Stop ends both sides.

Examples:
  penstock stop                               the receiver on this machine
  penstock stop eiger-1 --reason "beam lost"  the receiver of this name in the configuration
"""

from __future__ import annotations

import argparse

from penstock.cli._address import add_receiver, receiver_url
from penstock.cli.main import UserError

REASON = "stopped by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    parser.add_argument("--reason", default=REASON, help="written to the file (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Stop the series and print how it ended."""
    from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable

    client = ReceiverClient(receiver_url(args.receiver, args.config), timeout=5.0)
    try:
        running = client.status().series
        if running is None or not running.active:
            raise UserError("no series is running there")
        client.stop(args.reason.strip() or REASON)
        series = client.status().series
    except (ReceiverRefused, ReceiverUnavailable) as error:
        raise UserError(str(error)) from error
    print("the series has ended" if series is None else f"{series.filename or 'no file'}: {series.reason}")
    return 0
