"""The pipeline that a command talks to: by its address, its file, or its name behind a receiver."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._address import receiver_url
from penstock.cli.main import UserError

if TYPE_CHECKING:
    from penstock.receiver.models import Status

USUAL = "http://127.0.0.1:5100"
SECONDS = 5.0
"""Longest time for an answer."""


def add_pipeline(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names a pipeline, behind those that name a receiver."""
    parser.set_defaults(usual=parser.get_default("receiver"))
    parser.add_argument(
        "--pipeline", nargs="?", const="", metavar="URL|FILE|NAME",
        help="a pipeline of live processing, by the address of its HTTP API, its YAML file, or its name "
        f"behind the receiver (default: {USUAL}, or the one behind the receiver that is given)",
    )  # fmt: skip


def pipeline_url(args: argparse.Namespace) -> str:
    """Return the address of the pipeline that the options name.

    Raises:
        UserError: there is no such pipeline.
    """
    given: str = args.pipeline
    if "://" in given:
        return given
    if given.endswith((".yaml", ".yml")):
        return address_in(Path(given))
    if not given and args.receiver == args.usual and not args.config:
        return USUAL
    _, mark, port = given.rpartition(":")
    if mark and port.isdecimal():
        return f"http://{given}"
    return _behind(receiver_url(args.receiver, args.config), given)


def pages(status: Status) -> list[str]:
    """Return the addresses of the pipelines behind a receiver, as its configuration says."""
    return [each.page for each in status.consumers if each.page]


def address_in(path: Path) -> str:
    """Return the address that a pipeline has by its file.

    Raises:
        UserError: it is no such file, or leaves the address open.
    """
    from penstock.processing.config.pipeline_file import PipelineError, load

    try:
        http = load(path).http
    except PipelineError as error:
        raise UserError(str(error)) from error
    if http.endswith(":0"):
        raise UserError(f"{path} lets its pipeline take any free port: give the address that it has printed")
    host, _, port = http.rpartition(":")
    # One that binds every address is reached on this host.
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"


def _behind(receiver: str, name: str) -> str:
    """Return the address of the pipeline of this name behind a receiver; of the only one, if it is ""."""
    from penstock.processing.client import NoAnswer, PipelineClient
    from penstock.receiver.client import ReceiverClient

    try:
        found = pages(ReceiverClient(receiver, timeout=SECONDS).status())
    except NoAnswer as error:
        raise UserError(f"{error} Or give the pipeline's address, such as {USUAL}") from error
    names: dict[str, str] = {}
    for page in found:
        try:
            names[page] = PipelineClient(page, timeout=SECONDS).status().pipeline
        except NoAnswer as error:
            names[page] = f"none that answers ({error})"
    fitting = [page for page in found if name in ("", names[page])]
    if len(fitting) == 1:
        return fitting[0]
    there = "; ".join(f"{names[page]} at {page}" for page in found)
    has = f"behind it there is {there}" if found else "it knows no pipeline: give its forward entry a page"
    what = f"the pipeline {name}" if name else "a pipeline"
    raise UserError(
        f"the receiver at {receiver} does not lead to {what}; {has}. Or give the pipeline's address, such as "
        f"{USUAL}, or its file"
    )
