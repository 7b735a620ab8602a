"""What a scan file refers to, read with h5py alone."""

from __future__ import annotations

from pathlib import Path

import h5py

from penstock.sardana.reference import Reference, parse
from penstock.streamer.simulated.patterns import frame_number


def texts(scan_file: Path, channel: str = "sim") -> list[str]:
    """What stands at each point of the last scan in a file."""
    with h5py.File(scan_file, locking=False) as file:
        measurement = file[max(file, key=lambda name: int(name.removeprefix("entry")))]["measurement"]
        # Penstock's recorder keeps them beside the images.
        kept = f"_{channel}" if f"_{channel}" in measurement else channel
        return list(measurement[kept].asstr()[()])


def points(scan_file: Path, channel: str = "sim") -> list[Reference]:
    """The references of the last scan in a file, in the order of its points, each of which has one."""
    found = [parse(text) for text in texts(scan_file, channel)]
    assert all(found), found
    return [reference for reference in found if reference is not None]


def frames_of(references: list[Reference]) -> list[int]:
    """The number in the pixels of each frame that is referred to."""
    numbers = []
    for reference in references:
        with h5py.File(reference.file, locking=False) as file:
            numbers.append(frame_number(file[reference.dataset][reference.index]))
    return numbers


def statuses(file_name: str, dataset: str) -> list[int]:
    """`frame_status` of a detector's file."""
    with h5py.File(file_name, locking=False) as file:
        return [int(status) for status in file[dataset].parent["frame_status"][()]]
