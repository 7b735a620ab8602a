"""Simulate camserver, the program on the control unit of a DECTRIS PILATUS3.

Examples:
  penstock camserver --folder /dev/shm/penstock
  penstock camserver --folder /dev/shm/penstock --tcp 127.0.0.1:41234 --model "PILATUS3 2M"
  penstock camserver --folder /dev/shm/penstock --sensor 195x487 --pattern powder --ram-disk 2000 --json

The device Pilatus, ADPilatus, Lima or nc drive it like a real one; a light streamer sends its files. The
ready line has the addresses of camserver, of its trigger input, and of its window, where whoever types has
control at all times, and faults can be asked for, also while its power is off:
  echo 'CamSetup' | nc -N 127.0.0.1 PORT
  echo 'faults {"disk_full": true}' | nc -N 127.0.0.1 PORT
  echo 'power off' | nc -N 127.0.0.1 PORT
  python -m penstock.streamer.simulated.triggers 127.0.0.1:PORT -n 10 --period 0.1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.cli._arguments.control_unit import add_sensor, address, begin, serve
from penstock.cli._arguments.numbers import whole
from penstock.cli._output import add_json
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    from penstock.streamer.simulated.camserver.images import MODELS, PATTERNS

    parser.add_argument(
        "--folder", type=Path, required=True, metavar="DIR",
        help="folder of the images until ImgPath names another; one that is made is removed at the end",
    )  # fmt: skip
    parser.add_argument(
        "--tcp", type=address("127.0.0.1:41234"), default=("127.0.0.1", 0), metavar="HOST:PORT",
        help="address for clients (any free port; a real one has 41234)",
    )  # fmt: skip
    parser.add_argument(
        "--window-port", type=whole(0), default=0, metavar="N", help="TCP port of its window (any free one)"
    )
    add_sensor(
        parser, models=MODELS, model="PILATUS3 300K", patterns=PATTERNS, shows="images", example="195x487"
    )
    parser.add_argument(
        "--ram-disk", type=whole(0), default=0, metavar="MB",
        help="megabytes that images may take (as many as the file system has)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from penstock.stins.addresses import host_port
    from penstock.streamer.simulated.camserver.server import SimulatedCamserver

    begin()
    try:
        simulated = SimulatedCamserver(
            args.folder.resolve(), args.tcp, model=args.model, sensor=args.sensor, pattern=args.pattern,
            capacity=args.ram_disk * 10**6, trigger_port=args.trigger_port, window_port=args.window_port,
        )  # fmt: skip
    except OSError as error:
        raise UserError(
            f"{error}; choose another --folder, --tcp, --window-port or --trigger-port"
        ) from error
    with simulated:
        host = args.tcp[0]
        addresses = {
            "camserver": host_port(host, simulated.port), "folder": str(args.folder.resolve()),
            "triggers": simulated.trigger_address, "window": host_port(host, simulated.window_port),
        }  # fmt: skip
        serve(args, addresses)
    return 0
