"""Serve frames and results to EPICS clients over pvAccess: a process of its own, until Ctrl-C.

Examples:
  penstock epics epics.yaml                           what epics.yaml names: a receiver, a pipeline, or both
  penstock epics epics.yaml --check                   every error, and what does not answer; then end
  penstock epics epics.yaml --http 127.0.0.1:0 --json
  penstock epics --schema                             JSON schema of the file

epics.yaml is three lines: prefix: LAB1, receiver: http://127.0.0.1:5000, consumer: epics
Then look at it: http://127.0.0.1:5200/ in a browser, or pvget LAB1:Receiver:State

Exit status: 0 it was ended, 1 it has failed, 2 it could not start, or --check has found an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import listen
from penstock.cli._output import add_json, emit, say
from penstock.cli.main import UserError
from penstock.resources.garbage import no_search

if TYPE_CHECKING:
    from penstock.bridges.epics.config import EpicsConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock epics`."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the bridge, a YAML file")
    parser.add_argument(
        "--http", metavar="HOST:PORT",
        help="address of the HTTP API instead of the configured one; port 0: any free one",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="print every error of the file, and what does not answer, and exit",
    )  # fmt: skip
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of the file, and exit")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    import msgspec

    from penstock.bridges.epics import config_file

    if args.schema:
        print(json.dumps(config_file.schema(), indent=2))
        return 0
    if args.file is None:
        raise UserError("which bridge? give its file, such as epics.yaml; --help has an example")
    try:
        config = config_file.load(args.file)
    except config_file.EpicsFileError as error:
        raise UserError(str(error)) from error
    if args.http is not None:
        if why := config_file.check_http(args.http):
            raise UserError(why)
        config = msgspec.structs.replace(config, http=args.http)
    return _check(args, config) if args.check else _serve(args, config)


def _check(args: argparse.Namespace, config: EpicsConfig) -> int:
    from penstock.bridges.epics import checks

    found = checks.check(config)
    if args.json:
        emit({"errors": found})
    else:
        print("\n".join(found) if found else f"{args.file}: nothing is wrong")
    return 2 if found else 0


def _serve(args: argparse.Namespace, config: EpicsConfig) -> int:
    from penstock.service import logs, server
    from penstock.service.listener import Listener

    logs.begin()
    with no_search():  # it imports nearly all of what follows
        from penstock.bridges.epics.bridge import Bridge
        from penstock.bridges.epics.http import create_app
    from penstock.bridges.epics.models import ReadyLine

    listener, url = listen(config.http, "bridge")
    ending: list[server.Server] = []

    def failed() -> None:
        for each in ending:
            each.should_exit = True

    bridge = Bridge(config, failed)
    try:
        bridge.start()
    except RuntimeError as error:
        listener.close()
        bridge.close()
        raise UserError(str(error)) from error
    app, end_waits = create_app(bridge)

    def ready() -> None:
        pva = bridge.status.addresses
        if args.json:
            emit(ReadyLine(bridge=config.name, http=url, pva=pva, pid=os.getpid()))
        say(args, f"bridge {config.name} is ready: {url}/, records {config.prefix}:… at {', '.join(pva)}")

    made = server.make(app, ready, end_waits)
    ending.append(made)
    if bridge.failure:
        made.should_exit = True
    asyncio.run(made.serve(sockets=[Listener(listener)]))
    return 1 if bridge.failure or not made.started else 0
