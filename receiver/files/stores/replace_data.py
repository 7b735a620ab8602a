"""Replacement of the dataset `data` in the NXdetector group, and of its links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.receiver.files.stores.disk import disk_file

STORED_FRAMES = "stored_frames"
"""Name of the dataset that holds the frames if `data` is only a view of them; see `gaps`."""


def replace_data(detector: Any, make: Callable[[], Any], keep_as: str = "") -> Any:
    """Replace `data` by another dataset, and the link to it in NXdata; other links to it are removed there.

    Args:
        detector: NXdetector group of the file, open for writing.
        make: creates the new `data`, without a name.
        keep_as: new name of the old dataset; "" to delete it.
    """
    old = detector["data"]
    attributes = dict(old.attrs)
    plot = detector.file["entry"].get("data")
    # In a segment or a part, NXdata itself has the dataset.
    plot = None if plot == detector else plot
    links = [(detector, "data")]
    if plot is not None:
        if "data" in plot:
            links.append((plot, "data"))
        # Also the name for neggia, which reads no virtual dataset: it would find what was never written.
        for name in [name for name in plot if name != "data" and plot[name] == old]:
            del plot[name]
    if not keep_as:
        data = make()
        data.attrs.update(attributes)
        put_in_place(data, links)
        return data
    detector.move("data", keep_as)
    if "target" in attributes:
        del old.attrs["target"]
    data = make()
    data.attrs.update(attributes)
    for group, name in links:
        if name in group:
            del group[name]
        group[name] = data
    return data


def put_in_place(new: Any, links: Sequence[tuple[Any, str]]) -> None:
    """Let links lead to a new object instead of an old one; a kill at any moment leaves one of the two.

    HDF5 frees the old one, and uses its space again, before the links that refer to it are written. So the
    new one is written first, then the links, and the old one is freed after that. A name that is removed and
    at once entered again is where it was in the group, so that only the address beside it has changed.

    Args:
        new: without a name so far.
        links: the group of each link, and its name.
    """
    old = [group[name] for group, name in links]  # HDF5 does not free what is open
    disk_file.flush(new.file)
    for group, name in links:
        del group[name]
        group[name] = new
    disk_file.flush(new.file)
    del old
