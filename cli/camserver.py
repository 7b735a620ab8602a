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
  python -m penstock.streamer.triggers 127.0.0.1:PORT -n 10 --period 0.1
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from penstock.cli._numbers import whole
from penstock.cli._output import add_json, emit, say

LONGEST = 10_000
"""Pixels along an edge; the largest real one has 2527."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    from penstock.streamer.camserver.images import MODELS, PATTERNS

    parser.add_argument(
        "--folder", type=Path, required=True, metavar="DIR",
        help="folder of the images until ImgPath names another; one that is made is removed at the end",
    )  # fmt: skip
    parser.add_argument(
        "--tcp", type=_address, default=("127.0.0.1", 0), metavar="HOST:PORT",
        help="address for clients (any free port; a real one has 41234)",
    )  # fmt: skip
    parser.add_argument(
        "--window-port", type=whole(0), default=0, metavar="N", help="TCP port of its window (any free one)"
    )
    parser.add_argument(
        "--trigger-port", type=whole(0), default=0, metavar="N",
        help="UDP port of the trigger input (any free one)",
    )  # fmt: skip
    parser.add_argument(
        "--model",
        choices=tuple(MODELS),
        default="PILATUS3 300K",
        help="model, for the sensor's size (%(default)s)",
    )
    parser.add_argument("--sensor", type=_size, metavar="ROWSxCOLS", help="another size of the sensor")
    parser.add_argument(
        "--pattern", choices=tuple(PATTERNS), default="gradient", help="what images show (%(default)s)"
    )
    parser.add_argument(
        "--ram-disk", type=whole(0), default=0, metavar="MB",
        help="megabytes that images may take (as many as the file system has)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from penstock.cli.main import UserError
    from penstock.stins.addresses import host_port
    from penstock.streamer.camserver.server import SimulatedCamserver

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    ending = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
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
        ready = {
            "camserver": host_port(host, simulated.port), "folder": str(args.folder.resolve()),
            "triggers": simulated.trigger_address, "window": host_port(host, simulated.window_port),
            "pid": os.getpid(),
        }  # fmt: skip
        if args.json:
            emit(ready)
        else:
            say(args, ", ".join(f"{name} {value}" for name, value in ready.items()))
        signal.sigwait(ending)
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f'"{text}"; give HOST:PORT, such as 127.0.0.1:41234')
    return host, int(port)


def _size(text: str) -> tuple[int, int]:
    rows, _, cols = text.partition("x")
    if not all(number.isdecimal() and 1 <= int(number) <= LONGEST for number in (rows, cols)):
        raise argparse.ArgumentTypeError(f'"{text}"; give ROWSxCOLS, such as 195x487, each at most {LONGEST}')
    return int(rows), int(cols)
