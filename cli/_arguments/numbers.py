"""Numbers on the command line; a refusal says what to give."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to `most`, or without an upper limit."""
    wanted = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{text}"; give a whole number {wanted}') from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        if most is not None and value > most:
            raise argparse.ArgumentTypeError(f"{value} is above {most}")
        return value

    return read


def real(least: float = 0.0, most: float = math.inf, *, above: bool = False) -> Callable[[str], float]:
    """Return a parser of finite numbers from `least` to `most`; with `above`, `least` itself is refused."""
    wanted = (
        f"from {least:g} to {most:g}"
        if most < math.inf
        else f"above {least:g}"
        if above
        else f"of at least {least:g}"
    )

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most) or (above and value == least):
            raise argparse.ArgumentTypeError(f'"{text}"; give a number {wanted}')
        return value

    return read
