"""The frames that a killed writer has left: their format, which of them are whole, the store that continues,
and the end of the file."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d

from penstock.codecs.pixel_type import name_of
from penstock.receiver.files.stores.channels import STATUS, ChannelStore
from penstock.receiver.files.stores.chunked import ChunkedStore, compression_of
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.disk.disk_file import descriptor_of, path_of
from penstock.receiver.files.stores.disk.superblock import repair
from penstock.receiver.files.stores.gaps import close_gaps
from penstock.receiver.files.stores.modules import STATUS as MODULE_STATUS
from penstock.receiver.files.stores.parts import left
from penstock.receiver.files.stores.parts.module_views import module_files
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.parts.views import dealing_of
from penstock.receiver.files.stores.preallocated import PreallocatedStore, has_places
from penstock.receiver.files.stores.segments.layout import segments_of, segments_there
from penstock.receiver.files.stores.segments.segment_file import DATASET
from penstock.receiver.files.stores.segments.store import SegmentStore
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.module_status import frame_status
from penstock.receiver.validity.frames import WITH_DATA

log = logging.getLogger(__name__)


def format_of(detector: Any, planned: int | None) -> FrameFormat | None:
    """Return the format of the frames in a file; `None` before the first.

    Args:
        detector: NXdetector group of the file.
        planned: announced number of frames.

    Raises:
        ValueError: the frames lie in segments or parts of which none exists, or in a part that is damaged; or
            the series had ended.
    """
    data = detector.get("data")
    if data is None:
        return None
    if module_files(detector):
        raise ValueError("its modules have files of their own, and only its receiver knew which had arrived")
    is_dealt = dealing_of(detector) is not None
    if is_dealt:
        left.check_parts(detector)
    if is_dealt or segments_of(data):
        there = left.parts_there(detector).values() if is_dealt else dict(segments_there(detector)).values()
        for place in there:
            with contextlib.suppress(OSError, KeyError), h5py.File(place, "r", locking=False) as file:
                return _format(file[DATASET], planned)
        raise ValueError(f"none of its {'parts' if is_dealt else 'segments'} is there")
    if data.is_virtual:
        raise ValueError("its end was being written: data is a view of the stored frames")
    return _format(data, planned, channels_of(detector))


def _format(data: Any, planned: int | None, names: tuple[str, ...] = ()) -> FrameFormat:
    shape = (len(names), *data.shape[1:]) if names else data.shape[1:]
    return FrameFormat(shape, name_of(data.dtype), compression_of(data), planned, names, _has_colours(data))


def _has_colours(data: Any) -> bool:
    """Return whether frames are colour images, by the chunk: k images have a chunk each."""
    return bool(data.ndim == 4 and data.chunks[1] == data.shape[1] != 1)


def channels_of(detector: Any) -> tuple[str, ...]:
    """Return the names of the channels' datasets; none if frames have no channels."""
    names = detector["series"].get("channels") if STATUS in detector else None
    return () if names is None else tuple(names.asstr()[:])


def whole(detector: Any, length: int, *, damaged: bool = False, partly: bool = False) -> np.ndarray[Any, Any]:
    """Return which of the first frames have all their pixels in the file; bool, one per index.

    HDF5's index can lack a chunk that was written, and can refer to one beyond the end of the file.

    Args:
        detector: NXdetector group of the file.
        length: number of frames.
        damaged: look up each frame by itself: most can be found even if the index is damaged.
        partly: whether the pixels of one channel or module are enough.

    Raises:
        OSError, RuntimeError: the index is damaged.
    """
    count = _chunks_one_by_one if damaged else _chunks
    data = detector.get("data")
    if data is None:
        return np.zeros(length, bool)
    if data.is_virtual:  # assembled from modules, or a view of parts or segments
        if dealing_of(detector) is not None:
            return left.whole(detector, length, count)
        if module_files(detector):
            there = left.whole_modules(detector, length, count).sum(axis=1)
            return np.asarray(there >= (1 if partly else module_files(detector)))
        if segments_of(data):
            return _whole_in_segments(detector, length, count)
        if "modules" not in detector:
            return np.ones(length, bool)
        data = detector["modules"]
    blobs: np.ndarray[Any, Any] = np.zeros(length, np.int64)
    wanted = 0
    for dataset in [detector[name] for name in channels_of(detector)] or [data]:
        blobs += count(dataset, length)
        wanted += dataset.shape[1] if dataset.ndim == 4 and not _has_colours(dataset) else 1
    found: np.ndarray[Any, Any] = blobs >= (1 if partly else wanted)
    return found


def take_back_modules(detector: Any, statuses: np.ndarray[Any, Any], *, damaged: bool = False) -> None:
    """Enter stored modules as missing whose files are away, damaged, or without them: the frames are partial,
    since the other modules are there. Nothing is changed if the modules do not have a file each.

    Args:
        detector: NXdetector group of the file, open for writing.
        statuses: of the frames, uint8, one per index; those of these frames are changed.
        damaged: see `whole`.

    Raises:
        OSError, RuntimeError: an index is damaged.
    """
    if not module_files(detector):
        return
    table = detector[MODULE_STATUS][: len(statuses)]
    count = _chunks_one_by_one if damaged else _chunks
    lost = np.isin(table, WITH_DATA) & ~left.whole_modules(detector, len(table), count)
    if not lost.any():
        return
    table[lost] = FrameStatus.MISSING
    for index in np.flatnonzero(lost.any(axis=1)).tolist():
        if statuses[index] in WITH_DATA:
            statuses[index] = frame_status(table[index].tolist())
    detector[MODULE_STATUS][: len(table)] = table


def _whole_in_segments(
    detector: Any, length: int, count: Callable[[Any, int], np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    found = np.zeros(length, bool)
    for start, place in segments_there(detector):
        if start >= length:
            continue
        with contextlib.suppress(OSError, KeyError):  # the writer was killed before it held anything
            repair(place)
            with h5py.File(place, "r", locking=False) as file:
                share = min(len(file[DATASET]), length - start)
                found[start : start + share] = count(file[DATASET], share) == 1
    return found


def _chunks(data: Any, length: int) -> np.ndarray[Any, Any]:
    """Return how many chunks of each of the first frames are in the file."""
    size = os.fstat(descriptor_of(data.file)).st_size
    blobs = np.zeros(length, np.int64)

    def keep(chunk: Any) -> None:
        row = chunk.chunk_offset[0]
        if row < len(blobs) and chunk.size and chunk.byte_offset + chunk.size <= size:
            blobs[row] += 1

    data.id.chunk_iter(keep)
    return blobs


def _chunks_one_by_one(data: Any, length: int) -> np.ndarray[Any, Any]:
    """Do the same with a damaged index: a chunk counts if it can be read and belongs to one frame only."""
    blobs = np.zeros(length, np.int64)
    split = data.ndim == 4 and not _has_colours(data)
    parts = range(data.shape[1]) if split else range(1)
    owners: dict[int, int] = {}
    for row in range(min(length, len(data))):
        for part in parts:
            place = (row, part, 0, 0) if split else (row, *(0 for _ in data.shape[1:]))
            with contextlib.suppress(OSError, RuntimeError):
                chunk = data.id.get_chunk_info_by_coord(place)
                if chunk.byte_offset is None or len(data.id.read_direct_chunk(place)[1]) != chunk.size:
                    continue
                other = owners.setdefault(chunk.byte_offset, row)
                if other == row:
                    blobs[row] += 1
                else:
                    blobs[other] = 0
    return blobs


def reopen(detector: Any, planned: int | None, writing: Writing) -> FrameStore | None:
    """Return the store that continues the file; `None` before the first frame.

    Args:
        detector: NXdetector group of the file, open for writing.
        planned: announced number of frames.
        writing: how frames are written.

    Raises:
        OSError, RuntimeError, ValueError: the dataset cannot be used.
    """
    frames = format_of(detector, planned)
    if frames is None:
        return None
    data = detector["data"]
    if frames.channels:
        return ChannelStore(detector, frames, is_found=True)
    if data.is_virtual:
        assert writing.path is not None
        if dealing_of(detector) is not None:
            placed = has_places(detector, frames, writing)
            return PartsStore(detector, frames, writing.path, writing, placed=placed)
        return _segment_store(detector, frames, writing.path, writing)
    if data.id.get_create_plist().get_fill_time() == h5d.FILL_TIME_NEVER:
        return PreallocatedStore(detector, frames, writing, data)
    return ChunkedStore(detector, frames, data=data, writing=writing)


def finish(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    """Cut all datasets with one entry per frame, and fill empty places, whichever the store.

    Args:
        detector: NXdetector group of the file, open for writing.
        statuses: uint8, `FrameStatus`, one per index.

    Raises:
        OSError: a segment or a part cannot be written.
    """
    stored = np.isin(statuses, WITH_DATA)
    if module_files(detector):
        left.finish_modules(detector, statuses)
    for dataset in list(detector.values()):
        # First: asking a virtual dataset for its shape opens its sources.
        if getattr(dataset, "is_virtual", False):
            if dealing_of(detector) is not None:
                left.finish(detector, statuses)
            elif not module_files(detector) and segments_of(dataset):
                _finish_segments(detector, statuses)
            continue
        maximum = getattr(dataset, "maxshape", None)
        if not maximum or maximum[0] is not None:
            continue
        if dataset.id.get_create_plist().get_fill_time() != h5d.FILL_TIME_NEVER:
            dataset.resize(len(statuses), axis=0)
        elif (error := close_gaps(dataset, stored)) is not None:
            log.warning(
                "%s: data shows the stored frames only, the fill value could not be written: %s",
                path_of(detector.file),
                error,
            )


def _finish_segments(detector: Any, statuses: np.ndarray[Any, Any]) -> None:
    data, path = detector["data"], Path(path_of(detector.file)).resolve()
    shape = tuple(data.shape[1:])
    frames = FrameFormat(shape, name_of(data.dtype), "none", None, colours=len(shape) == 3)
    store = _segment_store(detector, frames, path, Writing())
    try:
        store.finish(statuses)
    except OSError as error:
        log.warning("%s: not all of its segments could be cut: %s", path, error)
    finally:
        store.close(synced=False)


def _segment_store(detector: Any, frames: FrameFormat, path: Path, writing: Writing) -> SegmentStore:
    data = detector["data"]
    writing = replace(writing, frames_per_file=max(source.length for source in segments_of(data)))
    return SegmentStore(detector, frames, path, writing, data)
