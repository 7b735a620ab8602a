"""Named rectangles of a frame, and the check of names and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

MOST_REGIONS = 32
MAX_NAME = 63
"""Longest name in a NeXus file."""
NAME = rf"^[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}$"
"""Pattern of a region's name, which becomes a group of the file."""
MAX_PIXEL = 2**31 - 1

Place = Annotated[int, msgspec.Meta(ge=0, le=MAX_PIXEL)]
Length = Annotated[int, msgspec.Meta(ge=1, le=MAX_PIXEL)]


class BadRegionError(Exception):
    """A region of interest is not valid; the sentence names it, its value and the remedy."""

    kind, http_status = "bad_region", 400


class Rectangle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rectangle of pixels of a stored frame."""

    x: Place
    """First column."""
    y: Place
    """First row."""
    width: Length
    """Columns."""
    height: Length
    """Rows."""


def check_names(names: Mapping[str, Any]) -> None:
    """Refuse names that a file cannot have, and too many regions.

    Raises:
        BadRegionError: a name is not allowed, or there are too many.
    """
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            raise BadRegionError(
                f"region of interest {name!r:.100}: a name has letters, digits and underscores, begins with "
                f"no digit, and has {MAX_NAME} characters at most; rename it"
            )
    if len(names) > MOST_REGIONS:
        raise BadRegionError(f"there are {len(names)} regions of interest; give {MOST_REGIONS} at most")


def parse(given: Mapping[str, Any]) -> dict[str, Rectangle]:
    """Return rectangles by name, from decoded JSON.

    Raises:
        BadRegionError: one of them is not valid.
    """
    check_names(given)
    return {name: _rectangle(name, value) for name, value in given.items()}


def _rectangle(name: str, given: Any) -> Rectangle:
    said = f"region of interest {name}"
    if not isinstance(given, Mapping):
        raise BadRegionError(f"{said} is {given!r:.100}; give x, y, width and height in pixels")
    fields = Rectangle.__struct_fields__
    if unknown := [key for key in given if key not in fields]:
        raise BadRegionError(f"{said} has {unknown[0]!r:.100}; it has {', '.join(fields)} and nothing else")
    values = {}
    for field in fields:
        least = 1 if field in ("width", "height") else 0
        value = given.get(field)
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if type(whole) is not int or not least <= whole <= MAX_PIXEL:
            is_what = f"{field} is {value!r:.100}" if field in given else f"{field} is missing"
            raise BadRegionError(f"{said}: {is_what}; give a whole number of pixels from {least} on")
        values[field] = whole
    return Rectangle(**values)
