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
from functools import partial
from typing import TYPE_CHECKING

from penstock.cli import _service as service
from penstock.cli._output import Answer
from penstock.service.garbage import no_search

if TYPE_CHECKING:
    from penstock.cluster.config import ControlConfig
    from penstock.cluster.control import Control


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock pipeline-control`."""
    service.add_file(parser, "control")
    service.add_arguments(parser, "and what Kubernetes refuses, and exit")


def run(args: argparse.Namespace) -> Answer | int:
    """Run it."""
    from penstock.cluster import checks, config_file

    return service.run(args, config_file.CONTROL, checks.check, partial(_serve, args), config_file.completed)


def _serve(args: argparse.Namespace, config: ControlConfig) -> int:
    with no_search():  # it imports nearly all of what follows
        from penstock.cluster.control import Control
        from penstock.cluster.http import create_app

    def ready(_: Control, url: str) -> None:
        facts = {"control": config.name, "http": url}
        sentence = f"control {config.name} is ready: {url}/, namespace {config.kubernetes.namespace}"
        service.say_ready(args, facts, sentence)

    return service.serve(config.http, "control", partial(Control, config), create_app, ready)
