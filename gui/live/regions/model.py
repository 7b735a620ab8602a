"""What is known of the regions, what to change, in which words and colours: pure functions, no widget."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.receiver.models import Rectangle, Roi

Regions = Mapping[str, Rectangle]
"""Rectangles by name, in their order."""
Change = Callable[[Regions], dict[str, Rectangle]]
"""What the user wants, of whatever regions the receiver has by then; it may raise `RegionError`."""
NOTHING = "–"
HOW_TO_BEGIN = "No regions yet: press Add, and draw a rectangle in the picture."


class RegionError(Exception):
    """What the user wants is not possible; one sentence."""


@dataclass(frozen=True)
class Row:
    """One region as listed."""

    name: str
    place: Rectangle
    """Rectangle of the next series, as far as that is known."""
    sum: float | None = None
    """Sum in the newest frame, as the figures below; `None` if there is none."""
    mean: float | None = None
    max: float | None = None
    saturated: float | None = None
    pending: bool = False
    """Its place, or it as a whole, counts from the next series on."""


def rectangle(
    first: tuple[float, float], second: tuple[float, float], extent: tuple[int, int] | None = None
) -> Rectangle:
    """Return the whole pixels between two corners that were drawn.

    Args:
        first: column and row, fractions of a pixel too.
        second: likewise.
        extent: columns and rows of the frame; what is drawn beside it is cut off.
    """
    (x, right), (y, bottom) = (
        _edges(sorted(pair), None if extent is None else extent[axis])
        for axis, pair in enumerate(zip(first, second, strict=True))
    )
    return Rectangle(x=x, y=y, width=right - x, height=bottom - y)


def rows(now: Sequence[Roi], following: Regions | None) -> list[Row]:
    """Return what to list.

    Args:
        now: regions of the running, or the last, series with their values.
        following: those of the next series; `None` while unknown.
    """
    values = {roi.name: roi for roi in now}
    if following is None:
        return [_row(roi, _place(roi)) for roi in now]
    return [_row(values.get(name), place, name) for name, place in following.items()]


def footer(listed: Sequence[Row], *, kept: bool) -> str:
    """Return one sentence below the list."""
    if not listed:
        return HOW_TO_BEGIN
    pending = [row.name for row in listed if row.pending]
    if pending:
        verb = "counts" if len(pending) == 1 else "count"
        return f"{_all(pending)} {verb} from the next series on."
    return (
        "Kept across restarts of the receiver."
        if kept
        else "Until the receiver is restarted; Keep makes it remember them."
    )


def number(value: float | None) -> str:
    """Return a value as listed."""
    if value is None:
        return NOTHING
    if not math.isfinite(value):  # pixels may be infinite, where a mask says that they count
        return f"{value:g}"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.6g}"


def marked(row: Row) -> str:
    """Return the number of saturated pixels as listed: with a mark if there are any."""
    return f"▲ {number(row.saturated)}" if row.saturated else number(row.saturated)


def free_name(taken: Regions) -> str:
    """Return a name for a region that was just drawn."""
    used = {int(found[1]) for name in taken if (found := re.fullmatch(r"region_(\d+)", name))}
    return f"region_{next(count for count in range(1, len(used) + 2) if count not in used)}"


def put(name: str, place: Rectangle) -> Change:
    """Add a region, or move it."""
    return lambda before: {**before, name: place}


def edited(name: str, edge: str, text: str) -> Change:
    """Return the region with one number changed as typed: "x", "y", "width" or "height".

    Raises:
        RegionError: the text is not a number of pixels.
    """

    def change(before: Regions) -> dict[str, Rectangle]:
        place = _existing(before, name)
        try:
            return {**before, name: replace(place, **{edge: int(text.strip())})}
        except ValueError:
            raise RegionError(f"{edge} of {name}: {text!r} is not a whole number of pixels") from None

    return change


def renamed(name: str, new: str) -> Change:
    """Give a region another name, at its place in the order.

    Raises:
        RegionError: the name is another region's; from the change.
    """

    def change(before: Regions) -> dict[str, Rectangle]:
        _existing(before, name)
        if new != name and new in before:
            raise RegionError(f"{new} is the name of another region already; give {name} another one")
        return {(new if each == name else each): place for each, place in before.items()}

    return change


def without(name: str) -> Change:
    """Delete a region; one that has gone already is no error."""
    return lambda before: {each: place for each, place in before.items() if each != name}


def unchanged(before: Regions) -> dict[str, Rectangle]:
    """Return the regions unchanged, so that the receiver keeps them."""
    return dict(before)


def _edges(pair: Sequence[float], length: int | None) -> tuple[int, int]:
    most = None if length is None else length - 1
    low = max(0, round(pair[0]))
    low = low if most is None else min(low, most)
    high = max(low + 1, round(pair[1]))
    return low, high if length is None else min(high, length)


def _row(roi: Roi | None, place: Rectangle, name: str = "") -> Row:
    if roi is None:
        return Row(name, place, pending=True)
    return Row(roi.name, place, roi.sum, roi.mean, roi.max, roi.saturated, pending=_place(roi) != place)


def _place(roi: Roi) -> Rectangle:
    return Rectangle(x=roi.x, y=roi.y, width=roi.width, height=roi.height)


def _existing(before: Regions, name: str) -> Rectangle:
    if name not in before:
        raise RegionError(f"{name} no longer exists: somebody else has changed the regions")
    return before[name]


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


PALETTE = ("#ff9f1c", "#3fc1ff", "#b388ff", "#ff6b6b", "#9be564", "#ffe14d", "#4de3c1")


def colour(place: int) -> str:
    """Return the colour of the region at this place in the list."""
    return PALETTE[place % len(PALETTE)]
