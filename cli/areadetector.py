"""Simulate an areaDetector IOC: the records of its driver, and arrays over pvAccess, without EPICS installed.

examples:
  penstock areadetector
  penstock areadetector --tcp 127.0.0.1:5075 --prefix 13SIM1: --sensor 1024x1280
  penstock areadetector --codec bslz4 --pixel-type uint32 --lose 3,50,99 --json

The ready line has the address for the property NameServers (or EPICS_PVA_NAME_SERVERS), and the names for the
properties DriverPrefix and ImageRecord. It needs p4p: the extra epics.
"""

from __future__ import annotations

import argparse

from penstock.cli._arguments.control_unit import address, begin, serve, size
from penstock.cli._output import add_json
from penstock.stins.errors import UserError

PIXEL_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")
CODECS = ("none", "bslz4", "lz4", "lz4hdf5")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "--tcp", type=address("127.0.0.1:5075"), default=("127.0.0.1", 0), metavar="HOST:PORT",
        help="address for clients (any free port; a real IOC has 5075)",
    )  # fmt: skip
    parser.add_argument("--prefix", default="SIM:", help="what all records begin with (%(default)s)")
    parser.add_argument(
        "--sensor", type=size("1024x1280"), default=(512, 640), metavar="ROWSxCOLS", help="size (512x640)"
    )
    parser.add_argument(
        "--pixel-type", choices=PIXEL_TYPES, default="uint16", help="type of the pixels (%(default)s)"
    )
    parser.add_argument("--codec", choices=CODECS, default="none", help="of the arrays (%(default)s)")
    parser.add_argument(
        "--lose", type=_numbers, default=(), metavar="N,…",
        help="frames of each acquisition, from 0, that are lost on their way",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from penstock.devices._areadetector.simulated import SimulatedIoc

    begin()
    host, port = args.tcp
    codec = "" if args.codec == "none" else args.codec
    try:
        ioc = SimulatedIoc(args.prefix, host, port, args.sensor, args.pixel_type, codec)
    except RuntimeError as error:
        raise UserError(f"{host}:{port} cannot be served ({error}); choose another --tcp") from error
    ioc.lost = args.lose
    try:
        serve(
            args,
            {"server": ioc.address, "driver": f"{args.prefix}cam1:", "image": f"{args.prefix}Pva1:Image"},
        )
    finally:
        ioc.close()
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f'"{text}"; give numbers of frames, such as 3,50,99')
    return tuple(map(int, words))
