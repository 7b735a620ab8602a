"""Named rectangles of a frame, and the check of names and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from penstock.receiver.config.errors import sentence

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
    try:
        # Not strict, for 7.0 is 7: JSON has only one kind of number.
        return msgspec.convert(given, Rectangle, strict=False)
    except msgspec.ValidationError as error:
        raise BadRegionError(sentence(given, Rectangle, str(error), f"region of interest {name}")) from error
    except UnicodeEncodeError as error:
        raise BadRegionError(f"region of interest {name}: {error}") from error
