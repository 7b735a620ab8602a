"""Virtual datasets whose files are counted: "raw_%b.h5" stands for raw_0.h5, raw_1.h5 and so on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count, pairwise, takewhile
from pathlib import Path

import h5py
from h5py import h5d, h5p

from penstock.receiver.files.stores.counted_names import NUMBER, is_counted, numbered
from penstock.receiver.files.stores.parts.linked_frames import is_virtual, place_of


def named(shown_by: Path, name: str) -> Iterator[Path]:
    """Yield the files that a virtual dataset names; of counted ones those that exist, up to the first that
    does not."""
    yield place_of(shown_by, numbered(name))
    if is_counted(name):
        others = (place_of(shown_by, numbered(name, number)) for number in count(1))
        yield from takewhile(os.path.exists, others)


def gap(data: h5py.Dataset) -> int:
    """Return how many counted files of a dataset are absent at most, one behind the other, before one that
    exists; 0 if it is of another kind."""
    try:
        grows = is_virtual(data) and None in data.maxshape
    except RuntimeError:  # of a view of what cannot be read
        return 0
    if not grows:
        return 0
    names = {source.file_name for source in h5py.Dataset(data.id).virtual_sources()}
    return max((_gap(Path(data.file.filename), name) for name in names if is_counted(name)), default=0)


def open_with_gap(file: h5py.File, name: str, gap: int) -> h5py.Dataset:
    """Open a dataset with all its frames: HDF5 ends it at the first counted file that does not exist, unless
    it is said how many may be absent when the dataset is opened for the first time."""
    how = h5p.create(h5p.DATASET_ACCESS)
    how.set_virtual_printf_gap(gap)
    return h5py.Dataset(h5d.open(file.id, name.encode(), how))


def _gap(shown_by: Path, name: str) -> int:
    literal = [re.escape(numbered(part)) for part in NUMBER.split(Path(name).name)[::2]]
    marks = [match[1] for match in NUMBER.finditer(Path(name).name)]
    form = literal[0] + "".join(
        (r"(\d+)" if mark == "b" else "%") + part for mark, part in zip(marks, literal[1:], strict=True)
    )
    try:
        found = os.listdir(place_of(shown_by, numbered(name)).parent)
    except OSError:
        return 0
    numbers = sorted(int(match[1]) for each in found if (match := re.fullmatch(form, each)) is not None)
    return max((after - before - 1 for before, after in pairwise([-1, *numbers])), default=0)
