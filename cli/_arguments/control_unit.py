"""What the commands that simulate a control unit share: the sensor's options, and how they serve."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping

from penstock.cli._arguments.numbers import whole
from penstock.cli._output import emit, say

LONGEST = 10_000
"""Pixels along an edge; the largest real ones have 2527 (PILATUS3) and 4362 (EIGER)."""
_ENDING = {signal.SIGINT, signal.SIGTERM}


def add_sensor(
    parser: argparse.ArgumentParser, *,
    models: Iterable[str], model: str, patterns: Iterable[str], shows: str, example: str,
) -> None:  # fmt: skip
    """Declare trigger input, model, size of the sensor and pattern.

    Args:
        parser: of the subcommand.
        models: names of the models.
        model: the one that is simulated by default.
        patterns: names of the patterns; the default, gradient, is one of them.
        shows: what has the pattern: "images", "frames".
        example: a size, ROWSxCOLS.
    """
    parser.add_argument(
        "--trigger-port", type=whole(0), default=0, metavar="N",
        help="UDP port of the trigger input (any free one)",
    )  # fmt: skip
    parser.add_argument(
        "--model", choices=tuple(models), default=model, help="model, for the sensor's size (%(default)s)"
    )
    parser.add_argument(
        "--sensor", type=size(example), metavar="ROWSxCOLS", help="another size of the sensor"
    )
    parser.add_argument(
        "--pattern", choices=tuple(patterns), default="gradient", help=f"what {shows} show (%(default)s)"
    )


def address(example: str) -> Callable[[str], tuple[str, int]]:
    """Return a parser of HOST:PORT; port 0 is any free one."""

    def read(text: str) -> tuple[str, int]:
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise argparse.ArgumentTypeError(f'"{text}"; give HOST:PORT, such as {example}')
        return host, int(port)

    return read


def begin() -> None:
    """Log to standard error, and leave SIGINT and SIGTERM to `serve`, in all threads that follow."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


def serve(args: argparse.Namespace, addresses: Mapping[str, str]) -> None:
    """Print the ready line, and return when SIGINT or SIGTERM has come."""
    ready = {**addresses, "pid": os.getpid()}
    if args.json:
        emit(ready)
    else:
        say(args, ", ".join(f"{name} {value}" for name, value in ready.items()))
    signal.sigwait(_ENDING)


def size(example: str) -> Callable[[str], tuple[int, int]]:
    """Return a parser of ROWSxCOLS."""

    def read(text: str) -> tuple[int, int]:
        rows, _, cols = text.partition("x")
        if not all(number.isdecimal() and 1 <= int(number) <= LONGEST for number in (rows, cols)):
            raise argparse.ArgumentTypeError(
                f'"{text}"; give ROWSxCOLS, such as {example}, each at most {LONGEST}'
            )
        return int(rows), int(cols)

    return read
