"""Run the streamer of one detector.

Examples:
  penstock streamer Simulator
  penstock streamer Simulator --data tcp://10.0.0.5:9999 --control tcp://10.0.0.5:9998
  penstock streamer Simulator --properties '{"SensorWidth": 2560, "SensorHeight": 2160}' --cpus 0

It is driven by the Tango detector device whose property StreamerControl is its control endpoint. It prints
its endpoints as one JSON line when it is ready, and logs to standard error. A receiver's source connects to
the data endpoint: the streamer's own (--data), or that of the detector's box if the box sends the frames.
"""

from __future__ import annotations

import argparse

from penstock.cli._arguments.targets import bound_endpoint
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    from penstock.streamer.remote import process

    process.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal or the device ends it; return the exit status."""
    from penstock.streamer.remote import process

    for option in ("data", "control"):
        try:
            bound_endpoint(getattr(args, option))
        except argparse.ArgumentTypeError as error:
            raise UserError(f"--{option} {error}") from error
    return process.run(args)
