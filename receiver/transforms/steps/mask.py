"""Filling of a rectangle with one value."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np

from penstock.receiver.transforms.steps.format import Format, FormatError, Kernel, Step, plain
from penstock.stins.texts import plural

Place = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Length = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Finite = Annotated[float, msgspec.Meta(ge=-1e308, le=1e308)]


def mask(image: np.ndarray, rows: slice, columns: slice, fill: float) -> np.ndarray:
    """Return a copy of the image with the rectangle filled."""
    masked = image.copy()
    masked[rows, columns] = fill
    return masked


class Mask(Step, frozen=True, kw_only=True, tag="mask"):
    """A rectangle of each image is filled with one value: dead modules, a beam stop, a confidential area."""

    first_row: Place
    first_column: Place
    rows: Length
    columns: Length
    fill: int | Finite | Literal["nan"] = 0
    """The value; it must be one of the image's type. "nan" for floating point."""

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "mask")
        last = self.first_row + self.rows, self.first_column + self.columns
        if last[0] > format.shape[-2] or last[1] > format.shape[-1]:
            raise FormatError(
                f"mask: the rectangle ends at row {last[0]}, column {last[1]}; "
                f"images have {plural(format.shape[-2], 'row')}, {plural(format.shape[-1], 'column')}"
            )
        fill = self._value(format.dtype)
        rows, columns = slice(self.first_row, last[0]), slice(self.first_column, last[1])
        return format, lambda image: mask(image, rows, columns, fill)

    def _value(self, dtype: np.dtype) -> float:
        if dtype.kind == "f":
            return float(self.fill)
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if isinstance(self.fill, str) or self.fill != int(self.fill):
            raise FormatError(f"mask: fill is {self.fill}, images are {dtype.name}; give a whole number")
        if not least <= self.fill <= most:
            raise FormatError(f"mask: fill is {self.fill}, {dtype.name} ranges from {least} to {most}")
        return int(self.fill)
