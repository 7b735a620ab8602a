"""What a command prints on standard output: text for people or, with --json, one JSON value per line.

And how it ends although a Tango call has not been answered.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
import os
import threading
from typing import NoReturn

HELP = "print only JSON on standard output, and messages on standard error"


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    parser.add_argument("--json", action="store_true", help=HELP)


def say(args: argparse.Namespace, text: str) -> None:
    """Print a message: to standard output or, with --json, to standard error."""
    print(text, file=sys.stderr if args.json else sys.stdout, flush=True)


def console(args: argparse.Namespace) -> Console:
    """Return the console for styled output: tables, progress."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # for `main`; rich would exit with 1

    return PipeConsole(stderr=args.json, highlight=False, soft_wrap=True)


def emit(value: object) -> None:
    """Print one line of JSON; numbers that JSON does not have (NaN, infinity) become null."""
    import msgspec

    print(msgspec.json.encode(value, enc_hook=_plain).decode(), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.item()  # one of NumPy's numbers


def end_now(status: int) -> NoReturn:
    """End the process at once: a Tango call that nobody answers cannot be cancelled, and Python aborts
    (SIGABRT) if it ends while a thread is inside one."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end(status: int) -> int:
    """Return the exit status if no thread of ours hangs in a call; else end the process here."""
    if any(each.name.startswith("penstock") and each.is_alive() for each in threading.enumerate()):
        end_now(status)
    return status
