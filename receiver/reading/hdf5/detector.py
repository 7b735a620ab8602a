"""The NXdetector that holds the frames that are shown, and the NXbeam that belongs to it: by class, not by
name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py

from penstock.receiver.files.stores.parts.linked_frames import place_of, runs_of
from penstock.receiver.reading.hdf5.nodes import NO_NODE, nx_class
from penstock.receiver.reading.hdf5.numbers import finite
from penstock.receiver.reading.reader import ReaderError, open_hdf5

DEEPEST = 8
"""Most virtual datasets that are followed."""
MOST_SOURCES = 8
"""Datasets behind virtual datasets in which a detector is looked for."""
MOST_TRIED = 32
"""Files that are tried for them, as far as they are away."""
ENTRIES = ("NXentry", "NXsubentry")
_INCIDENT = ("incident_wavelength", "incident_energy")


class Held(NamedTuple):
    """What belongs to the frames."""

    detector: h5py.Group | None = None
    beam: h5py.Group | None = None
    remarks: tuple[str, ...] = ()
    """Why one of them is not known although there are some: sentences."""


def held(data: h5py.Dataset, home: h5py.Group, files: list[h5py.File]) -> Held:
    """Return detector and beam of the frames that a dataset shows.

    The detector is the NXdetector that holds the dataset, or that to which its links and virtual datasets
    lead; else the only one of its entry.

    Args:
        data: the frames.
        home: group in which they were found.
        files: gets the files that were opened for it; to be closed by the caller.
    """
    detector, remarks = _detector(data, home, files)
    if detector is None:
        return Held(remarks=remarks)
    beam, more = _beam(detector)
    return Held(detector, beam, remarks + more)


def held_by_series(detector: h5py.Group) -> Held:
    """Return detector and beam of a series file, whose detector is known."""
    return Held(detector, *_beam(detector))


def _detector(
    data: h5py.Dataset, home: h5py.Group, files: list[h5py.File]
) -> tuple[h5py.Group | None, tuple[str, ...]]:
    level: list[tuple[h5py.Dataset, h5py.Group]] = [(data, home)]
    homes: list[h5py.Group] = []
    for _ in range(DEEPEST):
        for shown, place in level:
            if (found := _holding(shown, place)) is not None:
                return found, ()
        homes += [place for _, place in level]
        level = [(source, source.parent) for shown, _ in level for source in _sources(shown, files)]
        level = level[:MOST_SOURCES]
    remarks: list[str] = []
    for place in homes:
        entry = _above(place, ENTRIES) or _topmost(place)
        detectors = [] if entry is None else _detectors(entry)
        if len(detectors) == 1:
            return detectors[0], ()
        if detectors and entry is not None:
            names = ", ".join(str(each.name).rpartition("/")[2] for each in detectors)
            remarks.append(
                f"{entry.name} of {entry.file.filename} has several detectors ({names}), and none of them "
                "holds the frames on show: which mask and geometry are theirs is not known"
            )
    return None, tuple(remarks[:1])


def _holding(data: h5py.Dataset, home: h5py.Group) -> h5py.Group | None:
    """Return the NXdetector that has a dataset: above it, or by a link of its entry's."""
    if (found := _above(data, ("NXdetector",))) is not None:
        return found
    entry = _above(home, ENTRIES) or _topmost(home)
    key = _key(data)
    for detector in [] if entry is None else _detectors(entry):
        for name in detector:
            try:
                node = detector.get(name)
            except NO_NODE:
                continue
            if isinstance(node, h5py.Dataset) and node.ndim == data.ndim and _key(node) == key:
                return detector
    return None


def _sources(data: h5py.Dataset, files: list[h5py.File]) -> Iterator[h5py.Dataset]:
    """Yield the datasets whose whole frames a virtual dataset shows; of many of one name the first."""
    seen: set[str] = set()
    tried = 0
    for run in runs_of(data, counted=True):
        if run.dataset in seen:
            continue
        tried += 1
        if tried > MOST_TRIED:
            return
        try:
            file = data.file
            if run.file != ".":
                path = place_of(Path(file.filename), run.file)
                file = open_hdf5(path)
                files.append(file)
            source = file.get(run.dataset)
        except (*NO_NODE, ReaderError):
            continue  # the next file of the same frames may be there
        if isinstance(source, h5py.Dataset) and source.shape[1:] == data.shape[1:]:
            seen.add(run.dataset)
            yield source


def _detectors(entry: h5py.Group) -> list[h5py.Group]:
    """Return the detectors of an entry, each once, whatever links lead to it."""
    found: dict[Any, h5py.Group] = {}
    for instrument in _children(entry, "NXinstrument", "instrument"):
        for detector in _children(instrument, "NXdetector", "detector"):
            found.setdefault(_key(detector), detector)
    return list(found.values())


def _beam(detector: h5py.Group) -> tuple[h5py.Group | None, tuple[str, ...]]:
    """Return the NXbeam of a detector's entry, and why it is not known although there is one."""
    entry = _above(detector, ENTRIES) or _topmost(detector)
    if entry is None:
        return None, ()
    for parent, name in (("NXinstrument", "instrument"), ("NXsample", "sample")):
        beams = {
            _key(beam): beam
            for group in _children(entry, parent, name)
            for beam in _children(group, "NXbeam", "beam")
            if any(finite(beam.get(each)) for each in _INCIDENT)
        }
        if len(beams) == 1:
            return next(iter(beams.values())), ()
        if beams:
            names = ", ".join(str(each.name) for each in beams.values())
            return None, (f"there are several beams ({names}): which wavelength is meant is not known",)
    return None, ()


def _children(group: h5py.Group, kind: str, name: str) -> Iterator[h5py.Group]:
    """Yield the groups of a class; without any class, the one of the usual name."""
    for each in group:
        try:
            node = group.get(each)
        except NO_NODE:
            continue
        if isinstance(node, h5py.Group) and (nx_class(node) or (kind if each == name else "")) == kind:
            yield node


def _above(node: Any, kinds: tuple[str, ...]) -> h5py.Group | None:
    """Return the nearest group of a class above a node, or the node itself."""
    while True:
        if isinstance(node, h5py.Group) and nx_class(node) in kinds:
            return node
        if node.name in (None, "/"):
            return None
        node = node.parent


def _topmost(node: h5py.Group) -> h5py.Group | None:
    """Return the group at the root below which a node is: the entry of files without classes."""
    parts = str(node.name).strip("/").split("/")
    return node.file[parts[0]] if parts[0] else None


def _key(node: Any) -> tuple[Any, ...]:
    """Return what tells an object from all others, whatever its names are."""
    info = h5py.h5o.get_info(node.id)
    return info.fileno, info.addr
