"""Groups and datasets of any HDF5 file, and what they are by NeXus' classes and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py

from penstock.receiver.reading.hdf5.counted import gap, open_with_gap
from penstock.receiver.reading.reader import text

MOST_GROUPS = 2000
"""Groups that are looked at; a file with more is one of many scans, of which the default is found first."""
DEEPEST = 7
NO_NODE = (OSError, RuntimeError, ValueError, KeyError)
"""What h5py raises of a link that leads nowhere, and of a damaged file."""


def groups(file: h5py.File) -> Iterator[h5py.Group]:
    """Yield groups from the root down, each level in order; the entry that is the default before others."""
    level: list[h5py.Group] = [file]
    seen: set[Any] = set()
    for _ in range(DEEPEST):
        following = []
        for group in level:
            key = h5py.h5o.get_info(group.id)
            if (key.fileno, key.addr) in seen or len(seen) >= MOST_GROUPS:
                continue
            seen.add((key.fileno, key.addr))
            yield group
            default = text(group.attrs.get("default"))
            for name in sorted(group, key=lambda name, first=default: name != first):  # type: ignore[misc]
                try:
                    kind = group.get(name, getclass=True)
                    node = group.get(name) if kind is h5py.Group else None
                except NO_NODE:
                    continue  # a link that leads nowhere
                if node is not None:
                    following.append(node)
        level = following


def members(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield the datasets of numbers in a group."""
    for name in group:
        node = dataset(group, name)
        if node is not None and shape_of(node) is not None and node.dtype.kind in "biuf":
            yield name, node


def shape_of(node: h5py.Dataset) -> tuple[int, ...] | None:
    """Return the shape of a dataset; `None` if it has none, or it depends on a file that cannot be read."""
    try:
        return node.shape  # type: ignore[no-any-return]
    except NO_NODE:
        return None


def dataset(group: h5py.Group, name: str) -> h5py.Dataset | None:
    """Return a dataset; `None` if there is none, or its link leads nowhere."""
    try:
        node = group.get(name)
        if not isinstance(node, h5py.Dataset):
            return None
        if (absent := gap(node)) > 0:
            file, path = node.file, str(node.name)
            del node  # it would keep the length that it has
            node = open_with_gap(file, path, absent)
    except NO_NODE:
        return None
    return node


def default_group(file: h5py.File) -> str | None:
    """Return the group to which the `default` attributes lead."""
    node: Any = file
    for _ in range(DEEPEST):
        following = text(node.attrs.get("default"))
        if not following or not isinstance(node.get(following), h5py.Group):
            return None if node.name == "/" else str(node.name).strip("/")
        node = node[following]
    return None


def nx_class(group: h5py.Group) -> str:
    """Return the class that NeXus gives a group; "" if it has none."""
    return text(group.attrs.get("NX_class"))


def name_of(node: Any) -> str:
    """Return the path of a node without slashes at its ends."""
    return str(node.name).strip("/")
