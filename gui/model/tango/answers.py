"""What a device answers as JSON: `Check`, `LastSeries` and `Parameters`."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from penstock.receiver.models import Counts


@dataclass(frozen=True, kw_only=True)
class Check:
    """Could the series that is set now be armed?"""

    ok: bool
    kind: str = ""
    """Stable name of the reason: "file_exists", "outside_data_root", "in_error" …"""
    sentence: str = ""
    file: str = ""
    """As the receiver sees it; "" for live view."""
    frames: int = 0
    frame_bytes: int = 0
    bytes: int = 0
    free_bytes: int | None = None
    seconds: float | None = None
    """Duration of the series in seconds; `None` if external triggers set the pace."""


@dataclass(frozen=True, kw_only=True)
class LastSeries:
    """How the last series of the device ended."""

    series: str
    file: str = ""
    complete: bool = False
    verdict: str = ""
    planned: int = 0
    counts: Counts = field(default_factory=Counts)
    lost: list[tuple[int, int, str]] = field(default_factory=list)
    """First and last frame, and what became of them, of each gap."""
    started: float = 0.0
    ended: float = 0.0
    armed_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ParameterNote:
    """What Tango's attribute configuration cannot say."""

    name: str
    group: str = "camera"
    choices: tuple[str, ...] = ()
    format: str = ""
    """printf format of a float; "" if Tango's own is meant."""


def read_check(text: str) -> Check:
    """Return the answer of the command `Check`."""
    return msgspec.json.decode(text, type=Check)


def read_last_series(text: str) -> LastSeries | None:
    """Return the attribute `LastSeries`; `None` before the first one."""
    return msgspec.json.decode(text, type=LastSeries) if text else None


def read_parameters(text: str) -> list[ParameterNote]:
    """Return the attribute `Parameters`."""
    return msgspec.json.decode(text, type=list[ParameterNote]) if text else []


def lost_in_words(lost: list[tuple[int, int, str]], most: int = 8) -> str:
    """Return which frames are not in the file as they should be: "missing 12–15, 40; corrupt 7"."""
    by_fate: dict[str, list[str]] = {}
    for first, last, fate in lost[:most]:
        by_fate.setdefault(fate, []).append(f"{first}" if first == last else f"{first}–{last}")
    words = "; ".join(f"{fate.replace('_', ' ')} {', '.join(ranges)}" for fate, ranges in by_fate.items())
    return f"{words}; and more" if len(lost) > most else words
