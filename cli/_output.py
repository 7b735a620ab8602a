"""What a command prints on standard output: words for people or, with --json, one JSON value per line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

HELP = "print nothing but JSON on standard output, and the words on standard error"


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    parser.add_argument("--json", action="store_true", help=HELP)


def say(args: argparse.Namespace, text: str) -> None:
    """Print words: to standard output, or to standard error where a program reads that."""
    print(text, file=sys.stderr if args.json else sys.stdout, flush=True)


def console(args: argparse.Namespace) -> Console:
    """Return where words with a look go: tables, progress."""
    from rich.console import Console

    class Words(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich ends with status 1; `main` knows better

    return Words(stderr=args.json, highlight=False, soft_wrap=True)


def emit(value: object) -> None:
    """Print one line of JSON; a number that JSON does not know (NaN, infinity) is null."""
    import msgspec

    print(msgspec.json.encode(value, enc_hook=_plain).decode(), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.item()  # one of NumPy's numbers
