"""The generator's plan and its report."""

from __future__ import annotations

import msgspec

from penstock.stins.blobs import has_colours
from penstock.streamer.simulated.generator.faults import FaultLog, Faults
from penstock.streamer.simulated.patterns import PATTERNS

GENERATED = ("noise", *(name for name in PATTERNS if name != "noise"), "opaque")
"""Patterns of frames; "opaque" is random bytes, which no codec compresses."""
GAP = 8
"""Rows between two modules of a detector of several streams."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The series to send."""

    frames: int
    announced: bool = True
    """False if the start message does not say how many frames will come."""
    shape: tuple[int, ...]
    """Shape of a frame of each stream: (rows, cols), (k, rows, cols) for k blobs, (n) for spectra, or
    (rows, cols, 3) for colours."""
    dtype: str = "uint16"
    compression: str = "none"
    filename: str = ""
    overwrite: bool = False
    """True if the receiver may replace a file of this name."""
    rate: float = 0.0
    """Frames per second; 0 for as fast as possible."""
    pattern: str = "noise"
    checksum: str | None = None
    """Checksum algorithm, one of `stins.checksums.ALGORITHMS`."""
    streams: int = 1
    """Number of modules, each of which is a stream with the same frame numbers."""
    faults: tuple[Faults, ...] = ()
    """Faults of each stream; further streams have none."""
    die_at: int | None = None
    """Send nothing from this frame on, not even an end message."""
    never_end: bool = False
    """Send no end message, but stay connected until told to stop."""

    @property
    def has_colours(self) -> bool:
        """True if a frame is one blob of colours."""
        return has_colours(self.shape, parts=1)


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """The position of one stream's frames in the image of the whole detector; in pixels and degrees."""

    x: int
    y: int
    rotation: int
    full_shape: tuple[int, int]
    """Rows and columns of the whole image."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report on the series that was sent."""

    series: str
    planned: int
    sent: int
    """Frames of each stream that were passed to ZeroMQ, or lost on request."""
    bytes: int
    """Total size of the blobs."""
    seconds: float
    """Time from the first to the last frame passed to ZeroMQ."""
    rate: float
    """Frames per second."""
    megabytes_per_second: float
    cpu_microseconds_per_frame: float
    """CPU time of the process per frame, including I/O threads."""
    reason: str
    """Reason of the end: complete, stop, or died."""
    faults: list[FaultLog]
    """Faults committed, one log per stream."""


def module(plan: Plan, stream: int) -> Module | None:
    """Return the position of a stream's frames, stacked vertically; `None` for a detector of one stream."""
    if plan.streams == 1:
        return None
    rows, cols = plan.shape[-2:]
    return Module(
        x=0, y=stream * (rows + GAP), rotation=0, full_shape=(plan.streams * (rows + GAP) - GAP, cols)
    )
