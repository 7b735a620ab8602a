"""What a command talks to or works on: receiver, pipeline, Tango database, files; where services listen."""

from __future__ import annotations

import argparse
import errno
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from penstock.cli._output import say
from penstock.stins.addresses import bare
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    import tango

    from penstock.hosts.tango_host import TangoHost
    from penstock.processing.client import PipelineClient
    from penstock.receiver.client import ReceiverClient
    from penstock.receiver.models import Status

T = TypeVar("T")
LAST_PORT = 65535
SECONDS = 5.0
"""Longest time for an answer."""
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
    return _reached_at(http)


def receiver_client(args: argparse.Namespace) -> ReceiverClient:
    """Return the client of the receiver that the options name.

    Raises:
        UserError: they name none.
    """
    from penstock.receiver.client import ReceiverClient

    return ReceiverClient(receiver_url(args.receiver, args.config), timeout=SECONDS)


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


def _reached_at(http: str) -> str:
    """Return the address of what listens there; what binds every address is reached on this host."""
    host, _, port = http.rpartition(":")
    return f"http://{THIS_HOST.get(host, host)}:{port}"


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


USUAL = "http://127.0.0.1:5100"


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


def pipeline_client(args: argparse.Namespace) -> PipelineClient:
    """Return the client of the pipeline that the options name.

    Raises:
        UserError: there is no such pipeline.
    """
    from penstock.processing.client import PipelineClient

    return PipelineClient(pipeline_url(args), timeout=SECONDS)


def pages(status: Status) -> list[str]:
    """Return the addresses of the pipelines behind a receiver, as its configuration says."""
    return [each.page for each in status.consumers if each.page]


def address_in(path: Path) -> str:
    """Return the address that a pipeline has by its file.

    Raises:
        UserError: it is no such file, or leaves the address open.
    """
    from penstock.processing.config.pipeline_file import load

    http = load(path).http
    if http.endswith(":0"):
        raise UserError(f"{path} lets its pipeline take any free port: give the address that it has printed")
    return _reached_at(http)


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


NO_HOST = (socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_NODATA)
NO_SUCH_HOST = "no host of this name is known; give an address of this machine, or 0.0.0.0 for all of them"


def listen(http: str, what: str) -> tuple[socket.socket, str]:
    """Return a socket that listens, and the URL of what answers there.

    Args:
        http: HOST:PORT; port 0 takes any free one.
        what: who else may be there, such as "receiver".

    Raises:
        UserError: the address cannot be used; the sentence says why.
    """
    host, _, port = http.rpartition(":")
    try:
        host.encode("idna")  # else `create_server` raises a TypeError, and leaves its socket open
        is_ipv6 = host.startswith("[")
        listener = socket.create_server(
            (bare(host), int(port)), family=socket.AF_INET6 if is_ipv6 else socket.AF_INET, reuse_port=False,
            # [::] means all addresses, those of IPv4 included.
            dualstack_ipv6=host == "[::]" and socket.has_dualstack_ipv6(),
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"cannot listen on {http}: {_reason(error, what)}") from error
    except UnicodeError as error:  # a name that cannot be encoded for the network, such as "ä..b"
        raise UserError(f"cannot listen on {http}: {NO_SUCH_HOST}") from error
    # Inherited by every connection. asyncio sets it only on sockets whose protocol is named, and
    # without it each answer waits 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener, f"http://{host}:{listener.getsockname()[1]}"


def _reason(error: OSError, what: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"the port is taken; is another {what} there? `--http 127.0.0.1:0` takes any free one"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address; 0.0.0.0 means all of its addresses"
    if error.errno in NO_HOST:  # `create_server` turns the gaierror into an OSError
        return NO_SUCH_HOST
    return str(error.strerror)


def open_database() -> tuple[TangoHost, tango.Database]:
    """Return the Tango database that this machine is configured for, and where that is configured.

    Raises:
        UserError: there is none, or it does not answer.
    """
    import tango

    from penstock.hosts.tango_host import VARIABLE, files, tango_host

    host = tango_host()
    remedy = "start one with `penstock database`, then: export TANGO_HOST=127.0.0.1:10000"
    if host is None:
        places = " or ".join(map(str, files()))
        raise UserError(
            f"{VARIABLE} is not set, nor is it in {places}, so there is no Tango database to ask; {remedy}"
        )
    try:
        return host, tango.Database()
    except tango.DevFailed as error:
        raise UserError(f"no Tango database answers at {host}; {remedy}") from error


def add_files(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that name files of series."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file of a series")


def add_group(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the detector in these files."""
    parser.add_argument(
        "--detector", metavar="GROUP", help="name of the NXdetector group, where a file has several"
    )


def each_file(
    args: argparse.Namespace, work: Callable[[Path], T], detector: str | None = None
) -> tuple[list[T], dict[str, str]]:
    """Work on the given files, each that only refers to files of series replaced by these.

    Args:
        args: arguments of the command.
        work: on one file.
        detector: name of the NXdetector group.
    Returns:
        what `work` has returned, and why it has failed, by the path.

    Raises:
        UserError: it has failed, and there is but one file.
    """
    from penstock.checks.linked_series import series_behind

    paths: dict[Path, None] = {}
    for path in args.files:
        behind = series_behind(path, detector)
        if behind != [path]:
            say(args, f"{path}: its frames are in {', '.join(map(str, behind))}")
        paths |= dict.fromkeys(behind)
    found: list[T] = []
    failed: dict[str, str] = {}
    for path in paths:
        try:
            found.append(work(path))
        except UserError as error:
            if len(paths) == 1 and not args.json:
                raise
            say(args, f"penstock {args.command}: {error}")
            failed[str(path)] = str(error)
    return found, failed
