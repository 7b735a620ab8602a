"""What the HTTP process asks its data process for: a frame of the running series, or facts of a series."""

from __future__ import annotations

from typing import Literal

import msgspec

What = Literal["frame", "geometry", "mask", "lost", "scan"]


class Request(msgspec.Struct, frozen=True):
    """One request; the answer is put into the shared memory of requested frames."""

    what: What = "frame"
    index: int = 0
    """Index of the frame; of "lost", of the first one."""
    limit: int = 0
    """Most ranges, for "lost"."""
    series: str | None = None
    """Id of the series that is meant; `None` for the running, or else the last one. Not for a frame."""
    channel: str | None = None
    """Name of the channel, for "mask"; `None` for the first one."""


class FrameAnswer(msgspec.Struct, frozen=True):
    """The answer to a request: what it asks for is in the shared memory, or `message` says why it is not."""

    ticket: int
    kind: str = ""
    message: str = ""
    pause: float = 0.0
    """Seconds until the next request is served."""
