"""Subtraction of a dark image and division by a flat one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.receiver.transforms.steps.facts import of_good_pixels
from penstock.receiver.transforms.steps.format import (
    NO_RULE,
    Format,
    FormatError,
    Kernel,
    Plan,
    ReadArray,
    Step,
    TransformConfigError,
    plain,
)


def correct(image: np.ndarray, dark: np.ndarray | None, flat: np.ndarray | None) -> np.ndarray:
    """Return (image - dark) / flat, float32; NaN where one of them is NaN."""
    corrected = image.astype("<f4")
    if dark is not None:
        corrected -= dark
    if flat is not None:
        corrected /= flat
    return corrected


class DarkFlat(Step, frozen=True, kw_only=True, tag="dark_flat"):
    """Each image is corrected to float32, which holds counts up to 2²⁴ exactly; NaN where a pixel has no
    value or is saturated."""

    changes_counts: ClassVar[bool] = True
    dark: str | None = None
    """File of the image to subtract."""
    flat: str | None = None
    """File of the image to divide by, its own dark image subtracted; pixels of 0 or less become NaN in it."""

    def __post_init__(self) -> None:
        if self.dark is None and self.flat is None:
            raise ValueError("dark_flat has neither a dark nor a flat image; give one, or leave it out")

    def load(self, read: ReadArray) -> Plan:
        dark, flat = (
            None if path is None else _values(read(path, "dark_flat")) for path in (self.dark, self.flat)
        )
        for array, path in ((dark, self.dark), (flat, self.flat)):
            if array is not None and array.ndim != 2:
                raise TransformConfigError(f"dark_flat: {path} is {list(array.shape)}; give one image")
        if flat is not None:
            flat = np.where(flat > 0, flat, np.float32(np.nan))

        def plan(format: Format) -> tuple[Format, Kernel]:
            plain(format, "dark_flat")
            for array, path in ((dark, self.dark), (flat, self.flat)):
                if array is not None and array.shape != format.image_shape:
                    raise FormatError(
                        f"dark_flat: {path} has {list(array.shape)} pixels, images have "
                        f"{list(format.image_shape)}; is a rotation before it?"
                    )
            return format._replace(type="float32"), of_good_pixels(
                lambda image: correct(image, dark, flat), format
            )

        return plan


def _values(array: np.ndarray) -> np.ndarray:
    """Return an image as float32; NaN where it has no value, as in the gaps of an array of counts."""
    good = NO_RULE.good(array)
    return array.astype("<f4", copy=False) if good is None else np.where(good, array, np.nan).astype("<f4")
