"""Start, stop, restart and scale a detector's programs on Kubernetes: a service in a pod, until Ctrl-C.

Examples:
  penstock pipeline-control control.yaml              what control.yaml names: receiver, pipelines, workers
  penstock pipeline-control control.yaml --check      every error, and what Kubernetes refuses; then end
  penstock pipeline-control control.yaml --http 127.0.0.1:0 --json
  penstock pipeline-control --schema                  JSON schema of the file

Its ServiceAccount needs the verbs get and patch on deployments/scale of the Deployments in the file.
Then look at it: http://127.0.0.1:5300/ in a browser

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
    from penstock.cluster.config import ControlConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock pipeline-control`."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the control, a YAML file")
    parser.add_argument(
        "--http", metavar="HOST:PORT",
        help="address of the HTTP API instead of the configured one; port 0: any free one",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="print every error of the file, and what Kubernetes refuses, and exit",
    )  # fmt: skip
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of the file, and exit")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    import msgspec

    from penstock.cluster import config_file

    if args.schema:
        print(json.dumps(config_file.schema(), indent=2))
        return 0
    if args.file is None:
        raise UserError("which control? give its file, such as control.yaml; --help has an example")
    try:
        config = config_file.load(args.file)
        kubernetes = config_file.in_this_pod(config.kubernetes)
    except config_file.ControlFileError as error:
        raise UserError(str(error)) from error
    config = msgspec.structs.replace(config, kubernetes=kubernetes)
    if args.http is not None:
        if why := config_file.check_http(args.http):
            raise UserError(why)
        config = msgspec.structs.replace(config, http=args.http)
    return _check(args, config) if args.check else _serve(args, config)


def _check(args: argparse.Namespace, config: ControlConfig) -> int:
    from penstock.cluster import checks

    found = checks.check(config)
    if args.json:
        emit({"errors": found})
    else:
        print("\n".join(found) if found else f"{args.file}: nothing is wrong")
    return 2 if found else 0


def _serve(args: argparse.Namespace, config: ControlConfig) -> int:
    from penstock.service import logs, server
    from penstock.service.listener import Listener

    logs.begin()
    with no_search():  # it imports nearly all of what follows
        from penstock.cluster.control import Control
        from penstock.cluster.http import create_app
    from penstock.cluster.models import ReadyLine

    listener, url = listen(config.http, "control")
    ending: list[server.Server] = []

    def failed() -> None:
        for each in ending:
            each.should_exit = True

    control = Control(config, failed)
    control.start()
    app, end_waits = create_app(control)

    def ready() -> None:
        if args.json:
            emit(ReadyLine(control=config.name, http=url, pid=os.getpid()))
        say(args, f"control {config.name} is ready: {url}/, namespace {config.kubernetes.namespace}")

    made = server.make(app, ready, end_waits)
    ending.append(made)
    if control.failure:
        made.should_exit = True
    asyncio.run(made.serve(sockets=[Listener(listener)]))
    return 1 if control.failure or not made.started else 0
