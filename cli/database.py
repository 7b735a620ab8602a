"""Run the embedded Tango database: one SQLite file, no database server to install.

Examples:
  penstock database                           files in ./tango, port 10000
  penstock database --dir /srv/tango --port 11000
  penstock database --port 0                  any free port

Then, in every other terminal, the line that it prints:
  export TANGO_HOST=127.0.0.1:10000

It listens on this machine only. A facility's own database serves Penstock just as well.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from penstock.cli._arguments.numbers import whole
from penstock.cli._arguments.targets import LAST_PORT
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock database`."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("tango"),
        metavar="DIR",
        help="folder of the SQLite file (%(default)s)",
    )
    parser.add_argument(
        "--port",
        type=whole(0, LAST_PORT),
        default=10000,
        metavar="N",
        help="TCP port, 0 for any free one (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run it until Ctrl-C or SIGTERM."""
    from penstock.hosts.tango_database import start_database

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: stop.set())
    _claim(args.port)
    with start_database(args.dir.resolve(), port=args.port) as child:
        print(_description(args.dir.resolve(), child.answer), file=sys.stderr)
        print(f"export TANGO_HOST=127.0.0.1:{child.answer}", flush=True)
        while not stop.wait(0.5):
            ended = child.ended()
            if ended is not None:
                raise UserError(ended)
    return 0


def _description(folder: Path, port: int) -> str:
    """Return which database runs here, and which one commands use unless TANGO_HOST names it."""
    from penstock.hosts.tango_database import FILE_NAME
    from penstock.hosts.tango_host import tango_host

    address, host = f"127.0.0.1:{port}", tango_host()
    sentence = f"Tango database {address} (embedded, {folder / FILE_NAME})"
    if host is None or host.address == address:
        return sentence
    return f"{sentence}; without the next line commands use {host}"


def _claim(port: int) -> None:
    """Refuse a port that is taken: the database itself would end with a traceback."""

    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise UserError(
            f"cannot listen on 127.0.0.1:{port}: {os.strerror(error.errno or 0)}; "
            "is a database there already? Use that one, or choose another --port (0: any free one)"
        ) from error
