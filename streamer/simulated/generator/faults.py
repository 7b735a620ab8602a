"""Faults that the generator commits on request: by frame number, or at random with a seed.

The generator logs each fault when it commits it; no receiver ever sees the log.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

BLOCK = 2**20
"""Frames whose faults are drawn at once."""
LONGEST_DELAY = 3600.0


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one stream, by frame number."""

    drop: frozenset[int] = frozenset()
    """Frames that are numbered and counted as sent, but not sent."""
    duplicate: frozenset[int] = frozenset()
    """Frames that are sent twice, each time with its own message number."""
    reorder: frozenset[int] = frozenset()
    """Frames that are overtaken by the next `window` frames."""
    window: int = 4
    delay: frozenset[int] = frozenset()
    """Frames that are overtaken by every frame of the next `delay_seconds`."""
    delay_seconds: float = 1.0
    corrupt: frozenset[int] = frozenset()
    """Frames with one flipped bit in the middle of the last blob, which only a checksum detects."""
    truncate: frozenset[int] = frozenset()
    """Frames whose last blob is one byte short."""
    wrong_type: frozenset[int] = frozenset()
    """Frames whose image header names another pixel type."""
    lose_start: bool = False
    """Send no start message."""
    lose_end: bool = False
    """Send no end message."""
    dies_at: int | None = None
    """Close the connection before this frame, and send nothing more of this stream."""
    lag: int = 0
    """Number of frames by which this stream is behind the others."""

    @property
    def frames(self) -> frozenset[int]:
        """All frames with a fault."""
        return frozenset().union(*(getattr(self, kind) for kind in KINDS))


KINDS = ("drop", "duplicate", "reorder", "delay", "corrupt", "truncate", "wrong_type")
"""Kinds of faults of a frame."""


class FaultLog(msgspec.Struct, kw_only=True):
    """The faults of one stream, by frame number, in the order in which they were committed."""

    drop: list[int] = []
    duplicate: list[int] = []
    reorder: list[int] = []
    delay: list[int] = []
    corrupt: list[int] = []
    truncate: list[int] = []
    wrong_type: list[int] = []
    start_sent: bool = False
    """True if the start message was sent."""
    died_at: int | None = None
    """First frame after the death of this stream."""
    end_sent: bool = False
    """True if the end message was sent."""


def draw(frames: int, seed: int, stream: int, chances: Mapping[str, float]) -> dict[str, frozenset[int]]:
    """Draw the frames of each kind of fault at random; the same arguments give the same result.

    No frame has two faults.

    Args:
        frames: number of frames of the series.
        seed: any number from 0.
        stream: number of the stream; each has its own faults.
        chances: probability of each kind, by the names of `KINDS`; together 1 at most.

    Raises:
        ValueError: a chance is not a probability, or their sum exceeds 1.
    """
    if not all(0 <= chance <= 1 for chance in chances.values()) or sum(chances.values()) > 1 + 1e-9:
        raise ValueError(
            "the chances of all faults together are "
            f"{sum(chances.values()):g} (" + ", ".join(f"{k} {v:g}" for k, v in chances.items()) + "); "
            "a frame has one fault at most, so 1 is the limit"
        )
    kinds = [kind for kind in KINDS if kind in chances]
    limits = np.cumsum([chances[kind] for kind in kinds])
    rng = np.random.default_rng([seed, stream])
    drawn: dict[str, list[int]] = {kind: [] for kind in kinds}
    for start in range(0, frames if any(chances.values()) else 0, BLOCK):
        fates = np.searchsorted(limits, rng.random(min(BLOCK, frames - start)), side="right")
        for number, kind in enumerate(kinds):
            drawn[kind] += (start + np.flatnonzero(fates == number)).tolist()
    return {kind: frozenset(numbers) for kind, numbers in drawn.items()}
