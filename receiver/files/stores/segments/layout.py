"""Names of segments, and the virtual dataset that shows their frames."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.codecs.pixel_type import fill_value
from penstock.receiver.files import refusals
from penstock.receiver.files.stores.contract import FrameFormat
from penstock.receiver.files.stores.counted_names import escaped, numbered
from penstock.receiver.files.stores.disk.disk_file import path_of
from penstock.receiver.files.stores.segments.segment_file import DATASET, is_segment


class Source(NamedTuple):
    """A segment as listed in the virtual dataset."""

    start: int
    """Index of its first frame."""
    length: int
    """Number of its frames."""
    name: str


def file_name(path: Path, number: int) -> str:
    """Return the file name of segment `number`, counted from 0, of the series with this file."""
    return f"{path.stem}_{number + 1:06d}.h5"


def is_one(path: Path) -> bool:
    """Return whether a file is a segment, of whichever series, by its name and its content."""
    return re.search(r"_\d{6}\.h5$", path.name) is not None and is_segment(path)


def existing_segments(path: Path, folder: str | Path) -> list[str]:
    """Return the names of files that are named like segments of the series with this file, sorted.

    Args:
        path: file of the series.
        folder: a path to its folder.

    Raises:
        OSError: the folder cannot be listed.
    """
    ours = re.compile(re.escape(path.stem) + r"_\d{6}\.h5")
    return sorted(filter(ours.fullmatch, os.listdir(folder)))


def check_segments_free(path: Path, *, overwrite: bool) -> None:
    """Check that no file is named like a segment of the series with this file, which may not exist yet.

    Args:
        path: file of the series.
        overwrite: whether segments may be replaced; that they are some is found out later, since there can be
            thousands.

    Raises:
        NameTakenError: one is.
    """
    if overwrite:
        return
    with contextlib.suppress(OSError):  # what is wrong with the folder is said elsewhere
        if names := existing_segments(path, path.parent):
            raise refusals.exists(path.with_name(names[0]))


def segments_of(data: Any) -> list[Source]:
    """Return the segments of a virtual dataset; none for any other dataset."""
    if not data.is_virtual:
        return []
    found = []
    for source in data.virtual_sources():
        if source.dset_name != DATASET:
            return []
        (start, *_), _, _, (length, *_) = source.vspace.get_regular_hyperslab()
        found.append(Source(int(start), int(length), numbered(source.file_name)))
    return found


def segments_there(detector: Any) -> Iterator[tuple[int, Path]]:
    """Yield first index and path of each existing segment.

    Args:
        detector: NXdetector group of the open file of the series.
    """
    folder = Path(path_of(detector.file)).parent
    for source in segments_of(detector["data"]):
        if (place := folder / source.name).exists():
            yield source.start, place


def create_data(
    detector: Any, path: Path, frames: FrameFormat, rows: int, per_file: int, *, name: bytes | None = b"data"
) -> Any:
    """Create `data`, a virtual dataset of all segments, also of those that do not exist yet.

    Args:
        detector: NXdetector group.
        path: file of the series.
        frames: format of the frames.
        rows: number of frames.
        per_file: number of frames per segment.
        name: `None` for none yet.
    """
    shape, rest = frames.shape, (0,) * len(frames.shape)
    layout = h5p.create(h5p.DATASET_CREATE)
    layout.set_fill_value(np.array(fill_value(frames.dtype), frames.dtype))
    one = (1,) * (1 + len(shape))
    for start in range(0, rows, per_file):
        block = (min(per_file, rows - start), *shape)
        here, there = h5s.create_simple((rows, *shape)), h5s.create_simple(block)
        here.select_hyperslab((start, *rest), one, block=block)
        there.select_hyperslab((0, *rest), one, block=block)  # not all of it: an open segment may have more
        layout.set_virtual(here, escaped(file_name(path, start // per_file)), escaped(DATASET), there)
    kind = h5t.py_create(np.dtype(frames.dtype))
    return h5py.Dataset(h5d.create(detector.id, name, kind, h5s.create_simple((rows, *shape)), dcpl=layout))
