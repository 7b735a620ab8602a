"""Simulate the control unit of a DECTRIS EIGER.

Examples:
  penstock simplon --stream v1
  penstock simplon --stream v2 --http 127.0.0.1:8081 --stream-port 31001
  penstock simplon --api 1.6.0 --sensor 1065x1030 --pattern diffraction --json
  penstock simplon --recording eiger1m.cborseq.gz

The device Eiger, ADEiger or fastcs-eiger drives it like a real one. The ready line has the addresses of its
REST interface, its stream, its trigger input, and that for faults, which works while its power is off, too:
  curl -X PUT -d '{"slow_arm": 5}' http://127.0.0.1:PORT/simulator/faults
  curl -X POST -d '{"on": false}' http://127.0.0.1:PORT/simulator/power
  python -m penstock.streamer.simulated.triggers 127.0.0.1:PORT -n 10 --period 0.1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.cli._arguments.control_unit import add_sensor, address, begin, serve
from penstock.cli._arguments.numbers import whole
from penstock.cli._output import add_json
from penstock.stins.errors import UserError

STREAMS = {"v1": "legacy", "v2": "cbor"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    from penstock.streamer.simulated.simplon.control_unit import MODELS
    from penstock.streamer.simulated.simplon.pixels import PATTERNS

    parser.add_argument(
        "--api", choices=("1.8.0", "1.6.0"), default="1.8.0", help="SIMPLON version (%(default)s)"
    )
    parser.add_argument(
        "--stream", choices=tuple(STREAMS),
        help="switch this version of the stream on from the start (as a real one: v1, and off)",
    )  # fmt: skip
    parser.add_argument(
        "--http", type=address("127.0.0.1:8081"), default=("127.0.0.1", 0), metavar="HOST:PORT",
        help="address of the REST interface (any free port)",
    )  # fmt: skip
    parser.add_argument(
        "--stream-port", type=whole(0), default=0, metavar="N", help="port of the stream (any free one)"
    )
    add_sensor(
        parser, models=MODELS, model="EIGER2 Si 1M", patterns=PATTERNS, shows="frames", example="1062x1028"
    )
    parser.add_argument(
        "--recording", type=Path, metavar="FILE",
        help="take frames, size and settings from a recorded stream, V1 or V2 (see penstock replay)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from penstock.streamer.simulated.simplon.control_unit import ControlUnit

    begin()
    recorded = None
    if args.stream == "v2" and args.api != "1.8.0":
        raise UserError(f"--stream v2 needs --api 1.8.0; SIMPLON {args.api} has only v1")
    if args.recording is not None:
        from penstock.cli._recordings.recorded import recorded as read

        if args.sensor is not None:
            raise UserError("--recording has a size of its own; leave out --sensor")
        recorded = read(args.recording)
    try:
        box = ControlUnit(
            args.api, STREAMS.get(args.stream), args.sensor, args.http, args.stream_port,
            model=args.model, pattern=args.pattern, trigger_port=args.trigger_port, recorded=recorded,
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"{error}; choose another --http, --stream-port or --trigger-port") from error
    with box:
        host = args.http[0]
        addresses = {
            "http": f"http://{host}:{box.http_port}", "stream": box.stream_endpoint,
            "triggers": box.trigger_address, "simulator": f"http://{host}:{box.simulator_port}/simulator",
        }  # fmt: skip
        serve(args, addresses)
    return 0
