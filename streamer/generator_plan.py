"""What the generator shall send, and what it reports of it."""

from __future__ import annotations

import msgspec

from penstock.streamer.generator_faults import FaultLog, Faults
from penstock.streamer.patterns import PATTERNS

GENERATED = ("noise", *(name for name in PATTERNS if name != "noise"), "opaque")
"""What frames can show; "opaque" are random bytes, which no codec makes smaller."""
GAP = 8
"""Rows between two modules of a detector of several streams."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to send."""

    frames: int
    shape: tuple[int, ...]
    """Of a frame of each stream: (rows, cols), or (k, rows, cols) for k blobs."""
    dtype: str = "uint16"
    compression: str = "none"
    filename: str = ""
    overwrite: bool = False
    """Whether the receiver may replace a file of this name."""
    rate: float = 0.0
    """Frames a second; 0 for as fast as possible."""
    pattern: str = "noise"
    checksum: str | None = None
    """One of `stins.checksums.ALGORITHMS`."""
    streams: int = 1
    """Modules of the detector, each a stream of its own with the same frame numbers."""
    faults: tuple[Faults, ...] = ()
    """One a stream; none for the streams beyond."""
    die_at: int | None = None
    """Send nothing from this frame on, not even an end message."""
    never_end: bool = False
    """No end message either, but stay connected until told to stop."""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """Where the frames of one stream sit in the image of the whole detector; in pixels, degrees."""

    x: int
    y: int
    rotation: int
    full_shape: tuple[int, int]
    """Rows, columns."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent."""

    series: str
    planned: int
    sent: int
    """Frames of each stream that were handed to ZeroMQ, or lost on request."""
    bytes: int
    """Of blobs."""
    seconds: float
    """From the first frame to the last one handed to ZeroMQ."""
    rate: float
    """Frames a second."""
    megabytes_per_second: float
    cpu_microseconds_per_frame: float
    """CPU time of the process, I/O threads included."""
    reason: str
    """complete, stop, or died."""
    faults: list[FaultLog]
    """One a stream."""


def module(plan: Plan, stream: int) -> Module | None:
    """The place of a stream's frames: modules one below the other; `None` for a detector of one stream."""
    if plan.streams == 1:
        return None
    rows, cols = plan.shape[-2:]
    return Module(
        x=0, y=stream * (rows + GAP), rotation=0, full_shape=(plan.streams * (rows + GAP) - GAP, cols)
    )
