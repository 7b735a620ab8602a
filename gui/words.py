"""Quantities as people read them: durations, sizes, times of day."""

from __future__ import annotations

import time

CENTURY = 100 * 365.25 * 86400
"""Seconds."""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def duration(seconds: float) -> str:
    """Return the two greatest units: "80 ms", "12.5 s", "3 min 5 s", "2 h 0 min", "1 d 3 h"."""
    if not seconds < CENTURY:
        return "more than 100 years"  # a period may be infinite
    if seconds < 0.001:
        return f"{seconds * 1e6:.3g} µs" if seconds > 0 else "0 s"
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60.0:
        return f"{seconds:.3g} s"
    return age(round(seconds))


def age(seconds: float) -> str:
    """Return whole seconds in the two greatest units: "12 s", "3 min 5 s", "2 h 0 min", "1 d 3 h"."""
    whole = max(0, int(seconds))
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


def sentence(text: str, *, first: bool = True) -> str:
    """Return a text as a sentence: with a point at its end and, where it is the `first`, a capital letter."""
    text = text.strip()
    if first:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def capital(text: str) -> str:
    """Return the text with a capital letter, except for addresses."""
    return text if "://" in text.partition(" ")[0] else text[:1].upper() + text[1:]


def clock(seconds: float) -> str:
    """Local time of day of `seconds` since 1970 (UTC)."""
    return time.strftime("%H:%M:%S", _local(seconds))


def date_and_clock(seconds: float) -> str:
    """Local date and time of `seconds` since 1970 (UTC)."""
    return time.strftime("%Y-%m-%d %H:%M:%S", _local(seconds))


def when(seconds: float, now: float) -> str:
    """Local time of `seconds` since 1970 (UTC) as one says it: "14:02:11", "yesterday 14:02:11",
    "Mon 17 Nov 14:02:11", with the year where it is not this one."""
    said = day(seconds, now)
    return clock(seconds) if said == "today" else f"{said} {clock(seconds)}"


def day(seconds: float, now: float) -> str:
    """Local day of `seconds` since 1970 (UTC): "today", "yesterday", "Mon 17 Nov", "Mon 17 Nov 2025"."""
    then, today = _local(seconds), time.localtime(now)
    yesterday = time.localtime(time.mktime((*today[:2], today[2] - 1, 12, 0, 0, 0, 0, -1)))
    if then[:3] == today[:3]:
        return "today"
    if then[:3] == yesterday[:3]:
        return "yesterday"
    # Not by strftime: Qt sets the locale, and one language in a sentence is enough.
    year = "" if then.tm_year == today.tm_year else f" {then.tm_year}"
    return f"{_DAYS[then.tm_wday]} {then.tm_mday} {_MONTHS[then.tm_mon - 1]}{year}"


def _local(seconds: float) -> time.struct_time:
    """Local time; that of 0 where a damaged record has a number that is no time."""
    return time.localtime(seconds if abs(seconds) < 100 * CENTURY else 0.0)
