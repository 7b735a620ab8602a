"""How far a series is, and what has become of its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.gui.model.attributes.attribute import Value

FATES: Mapping[str, tuple[str, str]] = {
    "stored": ("nFramesWritten", "stored"),
    "delivered": ("nFramesDelivered", "delivered live"),
    "partial": ("nFramesPartial", "partial"),
    "missing": ("nFramesMissing", "missing"),
    "corrupt": ("nFramesCorrupt", "corrupt"),
    "discarded": ("nFramesDiscarded", "discarded"),
    "not_triggered": ("nFramesNotTriggered", "not triggered"),
    "pending": ("nFramesPending", "pending"),
}
"""Attribute and word for every status of a frame, in the order of the bar; they sum to nFramesPlanned."""
WRONG = frozenset({"partial", "missing", "corrupt", "discarded"})


@dataclass(frozen=True, kw_only=True)
class Account:
    """The running, or the last, series in figures."""

    planned: int = 0
    acquired: int = 0
    fates: Mapping[str, int]
    """Frames by key of `FATES`."""
    rate: float = 0.0
    """Frames received per second."""
    endless: bool = False
    """Until it is stopped: nobody knows how many frames come."""

    @property
    def done(self) -> int:
        """Frames whose fate is known."""
        return sum(number for fate, number in self.fates.items() if fate not in ("pending", "not_triggered"))

    @property
    def whole(self) -> int:
        """Number of frames with the intended fate: in the file, or delivered live as requested."""
        return self.done - self.lost

    @property
    def lost(self) -> int:
        """Frames that are not in the file as they should be."""
        return sum(self.fates[fate] for fate in WRONG)

    def seconds_left(self, frame_time: float) -> float | None:
        """Return the time until the last frame in seconds; `None` if unknown.

        Args:
            frame_time: period as set, in seconds, until a rate has been measured.
        """
        left = max(0, self.planned - self.done)
        if self.endless or not self.planned:
            return None
        if self.rate > 0.0:
            return left / self.rate
        return left * frame_time if frame_time > 0.0 and not self.done else None


def losses_so_far(account: Account) -> str:
    """Return what a running series has lost, in a sentence: "2 frames missing, 1 corrupt so far." """
    return f"Lost of the running series: {', '.join(losses(account))} so far."


def losses(account: Account) -> list[str]:
    """Return what a series has lost: "2 missing", "1 corrupt"."""
    lost = [(account.fates[fate], word) for fate, (_, word) in FATES.items() if fate in WRONG]
    return [f"{number:,} {word}" for number, word in lost if number]


def account(values: Mapping[str, Value | None]) -> Account:
    """From the device's values, by attribute."""

    def number(name: str) -> int:
        found = values.get(name)
        return int(found) if isinstance(found, (int, float)) else 0

    rate = values.get("FrameRateMeasured")
    planned = number("nFramesPlanned")
    return Account(
        planned=planned,
        acquired=number("nFramesAcquired"),
        fates={fate: number(attribute) for fate, (attribute, _) in FATES.items()},
        rate=float(rate) if isinstance(rate, (int, float)) else 0.0,
        endless=planned < 0,
    )
