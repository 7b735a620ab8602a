"""What the settings ask for: frames, duration, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.words import duration, size
from penstock.stins.texts import plural

PACED_BY_DETECTOR = frozenset({"INTERNAL", "EXTERNAL"})
"""Trigger modes in which the detector's clock sets the pace, from the first trigger on."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The next series, as set."""

    frames: int
    seconds: float | None
    """Duration of the series; with external triggers, its minimum."""
    at_least: bool
    bytes: int
    """0: not known."""
    until_stop: bool = False
    """No number is set."""

    def sentence(self) -> str:
        """Return one line: "1,000 frames, 20 s, 4.4 GB"."""
        if not self.frames:
            return "frames until Stop" if self.until_stop else ""
        parts = [plural(self.frames, "frame")]
        if self.seconds is not None:
            parts.append(("at least " if self.at_least else "") + duration(self.seconds))
        if self.bytes:
            parts.append(size(self.bytes))
        return ", ".join(parts)


def plan(values: Mapping[str, Value | None]) -> Plan:
    """From the device's values, settings and FrameBytes; what is not there counts as 0."""

    def number(name: str) -> float:
        found = values.get(name)
        return float(found) if isinstance(found, (int, float)) else 0.0

    frames = int(number("nTriggers") * number("nFramesPerTrigger"))
    period = number("FrameTime")
    return Plan(
        frames=frames,
        seconds=frames * period if period > 0.0 else None,
        at_least=values.get("TriggerMode") not in PACED_BY_DETECTOR,
        bytes=frames * int(number("FrameBytes")),
        until_stop=values.get("nTriggers") == 0,
    )
