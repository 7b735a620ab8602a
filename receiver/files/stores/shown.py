"""What stands as `data` in the NXdetector group, and is linked to where programs look, made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STORED_FRAMES = "stored_frames"
"""Name of the dataset that holds the frames where `data` only shows them; see `gaps`."""


def show_instead(detector: Any, make: Callable[[], Any], keep_as: str = "") -> Any:
    """Put another dataset in the place of `data`; where the old one was linked, the new one is.

    Args:
        detector: NXdetector group of the file, open for writing.
        make: creates `data` in it.
        keep_as: name of the old one from now on; without, it is deleted.
    """
    old = detector["data"]
    attributes = dict(old.attrs)
    shown = detector.file["entry"].get("data")
    linked = shown is not None and "data" in shown
    if linked:
        del shown["data"]
    if keep_as:
        detector.move("data", keep_as)
        if "target" in attributes:
            del old.attrs["target"]
    else:
        del detector["data"]
    data = make()
    data.attrs.update(attributes)
    if linked:
        shown["data"] = data
    return data
