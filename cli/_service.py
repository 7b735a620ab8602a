"""Services: their options, the check of their files, and how they say that they are ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock.cli._arguments.targets import listen
from penstock.cli._output import Answer, add_json, emit, say
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from penstock.service.config_file import FileKind

T = TypeVar("T", bound=Any)


class Service(Protocol):
    """A service that works in threads."""

    failure: str
    """Why one of them has ended by an error of Penstock; "" if none has."""

    def start(self) -> None: ...
    def close(self) -> None: ...


S = TypeVar("S", bound=Service)


def add_arguments(parser: argparse.ArgumentParser, check: str) -> None:
    """Declare the options that all services have.

    Args:
        parser: of the command.
        check: what --check does, before it exits.
    """
    parser.add_argument(
        "--http", metavar="HOST:PORT",
        help="address of the HTTP API instead of the configured one; port 0: any free one",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help=f"print every error of the file, {check}")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of the file, and exit")
    add_json(parser)


def add_file(parser: argparse.ArgumentParser, service: str) -> None:
    """Declare the argument that names the file of a service, such as "bridge"."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help=f"the {service}, a YAML file")


def print_schema(schema: object) -> int:
    """Print the JSON schema of a file; return the exit status."""
    print(json.dumps(schema, indent=2))
    return 0


def checked(file: Path, found: list[str]) -> Answer:
    """Return the answer of --check, with the errors that were found."""
    return Answer({"errors": found}, found or [f"{file}: nothing is wrong"], 2 if found else 0)


def say_ready(args: argparse.Namespace, facts: Mapping[str, object], sentence: str) -> None:
    """Say that a service is ready: with --json by these facts and its process id, in one line."""
    if args.json:
        emit({**facts, "pid": os.getpid()})
    say(args, sentence)


def run(
    args: argparse.Namespace, kind: FileKind[T], check: Callable[[T], list[str]], serve: Callable[[T], int],
    completed: Callable[[T], T] = lambda config: config,
) -> Answer | int:  # fmt: skip
    """Do what the options say.

    Args:
        args: the options.
        kind: of the file.
        check: returns what is wrong beside the file.
        serve: runs the service; returns the exit status.
        completed: returns a configuration with what is not in the file.

    Raises:
        UserError: the file cannot be used.
    """
    import msgspec

    from penstock.service import logs

    if args.schema:
        return print_schema(kind.schema())
    if args.file is None:
        raise UserError(f"which {kind.service}? give its file, such as {kind.example}; --help has an example")
    config = completed(kind.load(args.file))
    if args.http is not None:
        if why := kind.wrong_http(args.http):
            raise UserError(why)
        config = msgspec.structs.replace(config, http=args.http)
    if args.check:
        return checked(args.file, check(config))
    logs.begin()
    return serve(config)


def serve(
    http: str, what: str, make: Callable[[Callable[[], None]], S],
    create_app: Callable[[S], tuple[Any, Callable[[], None]]], ready: Callable[[S, str], None],
) -> int:  # fmt: skip
    """Run a service until SIGINT or SIGTERM, or until one of its threads fails; return the exit status.

    Args:
        http: HOST:PORT of its HTTP API.
        what: the service, such as "bridge".
        make: makes it; is given what to call, in any thread, when a thread has failed.
        create_app: returns its API, and what lets those answer who wait for news.
        ready: called with the service and its URL once requests are answered.

    Raises:
        UserError: it cannot be started.
    """
    from penstock.service import server
    from penstock.service.listener import Listener

    listener, url = listen(http, what)
    ending: list[server.Server] = []

    def failed() -> None:
        for each in ending:
            each.should_exit = True

    service = make(failed)
    try:
        service.start()
    except RuntimeError as error:
        listener.close()
        service.close()
        raise UserError(str(error)) from error
    app, end_waits = create_app(service)
    made = server.make(app, lambda: ready(service, url), end_waits)
    ending.append(made)
    if service.failure:
        failed()
    asyncio.run(made.serve(sockets=[Listener(listener)]))
    return 1 if service.failure or not made.started else 0
