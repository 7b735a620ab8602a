"""What the detector says of its counts, behind steps that make other numbers of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.receiver.transforms.steps.format import Format, Kernel, Step
from penstock.receiver.transforms.steps.orientation import BEFORE

FACTS = ("saturation_value", "underload_value")


def moved(metadata: Mapping[str, Any], steps: Sequence[Step]) -> Mapping[str, Any]:
    """Return the metadata of a series after the steps: facts of counts that have become other numbers, such
    as corrected ones, are in `before_transforms`, where nobody applies them to pixels."""
    found = {key: metadata[key] for key in FACTS if key in metadata}
    if not found or not any(step.changes_counts for step in steps):
        return metadata
    before = metadata.get(BEFORE, {})
    others = {key: value for key, value in metadata.items() if key not in FACTS}
    return {**others, BEFORE: {**(before if isinstance(before, Mapping) else {}), **found}}


def of_good_pixels(convert: Callable[[np.ndarray], np.ndarray], format: Format) -> Kernel:
    """Return a kernel that makes floating-point numbers of the pixels that are good, and NaN of all others:
    behind it, nobody could tell a gap, a missing part or a saturated count from a value.

    Args:
        convert: returns a new array of the image's shape, of a floating type.
        format: of the images that the kernel gets.
    """
    rule, partial = format.rule, format.partial

    def kernel(image: np.ndarray) -> np.ndarray:
        found = convert(image)
        if (good := rule.good(image, partial=partial)) is not None:
            np.copyto(found, np.nan, where=~good)
        return found

    return kernel
