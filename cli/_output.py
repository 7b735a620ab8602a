"""What a command prints on standard output: words for people or, with --json, one JSON value per line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HELP = "print nothing but JSON on standard output, and the words on standard error"


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    parser.add_argument("--json", action="store_true", help=HELP)


def say(args: argparse.Namespace, text: str) -> None:
    """Print words: to standard output, or to standard error where a program reads that."""
    print(text, file=sys.stderr if args.json else sys.stdout, flush=True)


def emit(value: object) -> None:
    """Print one line of JSON; a number that JSON does not know (NaN, infinity) is null."""
    import msgspec

    print(msgspec.json.encode(value, enc_hook=_plain).decode(), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.item()  # one of NumPy's numbers
