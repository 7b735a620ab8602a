"""Series of frames of 4 x 6 pixels, as a streamer sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.streams import Streamer, pixels

SHAPE = (4, 6)


def send(streamer: Streamer, filename: str | Path, numbers: Any, **header: Any) -> str:
    header = {"shape": SHAPE, "type": "uint16", "compression": "none"} | header
    series = streamer.start(str(filename), **header)
    for number in numbers:
        streamer.frame(number)
    return series


def first(number: int) -> int:
    return int(pixels(number, SHAPE).flat[0])
