"""Figures as people read them: durations, sizes, times of day."""

from __future__ import annotations

import time


def duration(seconds: float) -> str:
    """The two greatest units: "80 ms", "12.5 s", "3 min 5 s", "2 h 0 min", "1 d 3 h"."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.3g} µs" if seconds > 0 else "0 s"
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60.0:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for size, unit, smaller_size, smaller in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // smaller_size} {smaller}"
    return f"{whole} s"


def size(count: float) -> str:
    """In decimal units, as disks are sold: "812 kB", "1.25 GB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def clock(seconds: float) -> str:
    """Local time of day of `seconds` since 1970 (UTC)."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def date_and_clock(seconds: float) -> str:
    """Local date and time of `seconds` since 1970 (UTC)."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
