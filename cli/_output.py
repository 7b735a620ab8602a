"""What a command prints on standard output: text for people or, with --json, one JSON value per line.

And how it ends although a Tango call has not been answered.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from rich.console import Console

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


class Answer(NamedTuple):
    """What a command has found out."""

    value: object
    """With --json."""
    lines: Iterable[str] = ()
    """Without; for people."""
    status: int = 0
    """The exit status."""


def finish(args: argparse.Namespace, answer: Answer | int) -> int:
    """Print the answer of a command, if it has one; return the exit status."""
    if isinstance(answer, int):
        return answer
    if args.json:
        emit(answer.value)
    else:
        for line in answer.lines:
            print(line)
    return answer.status


@contextmanager
def progress(
    what: str, total: int, unit: str = "", *, stays: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a bar while something is done: on standard error, and only on a terminal.

    Args:
        what: is done, such as "reading frames".
        total: how many there are to do.
        unit: what is counted, if it is to be said.
        stays: whether the bar is left there at the end.
    Yields:
        what is told how many are done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    error = Console(stderr=True)
    columns = [TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    if unit:
        columns.insert(-1, TextColumn(unit))
    with Progress(*columns, console=error, transient=not stays, disable=not error.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def emit(value: object) -> None:
    """Print one line of JSON; numbers that JSON does not have (NaN, infinity) become null."""
    import msgspec

    print(msgspec.json.encode(value, enc_hook=_plain).decode(), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.item()  # one of NumPy's numbers


def end_now(status: int) -> NoReturn:
    """End the process at once: a Tango call that nobody answers cannot be cancelled, Python aborts (SIGABRT)
    if it ends while a thread is inside one, and threads of Tango's own may crash it then (SIGSEGV)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end(status: int) -> int:
    """Return the exit status if no thread of ours hangs in a call; else end the process here."""
    if any(each.name.startswith("penstock") and each.is_alive() for each in threading.enumerate()):
        end_now(status)
    return status
