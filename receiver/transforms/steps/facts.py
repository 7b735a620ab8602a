"""What the detector says of its counts, behind steps that make other numbers of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.receiver.transforms.steps.format import Step
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
