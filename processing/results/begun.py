"""What is known of a series and its pipeline when the result file begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.processing.wire import Step


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A series, and what is done with its frames."""

    series: str
    """Its id."""
    planned: int | None
    """Frames that are planned; `None` if unknown."""
    pipeline: str
    """Name of the pipeline."""
    steps: tuple[Step, ...] = ()
    program: str = "penstock process"
    version: str = ""
    """Version of the program."""
    version_of_parameters: int = 1
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters from frame 0 on, by name."""
    channels: dict[str, dict[str, str | float]] = field(default_factory=dict)
    """What is said of each channel, by its name: attribute, and how it is joined."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of the values of channels, by their names, as far as they are known."""
    raw: Path | None = None
    """File of the series; `None` if it has none."""
    detector: str = ""
    """Path of the detector's group in it, such as "/entry/instrument/sim"; "" if it is not one
    of a receiver."""
    started: float = 0.0
    """Start of the series, in seconds since 1970 (UTC)."""
