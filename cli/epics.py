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
from functools import partial
from typing import TYPE_CHECKING

from penstock.cli import _service as service
from penstock.cli._output import Answer
from penstock.service.garbage import no_search

if TYPE_CHECKING:
    from penstock.bridges.epics.bridge import Bridge
    from penstock.bridges.epics.config import EpicsConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock epics`."""
    service.add_file(parser, "bridge")
    service.add_arguments(parser, "and what does not answer, and exit")


def run(args: argparse.Namespace) -> Answer | int:
    """Run it."""
    from penstock.bridges.epics import checks, config_file

    return service.run(args, config_file.BRIDGE, checks.check, partial(_serve, args))


def _serve(args: argparse.Namespace, config: EpicsConfig) -> int:
    with no_search():  # it imports nearly all of what follows
        from penstock.bridges.epics.bridge import Bridge
        from penstock.bridges.epics.http import create_app

    def ready(bridge: Bridge, url: str) -> None:
        pva = bridge.status.addresses
        facts = {"bridge": config.name, "http": url, "pva": pva}
        records = f"records {config.prefix}:… at {', '.join(pva)}"
        service.say_ready(args, facts, f"bridge {config.name} is ready: {url}/, {records}")

    return service.serve(config.http, "bridge", partial(Bridge, config), create_app, ready)
