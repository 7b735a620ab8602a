"""Faults that the generator commits on request: by frame number, or by chance with a seed.

The log is written when a fault is committed, by the one who commits it; no receiver ever sees it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

BLOCK = 2**20
"""Frames whose fates are drawn at once."""
LONGEST_DELAY = 3600.0


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one stream, by frame number."""

    drop: frozenset[int] = frozenset()
    """Numbered and counted as sent, but lost on the way."""
    duplicate: frozenset[int] = frozenset()
    """Sent twice, the second time with a message number of its own."""
    reorder: frozenset[int] = frozenset()
    """Overtaken by the `window` frames after it."""
    window: int = 4
    delay: frozenset[int] = frozenset()
    """Overtaken by every frame of the next `delay_seconds`."""
    delay_seconds: float = 1.0
    corrupt: frozenset[int] = frozenset()
    """One bit in the middle of its last blob is flipped: only a checksum tells."""
    truncate: frozenset[int] = frozenset()
    """Its last blob is one byte short."""
    wrong_type: frozenset[int] = frozenset()
    """Its image header names another type of pixel."""
    lose_start: bool = False
    """No start message."""
    lose_end: bool = False
    """No end message."""
    dies_at: int | None = None
    """The connection is closed before this frame, and nothing comes of this stream any more."""
    lag: int = 0
    """Each frame leaves so many frames after those of the other streams."""

    @property
    def frames(self) -> frozenset[int]:
        """Every frame that something happens to."""
        return frozenset().union(*(getattr(self, kind) for kind in KINDS))


KINDS = ("drop", "duplicate", "reorder", "delay", "corrupt", "truncate", "wrong_type")
"""What may happen to a frame."""


class FaultLog(msgspec.Struct, kw_only=True):
    """What was done to the frames of one stream on their way, by frame number, in the order it was done."""

    drop: list[int] = []
    duplicate: list[int] = []
    reorder: list[int] = []
    delay: list[int] = []
    corrupt: list[int] = []
    truncate: list[int] = []
    wrong_type: list[int] = []
    start_sent: bool = False
    """Whether the start message went out."""
    died_at: int | None = None
    """First frame after the death of this stream."""
    end_sent: bool = False
    """Whether the end message went out."""


def draw(frames: int, seed: int, stream: int, chances: Mapping[str, float]) -> dict[str, frozenset[int]]:
    """The frames of each kind of fault, by chance; the same again for the same arguments.

    No frame has two faults.

    Args:
        frames: of the series.
        seed: any number from 0.
        stream: number of the stream; each has its own fates.
        chances: probability of each kind, by the names of `KINDS`; together 1 at most.

    Raises:
        ValueError: a chance is not one, or they exceed 1 together.
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
    for start in range(0, frames, BLOCK):
        fates = np.searchsorted(limits, rng.random(min(BLOCK, frames - start)), side="right")
        for number, kind in enumerate(kinds):
            drawn[kind] += (start + np.flatnonzero(fates == number)).tolist()
    return {kind: frozenset(numbers) for kind, numbers in drawn.items()}
