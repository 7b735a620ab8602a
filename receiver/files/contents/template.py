"""What every file has alike before its first frame: made once, and copied by one call of HDF5.

A step scan may write a file per point, and creating these groups and datasets one by one takes ten times as
long as copying them.
"""

from __future__ import annotations

from functools import lru_cache

import h5py
import numpy as np
from h5py import h5o

from penstock.hosts.version import version
from penstock.receiver.files.contents import per_frame
from penstock.receiver.files.stores.objects import create_group, create_text, create_value, set_attribute
from penstock.receiver.series.account import COUNTERS

CHANGING = {"state": 16, "reason": 4096, "index_source": 64}
"""Texts of the record that change during the series, and the size of each in bytes. Texts of variable length
would move when they change, and a failing write could leave none readable."""
IN_PROGRESS = "in progress"
"""State of a file that is being written, or whose writer died."""
BEGINNING = {"state": IN_PROGRESS, "reason": "the receiver is still writing, or was killed"}
"""Texts of the record before the first frame."""


def copy(file: h5py.File, detector: str, chunk: int) -> None:
    """Create the group `entry` of a new file: with the detector, its record, and empty values per frame.

    Args:
        file: new file, open for writing.
        detector: name of the NXdetector group.
        chunk: rows per chunk of the values per frame.
    """
    h5o.copy(_made(detector, chunk, file.libver).id, b"entry", file.id, b"entry")


@lru_cache(maxsize=8)
def _made(detector: str, chunk: int, libver: tuple[str, str]) -> h5py.File:
    """Return a file in memory with the group.

    Args:
        detector: name of the NXdetector group.
        chunk: rows per chunk of the values per frame.
        libver: versions of HDF5's formats, which a copy keeps.
    """
    # In memory of HDF5's own: it closes the file when Python has ended, and calls none of its objects then.
    name = f"template-{detector}-{chunk}-{libver}"
    file = h5py.File(name, "w", libver=libver, driver="core", backing_store=False)
    entry = create_group(file, "entry", "NXentry")
    set_attribute(entry, "default", "data")
    set_attribute(create_value(entry, "program_name", "Penstock"), "version", version())
    group = create_group(create_group(entry, "instrument", "NXinstrument"), detector, "NXdetector")
    per_frame.create(group, chunk)
    record = create_group(group, "series", "NXcollection")
    for name, size in CHANGING.items():
        create_text(record, name, BEGINNING.get(name, ""), size)
    for name in ("planned", *COUNTERS):
        create_value(record, name, np.int64(0))
    return file
