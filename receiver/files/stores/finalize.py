"""What is left to do where a writer was killed: what `FrameStore.finish` would have done."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
from h5py import h5d

from penstock.receiver.files.stores.contract import FrameFormat, Writing
from penstock.receiver.files.stores.data_files.layout import segments_of
from penstock.receiver.files.stores.data_files.store import DataFilesStore
from penstock.receiver.files.stores.disk_file import path_of
from penstock.receiver.files.stores.gaps import close_gaps
from penstock.receiver.series.account import IN_FILE

log = logging.getLogger(__name__)


def finish(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    """Cut everything that has a place for each frame, and fill what is empty, whichever store it was.

    Args:
        detector: NXdetector group of the file, open for writing.
        statuses: uint8, `FrameStatus`, one an index.

    Raises:
        OSError: a segment cannot be written.
    """
    stored = np.isin(statuses, IN_FILE)
    for dataset in list(detector.values()):
        # First of all: to ask a virtual dataset for its shape opens what it shows.
        if getattr(dataset, "is_virtual", False):
            if segments_of(dataset):
                _finish_segments(detector, statuses)
            continue
        maximum = getattr(dataset, "maxshape", None)
        if not maximum or maximum[0] is not None:
            continue
        if dataset.id.get_create_plist().get_fill_time() != h5d.FILL_TIME_NEVER:
            dataset.resize(len(statuses), axis=0)
        elif (error := close_gaps(dataset, stored)) is not None:
            log.warning("%s: missing frames are left out of data: %s", path_of(detector.file), error)


def _finish_segments(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    data, path = detector["data"], Path(path_of(detector.file)).resolve()
    frames = FrameFormat(tuple(data.shape[1:]), data.dtype.name, "none", None)
    writing = Writing(path=path, frames_per_file=max(source.length for source in segments_of(data)))
    store = DataFilesStore(detector, frames, path, writing, data)
    try:
        store.finish(statuses)
    except OSError as error:
        log.warning("%s: not all of its segments could be cut: %s", path, error)
    finally:
        store.close(synced=False)
