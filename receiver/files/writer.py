"""The writer: one series into one NeXus file, each frame at its own index.

The pixels go to a frame store (`receiver.files.stores`) at once; everything else that belongs to a frame is
kept in memory and written in batches (`receiver.files.per_frame`). The reasons were measured with h5py 3.16
(docs/explanation/architecture.md): assigning one element takes ten times as long as a direct chunk write, so
no dataset is assigned or resized per frame; a file with the default (v18) bounds that is flushed every second
without SWMR can be opened after `kill -9`.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from penstock.receiver.files import lease, refusals, storage, stores
from penstock.receiver.files.contents import nexus, structure
from penstock.receiver.files.contents.per_frame import PerFrame
from penstock.receiver.files.open_file import OpenFile
from penstock.receiver.files.remedies import STAYS, gone, not_written
from penstock.receiver.files.reopened import Reopened, count_what_reads
from penstock.receiver.files.reserve import bytes_for
from penstock.receiver.files.stores import FrameFormat, FrameStore, Writing
from penstock.receiver.files.stores.allocation import make_room
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.modules import ModuleStore
from penstock.receiver.files.stores.parts import names as parts
from penstock.receiver.files.stores.reopen import format_of, reopen
from penstock.receiver.series.account import Account
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.blobs import announced_blobs, has_colours
from penstock.stins.checksums import ALGORITHMS
from penstock.stins.messages import Frame

log = logging.getLogger(__name__)

ROWS_PER_STEP = 1024
"""Fewest frames by which datasets grow at once: a resize takes as long as a frame."""
ROOM_BYTES = 2**20
"""Most space that a flush may need besides the values per frame."""


class WriterError(Exception):
    """A file could not be written; the sentence gives the file, the counts and the remedy."""

    kind = "not_written"


class UnfinishedError(WriterError):
    """The end of the file could not be written: it has what was flushed, and stays "in progress"."""


class FileGoneError(WriterError):
    """The file is no longer where it was created."""

    kind = "file_gone"


class SeriesWriter:
    """The file of one series, from its creation to its closing.

    Args:
        path: resolved file, see `storage.resolve`; created exclusively.
        detector: name of the NXdetector group, made a NeXus name.
        series: the series; its header and metadata are written at once.
        source: source of the stream, for the record.
        writing: how frames are written.
        reopened: the file of a writer that died, to be continued; otherwise a new file is created.
        begun: called with the temporary path of the file, before the file gets its own name.

    Raises:
        StorageError: the file, or its folder, cannot be created, its disk is full, or the file exists or is
            being written by another receiver by now.
        WriterError: the file of a writer that died cannot be continued.
    """

    def __init__(
        self, path: Path, detector: str, series: RunningSeries, source: str, writing: Writing | None = None,
        reopened: Reopened | None = None, begun: Callable[[Path], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.path = path
        self.detector = nexus.name_of(detector)
        self._series = series
        self._account: Account = series.account
        self._before_wait: list[Callable[[], None]] = []
        self._writing = replace(
            writing or Writing(), path=path, overwrite=series.header.overwrite, before_wait=self._before_wait
        )
        self._store: FrameStore | None = None
        self._is_all = True
        folder = storage.open_folder(path)
        try:
            reserve = bytes_for(series)
            self._room = min(ROOM_BYTES, reserve)
            self._open = OpenFile(path, folder, reserve)
            try:
                if reopened is None:
                    self._create(folder, source, begun)
                else:
                    self._continue(reopened)
            except BaseException:
                self._open.release_reserve()
                raise
        finally:
            os.close(folder)

    def _create(self, folder: int, source: str, begun: Callable[[Path], None]) -> None:
        path, header = self.path, self._series.header
        try:
            name = draft = self._open.create(folder, swmr=self._writing.swmr)
        except (OSError, RuntimeError) as error:
            raise refusals.not_created(path, error) from error
        try:
            self._open.hold_lease()  # before the file is visible: nobody can replace it
            make_room(self._open.disk.descriptor, self._room)  # before HDF5 has much to write
            begun(path.with_name(draft))
            made = self._structure = structure.create(self._file, path, self.detector, self._series, source)
            self._rows = PerFrame(made.detector, self._account, self._series.rois, made.columns)
            if self._writing.swmr:  # who opens it once, by its name, finds the frames in it
                self._create_announced_frames()
            self._open.give_name(draft, folder, replace=header.overwrite)
            name = path.name
            if header.overwrite:
                parts.remove_old(path, folder)
            if not self._writing.swmr:  # the name is ours now, and so are those of segments
                self._create_announced_frames()
        except (OSError, RuntimeError, ValueError, TypeError, refusals.StorageError) as error:
            self._open.release_reserve()
            self._open.close_quietly()
            self._let_go()
            with contextlib.suppress(OSError):  # another process was faster, or the storage is away
                os.unlink(name, dir_fd=folder)  # it holds nothing, and its name shall be free again
            if isinstance(error, refusals.StorageError):  # of a further file
                raise
            if name == draft and isinstance(error, lease.BeingWrittenError):
                raise refusals.being_written(path) from error
            if name == draft and isinstance(error, FileExistsError):
                raise refusals.exists(path) from error
            if isinstance(error, FileExistsError):
                raise refusals.segment_exists(error) from error
            raise refusals.not_created(path, error) from error

    def _create_announced_frames(self) -> None:
        header = self._series.header
        if header.shape is not None and header.type is not None and header.compression is not None:
            number = announced_blobs(header.shape, header.channels or ())
            self._create_frames(header.shape, header.type, header.compression, number)
            disk_file.flush(self._file)

    def _continue(self, reopened: Reopened) -> None:
        self._open.adopt(reopened.file)
        detector = reopened.detector
        self._structure = structure.of(reopened.file["entry"], detector)
        self._rows = PerFrame(detector, self._account, self._series.rois)
        try:
            self._check_place()
            frames = format_of(detector, self._account.planned)  # first: a store removes empty segments
            self._store = reopen(detector, self._account.planned, self._writing)
            self._open.hold_lease()
            if self._store is not None:
                # The writer may have died while it resized one dataset after the other.
                self._store.grow(self._rows.rows)
            if frames is None:
                self._writing = replace(self._writing, replace_empty=True)
            elif "data" not in self._structure.entry:
                self._show_frames(frames)
            self._structure.write_counts(self._account)
            disk_file.flush(self._file)
            self._let_others_read()
        except (OSError, RuntimeError, ValueError) as error:
            failure = self._failed("the account", error)
            self._let_go()  # the file itself is the caller's
            raise failure from error

    @property
    def _file(self) -> Any:
        """The h5py file: another object once SWMR has ended."""
        return self._open.file

    @property
    def waiting_bytes(self) -> int:
        """Bytes of frames that threads have not written yet."""
        return 0 if self._store is None else self._store.waiting_bytes

    @property
    def most_waiting_bytes(self) -> int:
        """Most bytes of frames that wait for threads; 0 without threads."""
        return 0 if self._store is None else self._store.most_waiting_bytes

    @property
    def held_seconds(self) -> float:
        """Seconds for which callers have waited for threads that write."""
        return 0.0 if self._store is None else self._store.held_seconds

    @property
    def stored(self) -> int:
        """Number of stored frames."""
        return self._account.counts().stored

    def add(self, index: int, frame: Frame) -> None:
        """Store a sound frame.

        Raises:
            WriterError: the frame could not be written; earlier frames stay.
        """
        image = frame.image
        try:
            store = self._store
            if store is None:
                store = self._create_frames(image.shape, image.type, image.compression, len(frame.blobs))
                disk_file.flush(self._file)  # the dataset must be found after a kill
            if index >= self._rows.rows:
                self._grow(index)
            store.write(index, frame)
            self._open.disk.check()
        except refusals.StorageError as error:  # of a further file, such as a segment's
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            raise self._failed(f"frame {index}", cause) from error
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed(f"frame {index}", error) from error
        self._rows.add(index, image)

    @property
    def most_run_bytes(self) -> int:
        """Bytes of the largest frame for which `add_run` may be called; 0 for none."""
        return 0 if self._store is None else self._store.most_run_bytes

    def add_run(self, first: int, frames: Sequence[Frame]) -> None:
        """Store consecutive sound frames of one plain blob each, see `most_run_bytes`.

        Raises:
            WriterError: none of them is stored; earlier frames stay.
        """
        assert self._store is not None
        end = first + len(frames)
        try:
            if end > self._rows.rows:
                self._grow(end - 1)
            self._store.write_run(first, [frame.blobs[0] for frame in frames])
            self._open.disk.check()
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed(f"frames {first} to {end - 1}", error) from error
        self._rows.add_run(first, [frame.image for frame in frames])

    def complete(self, index: int, frame: Frame) -> None:
        """Add late modules to a frame that is stored already.

        Raises:
            WriterError: their blobs could not be written.
        """
        assert self._store is not None
        try:
            self._store.write(index, frame)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed(f"late modules of frame {index}", error) from error
        self._rows.complete(index, frame.image)

    def hand_over(self) -> None:
        """Hand the threads of several files what is complete."""
        if self._before_wait:
            for call in self._before_wait:
                call()
            self._before_wait.clear()

    def read(self, index: int) -> Frame:
        """Return a stored frame with its blobs as received, not unpacked.

        Raises:
            OSError, RuntimeError, ValueError: there is no such frame, or it cannot be read.
        """
        if self._store is None:
            raise ValueError("no frame has arrived yet")
        frame = self._store.read(index)
        trigger, timestamp = self._rows.trigger(index), self._rows.timestamp(index)
        image = msgspec.structs.replace(frame.image, trigger=trigger, timestamp=timestamp)
        return msgspec.structs.replace(frame, image=image)

    def flush(self) -> None:
        """Hand everything to the kernel, so that it survives the death of this process.

        Raises:
            WriterError: something could not be written.
            FileGoneError: the file was removed, moved or replaced.
        """
        try:
            if self._store is not None:
                self._store.flush()  # even with nothing to write: it reports failures of its threads
            if not self._rows.unwritten:
                return
            self._check_place()
            make_room(self._open.disk.descriptor, self._room + self._rows.room)
            disk_file.flush(self._file)  # a frame must be in the file before its status says so
            self._rows.write()
            self._rows.write_others()
            self._structure.write_counts(self._account)
            disk_file.flush(self._file)
        except (OSError, RuntimeError, ValueError) as error:
            raise self._failed("the last batch", error) from error
        counts = self._account.counts()
        self._account.flushed = counts.stored + counts.partial

    def close(self, outcome: Outcome, *, synced: bool) -> None:
        """Write the account, cut the datasets to the last frame received, and close the file.

        Args:
            outcome: whether the series is complete, and the reason.
            synced: return only when the file is on the disk.

        Raises:
            WriterError: something could not be written; what was flushed before stays readable.
            UnfinishedError: nor could the end of the file; the account holds what was flushed.
            FileGoneError: the file was closed, but had been removed, moved or replaced before.
        """
        self._is_all = outcome.is_all
        try:
            # Frames still queued for threads must not use up the space reserved for the account.
            failure = self._flush_frames() if self.waiting_bytes else None
            self._open.release_reserve()
            if self._open.disk.error is not None:
                self._open.disk.finalize()
            failure = failure or self._flush_frames()
            self._end_reading()
            failure = self._finish(outcome, failure)
            self._check_place()
            disk_file.close(self._file)
            if self._store is not None:
                self._store.close(synced=synced)
            if synced:
                storage.sync(self.path)
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            raise self._unfinished(error) from error
        finally:
            self._open.release_reserve()
            self._open.close_quietly()
            self._let_go()
        counts = self._account.counts()
        self._account.flushed = counts.stored + counts.partial
        if failure is not None:
            raise failure

    # -- structure -----------------------------------------------------------------------------

    def _create_frames(self, shape: tuple[int, ...], dtype: str, compression: str, number: int) -> FrameStore:
        """Create the store for frames of this format, of so many blobs."""
        joined, modules = self._series.joined, self._series.modules
        channels = nexus.channel_names(self._series.header.channels or ())
        if joined is not None or len(shape) != 3 or len(channels) != shape[0]:
            channels = ()
        detector = self._structure.detector
        colours = joined is None and has_colours(shape, number)
        frames = FrameFormat(shape, dtype, compression, self._account.planned, channels, colours)
        if joined is None or modules is None:
            self._store = stores.create(detector, frames, self._writing)
        else:
            whole = stores.create(detector, frames, self._writing) if len(shape) == 2 else None
            self._store = ModuleStore(detector, frames, joined, modules, whole, self._writing)
        self._show_frames(frames)
        self._let_others_read()
        return self._store

    def _show_frames(self, frames: FrameFormat) -> None:
        assert self._store is not None
        algorithm = self._series.header.checksum
        if algorithm is not None and algorithm in ALGORITHMS:
            self._rows.take_checksums(algorithm, frames.blobs)
        self._structure.show_frames(frames, self._store.data, self._series)

    def _let_others_read(self) -> None:
        """Let others read the file while it grows, if SWMR is configured."""
        if self._writing.swmr and self._store is not None:
            self._open.start_swmr()

    def _end_reading(self) -> None:
        """End SWMR, if it is on, and look everything up again in the reopened file."""
        if not self._file.swmr_mode:
            return
        disk_file.flush(self._file)  # a frame must be in the file before its status says so
        self._rows.write()
        self._check_place()
        self._open.end_swmr()
        self._structure = structure.find(self._file, self.detector)
        self._rows = PerFrame(self._structure.detector, self._account, self._series.rois)
        self._store = reopen(self._structure.detector, self._account.planned, self._writing)

    def _grow(self, index: int) -> None:
        now = self._rows.rows
        rows = max(index + 1, now + ROWS_PER_STEP, now + now // 2)
        if self._account.planned is not None:
            rows = max(index + 1, min(rows, self._account.planned))
        if self._store is not None:
            self._store.grow(rows)
        self._rows.resize(rows)

    def _flush_frames(self) -> WriterError | None:
        """Hand the last frames to the kernel, or account for them as lost."""
        try:
            if self._store is not None:
                self._store.flush()
        except (OSError, RuntimeError, ValueError) as error:
            return self._failed("the last frames", error)
        return None

    def _finish(self, outcome: Outcome, failure: WriterError | None) -> WriterError | None:
        length = self._account.highest + 1
        statuses = self._account.statuses(length)
        try:
            if self._store is not None:
                self._store.finish(statuses)
        except (OSError, RuntimeError, ValueError) as error:
            failure = self._failed("the end of the frames", error)  # more frames may be lost
            statuses = self._account.statuses(length)
        try:
            self._structure.write_learned(self._series)
        except (OSError, RuntimeError, ValueError) as error:
            failure = failure or self._failed("what the header of the first image says", error)
        disk_file.flush(self._file)  # frames before their statuses
        if failure is not None:
            outcome = Outcome(False, str(failure))
        self._rows.write()
        self._rows.finish(statuses)
        self._structure.write_counts(self._account)
        disk_file.flush(self._file)  # the state of the series is written last
        self._structure.write_end(self._series, outcome)
        return failure

    # -- failure -------------------------------------------------------------------------------

    def _check_place(self) -> None:
        if not self._open.is_in_place():
            is_view = self._store is not None and self._store.data.is_virtual
            raise FileGoneError(gone(self.path, self._account.counts(), self._series.id, is_view=is_view))

    def _failed(self, what: str, error: Exception) -> WriterError:
        return WriterError(self._sentence(what, error))

    def _sentence(self, what: str, error: Exception, more: str = "") -> str:
        self._take_back()
        counts = self._account.counts()
        return not_written(self.path, what, error, counts, self._series.id, more, is_all=self._is_all)

    def _unfinished(self, error: Exception) -> UnfinishedError:
        """Return the error of a file whose end could not be written: only what was flushed counts."""
        self._open.close_quietly()
        count_what_reads(self.path, self._account)
        return UnfinishedError(self._sentence("the end of the file", error, STAYS))

    def _take_back(self) -> None:
        """Account for frames that the store took and lost as missing; as partial, if it has some modules."""
        lost = set() if self._store is None else set(self._store.lost())
        for index in list(lost):
            status = self._account.status(index)
            if self._store is not None and status in WITH_DATA:
                without = self._store.status_without(index)
                if without is not status:
                    self._account.revise(index, without, late=False)
                if without in WITH_DATA:
                    lost.remove(index)
        self._rows.drop(lost)
        counts = self._account.counts()
        self._account.flushed = min(self._account.flushed, counts.stored + counts.partial)

    def _let_go(self) -> None:
        """Release everything that belongs to the file, also after its end has failed."""
        if self._store is not None:
            self._rows.let_go()
            try:
                self._store.close(synced=False)
            except (OSError, RuntimeError) as error:
                log.error("closing the frames of %s failed: %s", self.path, error)
            self._store = None
        self._before_wait.clear()
        self._open.release_lease()
