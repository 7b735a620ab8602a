"""The receiver that a command talks to, and the address that it binds."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlsplit

from penstock.cli.main import UserError

LAST_PORT = 65535
THIS_HOST = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def bound_endpoint(text: str) -> str:
    """Return an address to bind. ZeroMQ itself would take port 70000 for 4464, its last 16 bits."""
    if not text.startswith(("tcp://", "ipc://", "inproc://")):
        raise argparse.ArgumentTypeError(f'"{text}"; give tcp://HOST:PORT, such as tcp://127.0.0.1:9999')
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    if text.startswith("tcp://") and ":" in host and not host.startswith("["):
        raise argparse.ArgumentTypeError(f"{text}: an IPv6 address has brackets, such as tcp://[::1]:9999")
    if text.startswith("tcp://") and port.isdecimal() and int(port) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} has the port {port}; the highest is {LAST_PORT}")
    return text


def add_receiver(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that name a receiver."""
    parser.add_argument(
        "receiver", nargs="?", default="http://127.0.0.1:5000", metavar="URL|NAME",
        help="address of the receiver's HTTP API, or its name in the configuration (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file with NAME")


def receiver_url(receiver: str, config: Path | None) -> str:
    """Return the address of a receiver given by its address, or by its name in a configuration.

    Raises:
        UserError: it is neither.
    """
    if "://" in receiver:
        return _possible(receiver, receiver)
    if config is None and ":" in receiver:
        return _possible(f"http://{receiver}", receiver)

    from penstock.receiver import config as configuration

    path = config or shipped()
    try:
        http = configuration.receiver(configuration.load(path), receiver, str(path)).http
    except configuration.ConfigError as error:
        raise UserError(f"{error}; or give the receiver's address, such as http://127.0.0.1:5000") from error
    host, _, port = http.rpartition(":")
    # A receiver that binds every address is reached on this host.
    return f"http://{THIS_HOST.get(host, host)}:{port}"


def is_file(what: str, config: Path | None) -> bool:
    """Return whether an argument is a file rather than a receiver.

    With `://` it is an address; a receiver's name in the configuration comes before a file of this name; with
    a `.`, `/` or `~` at the beginning it is always a file; else it is a file where there is one.

    Raises:
        UserError: it is neither a receiver nor a file, or the configuration cannot be read.
    """
    if "://" in what:
        return False
    if what.startswith(("./", "../", "/", "~")):
        return True

    from penstock.receiver import config as configuration

    path = config or shipped()
    try:
        known = configuration.load(path).receivers
    except configuration.ConfigError as error:
        raise UserError(f"{error}; a file is given as ./{what}") from error
    if what in known:
        return False
    if Path(what).exists():
        return True
    _, mark, port = what.rpartition(":")
    if mark and port.isdecimal() and not Path(what).suffix:
        return False
    if not mark:
        raise UserError(
            f"{what} is neither a file here nor a receiver of {path}, which has "
            f"{', '.join(known) or 'none'}; a receiver can be given by its address, such as http://127.0.0.1:5000"
        )
    return False


def shipped() -> Path:
    """Return the configuration that comes with Penstock."""
    from importlib.resources import files

    return Path(str(files("penstock.resources") / "detectors.yaml"))


def _possible(url: str, given: str) -> str:
    """Return `url` if a receiver can have this address; the user wrote `given`.

    Raises:
        UserError: none can.
    """
    if why := _why_impossible(url):
        raise UserError(f'"{_without_user(given)}": {why}, such as http://127.0.0.1:5000')
    return url


def _without_user(url: str) -> str:
    """Return an address without its user and password, which must not be shown."""
    scheme, mark, rest = url.rpartition("://")
    return scheme + mark + rest.rpartition("@")[2]


def _why_impossible(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # as it will be looked up
    except ValueError:
        return "not a valid host name; give an address"
    if parts.scheme not in ("http", "https"):
        return "a receiver is reached over HTTP; give an address"
    if parts.username is not None:
        return "a receiver takes no user and no password; give an address"
    if not host:
        return "it has no host; give an address"
    if any(letter.isspace() for letter in host):
        return "not a valid host name; give an address"
    try:
        port = parts.port
    except ValueError:
        port = 0
    # Without a port, HTTP's own is meant.
    return f"ports are numbers from 1 to {LAST_PORT}; give an address" if port == 0 else ""
