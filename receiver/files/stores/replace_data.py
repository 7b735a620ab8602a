"""Another dataset in the place of `data` in the NXdetector group, and of its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STORED_FRAMES = "stored_frames"
"""Name of the dataset that holds the frames where `data` only shows them; see `gaps`."""


def replace_data(detector: Any, make: Callable[[], Any], keep_as: str = "") -> Any:
    """Put another dataset in the place of `data`; where NXdata links to the old one, it links to the new one.

    Args:
        detector: NXdetector group of the file, open for writing.
        make: creates `data` in it.
        keep_as: name of the old one from now on; without, it is deleted.
    """
    old = detector["data"]
    attributes = dict(old.attrs)
    plot = detector.file["entry"].get("data")
    linked = plot is not None and "data" in plot
    if linked:
        del plot["data"]
    if keep_as:
        detector.move("data", keep_as)
        if "target" in attributes:
            del old.attrs["target"]
    else:
        del detector["data"]
    data = make()
    data.attrs.update(attributes)
    if linked:
        plot["data"] = data
    return data
