"""The writer: one series into one NeXus file, each frame at its own index.

The pixels go to a frame store (`receiver.stores`) at once; everything else that a frame brings is kept in
memory and written in batches. Measured reasons, all for h5py 3.16 (see docs/explanation/architecture.md):
assigning one element costs ten times a direct chunk write, so nothing is assigned and nothing grown a
frame; a file with the default (v18) bounds, flushed every second and without SWMR opens plainly after
`kill -9`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np

from penstock.receiver import checksums, geometry, nexus, storage, stores
from penstock.receiver.account import COUNTERS, Account, FrameStatus
from penstock.receiver.interrupted import Interrupted
from penstock.receiver.remedies import errno_of, remedy
from penstock.receiver.series import Outcome, RunningSeries
from penstock.receiver.stores import FrameFormat, FrameStore, Writing
from penstock.receiver.stores.found import format_of, reopen
from penstock.receiver.stores.modules import ModuleStore
from penstock.receiver.stores.space import make_room
from penstock.receiver.stores.superblock import put_end_ahead
from penstock.stins.checksums import ALGORITHMS
from penstock.stins.messages import Frame

log = logging.getLogger(__name__)

ROWS_PER_STEP = 1024
"""Datasets grow by at least so many frames at once: a resize costs as much as a frame."""
PER_FRAME_CHUNK = 4096
ROOM_BYTES = 2**20
ROOM_PER_FRAME = 256
"""What a flush may need: chunks of all datasets with one value a frame, and their index."""
NEIGHBOURS = 1024
"""Values of frames no further apart are written together with what stands between them: a call of HDF5
costs as much as so many values."""
PER_FRAME: Mapping[str, tuple[str, Any, str | None]] = {
    "frame_status": ("uint8", int(FrameStatus.MISSING), None),
    "trigger": ("int64", -1, None),
    "sequence_number": ("int64", -1, None),
    "timestamp": ("float64", np.nan, "s"),
    "timestamp_hw": ("float64", np.nan, "s"),
}
"""Datasets with one value a frame: dtype, value where nothing was received, units."""


class WriterError(Exception):
    """A file could not be written; the sentence has the file, the counts and the remedy."""

    kind = "not_written"


class FileGoneError(WriterError):
    """The file is no longer where it was created."""

    kind = "file_gone"


class SeriesWriter:
    """The file of one series, from its creation to its closing.

    Args:
        path: resolved file, see `storage.resolve`; created exclusively.
        detector: name of the NXdetector group, made a NeXus name.
        series: its header and metadata are written at once.
        source: where the stream comes from, for the record.
        writing: how many writers, and what may wait for them.
        found: the file is there already, its writer died: it is continued.
        begun: told under which name the file is made until it can be read.

    Raises:
        StorageError: the folder cannot be created, or its disk is full.
        WriterError: the file exists meanwhile, or cannot be created.
    """

    def __init__(
        self, path: Path, detector: str, series: RunningSeries, source: str, writing: Writing | None = None,
        found: Interrupted | None = None, begun: Callable[[Path], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.path = path
        self.detector = nexus.name_of(detector)
        self._series = series
        self._account: Account = series.account
        self._writing = replace(writing or Writing(), path=path, overwrite=series.header.overwrite)
        self._store: FrameStore | None = None
        self._channels = nexus.channel_names(series.header.channels or ())
        self._rows = 0
        self._waiting: list[tuple[int, int, int, float, float, tuple[str, ...]]] = []
        self._late: list[tuple[int, tuple[str, ...]]] = []
        self._checksums: h5py.Dataset | None = None
        self._settled = self._others = 0
        self._reserve: storage.Reserve | None = None
        folder = storage.open_folder(path)
        try:
            self._reserve = storage.Reserve(folder)
            if found is None:
                self._open(folder, source, begun)
            else:
                self._continue(found)
        except BaseException:
            self._release_reserve()
            raise
        finally:
            os.close(folder)

    def _open(self, folder: int, source: str, begun: Callable[[Path], None]) -> None:
        path, header = self.path, self._series.header
        # It gets its name when it can be read: a process that is killed here leaves the name free.
        name = draft = storage.draft_name()
        try:
            # By the folder that was found, not by its name: see `storage.open_folder`.
            place = f"{storage.by_descriptor(folder)}/{draft}"
            # Newer bounds only where SWMR asks for them: every reader would refuse the file after a kill.
            bounds = "latest" if self._writing.swmr else None
            self._file = h5py.File(place, "x", locking=False, libver=bounds)
        except OSError as error:
            with contextlib.suppress(OSError):  # HDF5 leaves an empty one where the disk is full
                os.unlink(draft, dir_fd=folder)
            raise WriterError(f"cannot create {path}: {_cause(error)}") from error
        try:
            make_room(self._file.id.get_vfd_handle(), ROOM_BYTES)  # before HDF5 has anything to write
            begun(path.with_name(draft))
            self._create(source)
            self._file.flush()
            storage.give_name(draft, path.name, folder, replace=header.overwrite)
            name = path.name
            if header.shape is not None and header.type is not None and header.compression is not None:
                self._create_frames(header.shape, header.type, header.compression)
                self._file.flush()
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            self._release_reserve()  # HDF5 that cannot write what it still has may end this process later
            _close_quietly(self._file)
            self._let_go()
            with contextlib.suppress(OSError):  # somebody was faster, or the storage is away
                os.unlink(name, dir_fd=folder)  # nothing is in it, and its name shall be free again
            if name == draft and isinstance(error, FileExistsError):
                raise WriterError(f"{path} exists and is never overwritten; choose another name") from error
            raise WriterError(f"cannot create {path}: {_cause(error)}") from error

    def _continue(self, found: Interrupted) -> None:
        self._file, self._detector = found.file, found.detector
        self._record, self._entry = found.detector["series"], found.file["entry"]
        self._checksums = found.detector.get(checksums.NAME)
        self._rows = len(found.detector["frame_status"])
        try:
            self._check_place()
            self._store = reopen(found.detector, self._account.planned, self._writing)
            frames = format_of(found.detector, self._account.planned)
            if frames is None:
                self._writing = replace(self._writing, replace_empty=True)
            elif "data" not in self._entry:
                self._show_frames(frames)
            self._write_counts()
            put_end_ahead(self._file)
            self._file.flush()
            self._let_others_read()
        except (OSError, RuntimeError, ValueError) as error:
            failure = self._failed("the account", error)
            self._let_go()  # the file is whose it was; its descriptors and writers are not
            raise failure from error

    @property
    def waiting_bytes(self) -> int:
        """Of frames that are not with the kernel yet: several writers are at them."""
        return 0 if self._store is None else self._store.waiting_bytes

    def add(self, index: int, frame: Frame) -> None:
        """Store one frame that the worker has judged sound.

        Raises:
            WriterError: it could not be written; what was written before stays.
        """
        image = frame.image
        try:
            store = self._store
            if store is None:
                store = self._create_frames(image.shape, image.type, image.compression)
                put_end_ahead(self._file)
                self._file.flush()  # whoever goes on after a kill must know where its frames are
            if index >= self._rows:
                self._grow(index)
            store.write(index, frame)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed(f"frame {index}", error) from error
        self._waiting.append(
            (
                index,
                -1 if image.trigger is None else image.trigger,
                -1 if image.frame is None else image.frame,
                np.nan if image.timestamp is None else image.timestamp,
                np.nan if image.timestamp_hw is None else image.timestamp_hw,
                image.checksums or (),
            )
        )

    def complete(self, index: int, frame: Frame) -> None:
        """Store blobs of a frame that is there already without them: of modules that came late.

        Raises:
            WriterError: they could not be written.
        """
        assert self._store is not None
        try:
            self._store.write(index, frame)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed(f"late modules of frame {index}", error) from error
        self._late.append((index, frame.image.checksums or ()))

    def read(self, index: int) -> Frame:
        """One stored frame, its blobs as they were received: nothing is unpacked.

        Raises:
            OSError, RuntimeError, ValueError: there is none, or the disk does not give it back.
        """
        if self._store is None:
            raise ValueError("no frame has come yet")
        frame = self._store.read(index)
        trigger = next((row[1] for row in self._waiting if row[0] == index), None)
        if trigger is None:
            trigger = int(self._detector["trigger"][index])
        image = msgspec.structs.replace(frame.image, trigger=None if trigger < 0 else trigger)
        return msgspec.structs.replace(frame, image=image)

    def flush(self) -> None:
        """Hand everything to the kernel: from now on it survives the death of this process.

        Raises:
            WriterError: it could not be written.
            FileGoneError: somebody removed, moved or replaced the file.
        """
        try:
            if self._store is not None:
                self._store.flush()  # with nothing to write too: it notices what has become of its writers
            if not self._waiting and not self._late:
                return
            self._check_place()
            make_room(self._file.id.get_vfd_handle(), ROOM_BYTES + ROOM_PER_FRAME * len(self._waiting))
            if self._store is not None and self._file.swmr_mode:
                self._store.data.flush()  # nobody may see a frame as stored that is not there yet
            self._write_waiting()
            self._write_late()
            self._write_others()
            self._write_counts()
            put_end_ahead(self._file)
            self._file.flush()
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed("the last batch", error) from error
        counts = self._account.counts()
        self._account.flushed = counts.stored + counts.partial

    def close(self, outcome: Outcome, *, pad: bool, synced: bool) -> None:
        """Write the account, shrink to what came, close.

        Args:
            outcome: whether the series is complete, and the reason.
            pad: keep the planned length instead; what never came reads as the fill value.
            synced: return only when the file is on the disk.

        Raises:
            WriterError: it could not be written; what was flushed before stays readable.
            FileGoneError: it was closed, but somebody removed, moved or replaced it before.
        """
        try:
            # Frames that several writers still have must not take what is kept back for the account.
            failure = self._settle_frames() if self.waiting_bytes else None
            self._release_reserve()
            failure = failure or self._settle_frames()
            self._write_waiting()
            self._write_late()
            self._end_reading()
            length = self._account.highest + 1
            if pad and self._account.planned is not None:
                length = self._account.planned
            failure = self._finish(length, outcome, failure)
            self._check_place()
            descriptor = os.dup(self._file.id.get_vfd_handle())
            try:
                self._file.close()
                os.ftruncate(descriptor, os.fstat(descriptor).st_size)  # what `make_room` took behind the end
            finally:
                os.close(descriptor)
            if self._store is not None:
                self._store.close(synced=synced)
            if synced:
                storage.sync(self.path)
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            raise self._failed("the end of the file", error) from error
        finally:
            self._release_reserve()
            if self._file:
                _close_quietly(self._file)
            self._let_go()
        counts = self._account.counts()
        self._account.flushed = counts.stored + counts.partial
        if failure is not None:
            raise failure

    # -- structure -----------------------------------------------------------------------------

    def _create(self, source: str) -> None:
        series, file = self._series, self._file
        penstock = version("penstock")
        now = _iso(time.time())
        file.attrs.update(
            NX_class="NXroot", default="entry", file_name=str(self.path), file_time=now,
            creator=f"Penstock {penstock}", h5py_version=h5py.__version__,
            HDF5_Version=h5py.version.hdf5_version,
        )  # fmt: skip
        entry = _group(file, "entry", "NXentry")
        entry.attrs["default"] = "data"
        entry["title"] = self.path.stem
        entry["start_time"] = now
        entry["program_name"] = "Penstock"
        entry["program_name"].attrs["version"] = penstock
        instrument = _group(entry, "instrument", "NXinstrument")
        detector = _group(instrument, self.detector, "NXdetector")
        _write_fields(entry, nexus.fields(series.described, self.detector, series.header.channels or ()))
        for name, (dtype, fill, units) in PER_FRAME.items():
            dataset = detector.create_dataset(
                name, (0,), dtype, maxshape=(None,), chunks=(PER_FRAME_CHUNK,), fillvalue=fill
            )
            if units is not None:
                dataset.attrs["units"] = units
        detector["frame_status"].attrs["codes"] = ", ".join(
            f"{int(status)} {status.name.lower().replace('_', ' ')}"
            for status in FrameStatus
            if status is not FrameStatus.PENDING
        )
        detector["sequence_number"].attrs["long_name"] = "frame number as the detector sent it"
        record = _group(detector, "series", "NXcollection")
        record["id"] = _text(series.id)
        record["state"] = "in progress"
        record["reason"] = "the receiver is still writing, or was killed"
        record["planned"] = -1 if self._account.planned is None else self._account.planned
        record["index_source"] = _text(series.index_source)
        record["source"] = source
        record["checksum"] = _text(series.checksum)
        if self._channels:
            record["channels"] = list(self._channels)
        for name in COUNTERS:
            record[name] = 0
        self._detector, self._record, self._entry = detector, record, entry

    def _create_frames(self, shape: tuple[int, ...], dtype: str, compression: str) -> FrameStore:
        joined, modules = self._series.joined, self._series.modules
        split = joined is None and len(shape) == 3 and len(self._channels) == shape[0]
        channels = self._channels if split else ()
        frames = FrameFormat(shape, dtype, compression, self._account.planned, channels)
        if joined is None or modules is None:
            self._store = stores.create(self._detector, frames, self._writing)
        else:
            whole = stores.create(self._detector, frames, self._writing) if len(shape) == 2 else None
            self._store = ModuleStore(self._detector, frames, joined, modules, whole)
        self._show_frames(frames)
        self._let_others_read()
        return self._store

    def _show_frames(self, frames: FrameFormat) -> None:
        """Where programs look for them, and what comes with each."""
        assert self._store is not None
        shape, channels, shown = frames.shape, frames.channels, self._store.data
        shown.attrs["units"] = "counts"
        shown.attrs["target"] = shown.name
        algorithm = self._series.header.checksum
        if algorithm is not None and algorithm in ALGORITHMS:
            blobs = shape[0] if len(shape) == 3 else 1
            self._checksums = checksums.create(
                self._detector, algorithm, blobs, rows=self._rows, chunk_rows=PER_FRAME_CHUNK
            )
        data = _group(self._entry, "data", "NXdata")
        data.attrs["signal"] = "data"
        data["data"] = shown
        for name in channels[1:]:
            data[name] = self._detector[name]
        if channels:
            data.attrs["auxiliary_signals"] = list(channels[1:])
        where = geometry.find(self._series.metadata)
        # A virtual dataset is not asked for its shape: see `SpreadStore`.
        image = shape if len(shape) == 2 else self._store.data.shape[1:]
        if where is not None and len(image) == 2:
            _write_fields(self._entry, geometry.fields(where, image, self.detector))

    def _let_others_read(self) -> None:
        """From now on the file may be read while it grows, and nothing can be created in it any more."""
        if self._writing.swmr and self._store is not None:
            self._file.swmr_mode = True

    def _end_reading(self) -> None:
        """Open the file anew without SWMR, where it was open so: texts and new objects are not for SWMR."""
        if not self._file.swmr_mode:
            return
        self._check_place()
        here = os.fstat(self._file.id.get_vfd_handle())
        self._file.close()
        self._file = h5py.File(self.path, "r+", locking=False, libver="latest")
        if not os.path.samestat(here, os.fstat(self._file.id.get_vfd_handle())):
            self._file.close()
            raise OSError("it was replaced in the last moment")
        self._entry = self._file["entry"]
        self._detector = self._entry["instrument"][self.detector]
        self._record = self._detector["series"]
        self._checksums = self._detector.get(checksums.NAME)
        self._store = reopen(self._detector, self._account.planned, self._writing)

    def _grow(self, index: int) -> None:
        rows = max(index + 1, self._rows + ROWS_PER_STEP, self._rows + self._rows // 2)
        if self._account.planned is not None:
            rows = max(index + 1, min(rows, self._account.planned))
        if self._store is not None:
            self._store.grow(rows)
        self._resize(rows)

    def _resize(self, rows: int) -> None:
        for name in PER_FRAME:
            self._detector[name].resize(rows, axis=0)
        if self._checksums is not None:
            self._checksums.resize(rows, axis=0)
        self._rows = rows

    def _write_waiting(self) -> None:
        if not self._waiting:
            return
        self._waiting.sort()
        *numbers, sums = zip(*self._waiting, strict=True)
        index, trigger, number, stamp, stamp_hw = (np.array(column) for column in numbers)
        self._waiting.clear()
        columns = {
            "trigger": trigger,
            "sequence_number": number,
            "timestamp": stamp,
            "timestamp_hw": stamp_hw,
        }
        if self._checksums is not None:
            columns[checksums.NAME] = checksums.column(self._checksums, sums)
        self._write_columns(index, columns)
        # Last, and each dataset is with the kernel when it is let go: killed in between, this process leaves
        # no frame as stored without what it brought.
        self._flush_checksums()
        self._write_columns(index, {"frame_status": self._account.statuses_of(index)})

    def _write_columns(
        self, index: np.ndarray[Any, Any], columns: Mapping[str, np.ndarray[Any, Any]]
    ) -> None:
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) > NEIGHBOURS) + 1):
            first, last = int(index[run[0]]), int(index[run[-1]])
            gapless = last - first + 1 == len(run)
            for name, values in columns.items():
                dataset = self._detector[name]
                # Between them stands what came earlier, or nothing yet: it is written back as it was.
                block = values[run] if gapless else dataset[first : last + 1]
                if not gapless:
                    block[index[run] - first] = values[run]
                dataset[first : last + 1] = block

    def _flush_checksums(self) -> None:
        if self._checksums is not None:
            self._checksums.flush()  # it stays open

    def _write_others(self) -> None:
        """Statuses of frames that came and are not in the file: a death shall not make them missing."""
        account, counts = self._account, self._account.counts()
        others = counts.received - counts.duplicate - counts.stored
        if others != self._others:
            first, end = self._settled, min(account.highest + 1, self._rows)
            statuses = account.statuses(end)[first:]
            statuses[statuses == FrameStatus.PENDING] = FrameStatus.MISSING
            self._detector["frame_status"][first:end] = statuses
            self._others = others
        self._settled = account.gap_start

    def _settle_frames(self) -> WriterError | None:
        """The last frames are with the kernel, or are accounted for as lost."""
        try:
            if self._store is not None:
                self._store.flush()
        except (OSError, RuntimeError, ValueError) as error:
            return self._failed("the last frames", error)
        return None

    def _write_late(self) -> None:
        """What modules brought that came after their frame; rare, so one by one."""
        for index, sums in self._late:
            if self._checksums is not None and sums:
                row = self._checksums[index]
                came = [number for number, value in enumerate(sums) if value]
                row[came] = [sums[number].encode() for number in came]
                self._checksums[index] = row
        if self._late:
            self._flush_checksums()
        for index, _ in self._late:
            self._detector["frame_status"][index] = self._account.status(index)
        self._late.clear()

    def _finish(self, length: int, outcome: Outcome, failure: WriterError | None) -> WriterError | None:
        account, record = self._account, self._record
        statuses = account.statuses(length)
        try:
            if self._store is not None:
                self._store.finish(statuses)
        except (OSError, RuntimeError, ValueError) as error:
            failure = failure or self._failed("the end of the frames", error)
            statuses = account.statuses(length)
        if failure is not None and outcome.complete:
            outcome = Outcome(False, str(failure))
        self._resize(length)
        self._detector["frame_status"][:] = statuses
        self._write_counts()
        record["planned"][()] = account.planned
        record["state"][()] = "complete" if outcome.complete else "incomplete"
        record["reason"][()] = _text(outcome.reason)
        record["index_source"][()] = _text(self._series.index_source)
        self._entry["end_time"] = _iso(time.time())
        return failure

    def _write_counts(self) -> None:
        """At every flush, so that a file whose receiver was killed whole says what it holds."""
        counts = self._account.counts()
        for name in COUNTERS:
            self._record[name][()] = getattr(counts, name)

    # -- failure -------------------------------------------------------------------------------

    def _check_place(self) -> None:
        try:
            here = os.path.samestat(os.stat(self.path), os.fstat(self._file.id.get_vfd_handle()))
        except (FileNotFoundError, NotADirectoryError):
            here = False
        if not here:
            raise FileGoneError(
                f"{self.path} was removed, moved or replaced while series {self._series.id} was written "
                f"into it; the frames stored so far ({self._account.counts().stored}) went with it. "
                "Look who did that (a clean-up job, a sync program?), then reset the receiver"
            )

    def _failed(self, what: str, error: Exception) -> WriterError:
        self._take_back()
        counts = self._account.counts()
        planned = "an unknown number of" if counts.planned is None else str(counts.planned)
        return WriterError(
            f"writer of {self._series.id} could not write {what} to {self.path}: {_cause(error)}; "
            f"{counts.stored} of {planned} frames are in the file. "
            f"{remedy(error, self.path.parent)}, then reset the receiver"
        )

    def _take_back(self) -> None:
        """Frames that the store had taken and lost are not stored."""
        lost = set() if self._store is None else set(self._store.lost())
        for index in lost:
            if self._account.status(index) is FrameStatus.STORED:
                self._account.revise(index, FrameStatus.MISSING, late=False)
        self._waiting = [row for row in self._waiting if row[0] not in lost]
        counts = self._account.counts()
        self._account.flushed = min(self._account.flushed, counts.stored + counts.partial)

    def _let_go(self) -> None:
        """Of everything that belongs to the file; after its end has failed too."""
        self._checksums = None
        if self._store is not None:
            try:
                self._store.close(synced=False)
            except (OSError, RuntimeError) as error:
                log.error("closing the frames of %s failed: %s", self.path, error)
            self._store = None

    def _release_reserve(self) -> None:
        if self._reserve is not None:
            self._reserve.release()
            self._reserve = None


def _group(parent: h5py.Group, name: str, nx_class: str) -> h5py.Group:
    group = parent.create_group(name)
    group.attrs["NX_class"] = nx_class
    return group


def _write_fields(entry: h5py.Group, fields: Iterable[nexus.Field]) -> None:
    for field in fields:
        group = entry
        for name, nx_class in zip(field.path, field.classes, strict=False):
            group = group[name] if name in group else _group(group, name, nx_class)
        if field.same_as is not None:
            group[field.path[-1]] = entry["/".join(field.same_as)]
            continue
        dataset = group.create_dataset(field.path[-1], data=field.value)
        dataset.attrs.update(field.attributes)
        if field.units is not None:
            dataset.attrs["units"] = field.units
        if field.long_name is not None:
            dataset.attrs["long_name"] = field.long_name


def _cause(error: Exception) -> str:
    code = errno_of(error)
    return os.strerror(code) if code else str(error)


def _text(value: str) -> str:
    """What a peer said, as HDF5 can hold it: without NUL."""
    return value.replace("\0", "\ufffd")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().isoformat(timespec="milliseconds")


def _close_quietly(file: h5py.File) -> None:
    """Close after a failure that is reported already; a second error would only hide the first."""
    try:
        file.close()
    except (OSError, RuntimeError) as error:
        log.error("closing %s after a failure failed too: %s", file.filename, error)
