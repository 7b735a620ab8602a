"""End the running series of a receiver, or of a pipeline; its file is closed, and has the reason.

This stops the receiver's side only: what the detector still sends of the series is dropped, and counted. The
Tango device of the series goes to FAULT; its own command Stop ends both sides.

With --pipeline nothing happens to the receiver's series and file: frames that workers have are processed, all
others of the series are dropped, and the pipeline takes the next series as usual.

Examples:
  penstock stop                               the receiver on this machine
  penstock stop eiger-1 --reason "beam lost"  the receiver of this name in the configuration
  penstock stop --pipeline                    live processing of the series, at http://127.0.0.1:5100
  penstock stop --pipeline spots              the same, by the pipeline that the receiver knows by this name
"""

from __future__ import annotations

import argparse

from penstock.cli._arguments.targets import add_pipeline, add_receiver, pipeline_client, receiver_client
from penstock.stins.errors import UserError

REASON = "stopped by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)
    add_pipeline(parser)
    parser.add_argument("--reason", default=REASON, help="written to the file (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Stop the series and print how it ended."""
    if args.pipeline is not None:
        return _stop_pipeline(args)

    client = receiver_client(args)
    running = client.status().series
    if running is None or not running.active:
        raise UserError("no series is running there")
    client.stop(args.reason.strip() or REASON)
    series = client.status().series
    print("the series has ended" if series is None else f"{series.filename or 'no file'}: {series.reason}")
    return 0


def _stop_pipeline(args: argparse.Namespace) -> int:
    client = pipeline_client(args)
    before = client.status()
    running = {each.id for each in (before.series, *before.others) if each is not None and each.active}
    if not running:
        raise UserError("no series is being processed there")
    after = client.stop(args.reason.strip() or REASON)
    for series in filter(None, (after.series, *after.others)):
        if series.id in running:
            still = "; workers still have frames of it" if series.active else ""
            print(f"{series.result_file or f'series {series.id}'}: {series.reason}{still}")
    return 0
