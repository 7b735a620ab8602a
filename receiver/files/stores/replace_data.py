"""Replacement of the dataset `data` in the NXdetector group, and of its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STORED_FRAMES = "stored_frames"
"""Name of the dataset that holds the frames if `data` is only a view of them; see `gaps`."""


def replace_data(detector: Any, make: Callable[[], Any], keep_as: str = "") -> Any:
    """Replace `data` by another dataset, and the link to it in NXdata; other links to it are removed there.

    Args:
        detector: NXdetector group of the file, open for writing.
        make: creates the new `data`.
        keep_as: new name of the old dataset; "" to delete it.
    """
    old = detector["data"]
    attributes = dict(old.attrs)
    plot = detector.file["entry"].get("data")
    # In a segment or a part, NXdata itself has the dataset.
    plot = None if plot == detector else plot
    linked = plot is not None and "data" in plot
    if plot is not None:
        # Also the name for neggia, which reads no virtual dataset: it would find what was never written.
        for name in [name for name in plot if plot[name] == old]:
            del plot[name]
    if keep_as:
        detector.move("data", keep_as)
        if "target" in attributes:
            del old.attrs["target"]
    else:
        del detector["data"]
    data = make()
    data.attrs.update(attributes)
    if plot is not None and linked:
        plot["data"] = data
    return data
