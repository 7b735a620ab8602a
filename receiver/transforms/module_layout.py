"""The layout of modules in the assembled image, and the NumPy reference implementation of assembling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np

from penstock.stins.blobs import MAX_FRAME_BYTES
from penstock.stins.modules import Module

MAX_PIXELS = MAX_FRAME_BYTES // 8
"""Most pixels of an assembled image: with the widest type it is no larger than any other frame may be."""


class Region(NamedTuple):
    """The pixels of an image that one module covers."""

    row: int
    column: int
    rows: int
    columns: int


class LayoutError(Exception):
    """The modules do not form one image; the sentence says which, and why."""

    kind = "not_assembled"


class Place(NamedTuple):
    """One module in the assembled image."""

    row: int
    column: int
    rows: int
    """Rows of the module in the assembled image, after rotation."""
    columns: int
    turns: int
    """Rotations by 90 degrees counter-clockwise, from the frame as sent."""

    @property
    def region(self) -> tuple[slice, slice]:
        """The rows and columns that it covers."""
        return slice(self.row, self.row + self.rows), slice(self.column, self.column + self.columns)


class Layout(msgspec.Struct, frozen=True):
    """The positions of all modules of a detector."""

    places: tuple[Place, ...]
    shape: tuple[int, int]
    """Rows and columns of the assembled image."""

    def covered(self, there: Sequence[bool]) -> tuple[Region, ...]:
        """Return the regions of the modules that are present."""
        return tuple(
            Region(*place[:4]) for place, is_there in zip(self.places, there, strict=True) if is_there
        )

    @property
    def pixels(self) -> int:
        """The number of pixels of the assembled image."""
        return self.shape[0] * self.shape[1]

    @property
    def is_turned(self) -> bool:
        """True if a module's frames have to be rotated, which a virtual dataset cannot do."""
        return any(place.turns for place in self.places)


def arrange(modules: Sequence[Module], rows: int, columns: int) -> Layout:
    """Return the layout of modules whose frames have so many rows and columns.

    Positions between pixels are rounded. If one is negative, all are shifted together so that the lowest is
    0: only relative positions count. Without `full_shape` the image is as small as possible.

    Raises:
        LayoutError: a rotation is no multiple of 90°, modules overlap, one reaches beyond `full_shape`, or
            they do not agree on it.
    """
    turns = [_turns(number, module.rotation) for number, module in enumerate(modules)]
    tops, lefts = [round(module.y) for module in modules], [round(module.x) for module in modules]
    top, left = min(0, *tops), min(0, *lefts)
    places = [
        Place(y - top, x - left, *((columns, rows) if turn % 2 else (rows, columns)), turn)
        for y, x, turn in zip(tops, lefts, turns, strict=True)
    ]
    for (first, one), (second, other) in combinations(enumerate(places), 2):
        if _overlap(one, other):
            raise LayoutError(
                f"modules {first} and {second} overlap: {_text(one)}, {_text(other)}; "
                "compare x and y of their start messages"
            )
    needed = (
        max(place.row + place.rows for place in places),
        max(place.column + place.columns for place in places),
    )
    shapes = {module.full_shape for module in modules} - {None}
    if len(shapes) > 1:
        raise LayoutError(f"modules do not agree on full_shape: {', '.join(map(str, sorted(shapes)))}")  # type: ignore[type-var]
    shape = shapes.pop() if shapes else needed
    assert shape is not None
    if needed[0] > shape[0] or needed[1] > shape[1]:
        raise LayoutError(
            f"full_shape is {list(shape)}, the modules need {list(needed)}: {'; '.join(map(_text, places))}"
        )
    if shape[0] * shape[1] > MAX_PIXELS:
        raise LayoutError(f"an image of {list(shape)} is larger than {MAX_PIXELS} pixels")
    return Layout(tuple(places), shape)


def assemble(layout: Layout, images: Sequence[np.ndarray | None], dtype: np.dtype, fill: float) -> np.ndarray:
    """Return the image of the whole detector.

    Args:
        images: image of each module, (rows, cols); `None` for a missing one.
        fill: value of gaps and of missing modules.
    """
    whole = np.full(layout.shape, fill, dtype)
    for place, image in zip(layout.places, images, strict=True):
        if image is not None:
            whole[place.region] = np.rot90(image, place.turns) if place.turns else image
    return whole


def _turns(number: int, degrees: float) -> int:
    quarters = degrees / 90
    if quarters != round(quarters):
        raise LayoutError(
            f"module {number} is rotated by {degrees:g} degrees; only multiples of 90 keep its pixels"
        )
    return round(quarters) % 4


def _overlap(one: Place, other: Place) -> bool:
    return (
        one.row < other.row + other.rows
        and other.row < one.row + one.rows
        and one.column < other.column + other.columns
        and other.column < one.column + one.columns
    )


def _text(place: Place) -> str:
    return (
        f"rows {place.row} to {place.row + place.rows - 1}, "
        f"columns {place.column} to {place.column + place.columns - 1}"
    )
