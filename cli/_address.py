"""Which receiver a command speaks to, and which address it binds."""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.cli.main import UserError

LAST_PORT = 65535


def bound_endpoint(text: str) -> str:
    """An address to bind. ZeroMQ itself takes 70000 as port 4464: it looks at the last 16 bits."""
    port = text.rpartition(":")[2]
    if text.startswith("tcp://") and port.isdecimal() and int(port) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} has the port {port}; ports end at {LAST_PORT}")
    return text


def add_receiver(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which."""
    parser.add_argument(
        "receiver", nargs="?", default="http://127.0.0.1:5000", metavar="URL|NAME",
        help="address of the receiver's HTTP API, or its name in the configuration (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration that knows NAME")


def receiver_url(receiver: str, config: Path | None) -> str:
    """Address of a receiver that was given by its address, or by its name in a configuration.

    Raises:
        UserError: it is neither.
    """
    if "://" in receiver:
        if not receiver.startswith(("http://", "https://")):
            raise UserError(f'"{receiver}": a receiver is asked over HTTP, such as http://127.0.0.1:5000')
        return receiver
    if config is None and ":" in receiver:
        return f"http://{receiver}"

    from importlib.resources import files

    from penstock.receiver import config as configuration

    path = config or Path(str(files("penstock.resources") / "detectors.yaml"))
    try:
        http = configuration.receiver(configuration.load(path), receiver, str(path)).http
    except configuration.ConfigError as error:
        raise UserError(f"{error}; or give the receiver's address, such as http://127.0.0.1:5000") from error
    host, _, port = http.rpartition(":")
    # A receiver that binds every address is asked on this host.
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"
