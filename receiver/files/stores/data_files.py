"""Frames spread over N data files beside the file of the series, each written by a process of its own.

Blocks of B frames go to the writers in turn: block index // B, writer block mod N. `data` is a virtual
dataset with one mapping a data file that has no end, so that it is right from the first frame on, grows with
the data files, and reads as the fill value where a block never came. It names them without a folder: all can
be moved together.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from penstock.receiver.files import lease, storage
from penstock.receiver.files.stores import all_writers
from penstock.receiver.files.stores.contract import COMPRESSED, FrameFormat, Writing
from penstock.receiver.files.stores.disk_file import path_of
from penstock.receiver.files.stores.errors import FilesGoneError
from penstock.receiver.files.stores.file_locks import lock_alone, wait_for
from penstock.receiver.files.stores.messages import DATASET, OpenDataFile
from penstock.receiver.files.stores.side_file import holds_nothing, may_replace
from penstock.receiver.files.stores.superblock import repair
from penstock.receiver.files.stores.writer_process import WriterProcess
from penstock.receiver.processing.fill_value import fill_value
from penstock.stins.messages import Frame, Image

MOST_BLOCK = 64
"""Frames in a row that one writer gets; fewer of large ones, so that the queues hold a block for each."""
LOCK_SECONDS = 5.0
"""For a writer to end after the data process has died."""


class DataFilesStore:
    """Frames of one blob in a virtual 3-D dataset.

    Args:
        detector: NXdetector group; `data` is created in it.
        frames: what every frame looks like.
        path: file of the series; the data files are created beside it, exclusively.
        writing: the processes, and whether data files that are there may be replaced.

    Raises:
        FileExistsError: there is a data file of that name.
        OSError: one cannot be created.
    """

    def __init__(
        self,
        detector: Any,
        frames: FrameFormat,
        path: Path,
        writing: Writing,
    ) -> None:
        processes = writing.processes
        self._frames = frames
        self._processes = processes
        queue = sum(process.memory for process in processes)
        self._block = max(1, min(MOST_BLOCK, queue // (2 * len(processes) * frames.nbytes)))
        self._compressed = frames.compression == COMPRESSED
        self._paths = storage.data_files(path, len(processes))
        self._files: list[int] = []
        self._gone: set[int] = set()  # writers whose data file somebody has taken away
        self._end = 0
        begun: list[WriterProcess] = []
        created: list[Path] = []
        folder = storage.open_folder(path)
        try:
            for file in self._paths:
                self._make_free(file, folder, writing)
            self.data = self._bind(detector)
            for process, file in zip(processes, self._paths, strict=True):
                what = OpenDataFile(file.name, frames.shape, frames.dtype, self._compressed)
                created.append(file)  # one that dies meanwhile leaves it
                process.begin(what, folder, frames.nbytes)
                begun.append(process)
                self._files.append(os.open(file.name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder))
        except BaseException as error:
            with contextlib.suppress(OSError):
                all_writers.each(lambda process: process.finish(0), begun)
            if isinstance(error, FileExistsError):
                del created[len(begun) :]  # it is somebody else's
            for file in created:
                with contextlib.suppress(OSError):
                    os.unlink(file.name, dir_fd=folder)
            self.close(synced=False)
            raise
        finally:
            os.close(folder)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the frames that the processes have not written yet."""
        return all_writers.waiting_bytes(self._processes)

    def write(self, index: int, frame: Frame) -> None:
        """Hand a frame to its writer; waits while its queue is full."""
        turn, within = divmod(index, self._block)
        turn, writer = divmod(turn, len(self._processes))
        if index >= self._end:
            self._end = index + 1
        mask = 1 if self._compressed and frame.image.compression == "none" else 0
        self._processes[writer].put(index, turn * self._block + within, frame.blobs[0], mask)

    def read(self, index: int) -> Frame:
        """A stored frame; see `FrameStore`."""
        turn, within = divmod(index, self._block)
        turn, writer = divmod(turn, len(self._processes))
        offset, size, mask = self._processes[writer].where(turn * self._block + within)
        blob = os.pread(self._files[writer], size, offset)
        compression = COMPRESSED if self._compressed and not mask & 1 else "none"
        shape, dtype = self._frames.shape, self._frames.dtype
        return Frame(Image(shape=shape, type=dtype, compression=compression, frame=index), [blob])

    def grow(self, rows: int) -> None:
        """Nothing: each process makes room in its own file."""

    def flush(self) -> None:
        """Return when every process has handed its file to the kernel."""
        all_writers.flush(self._processes)
        for writer, (path, descriptor) in enumerate(zip(self._paths, self._files, strict=True)):
            if not _is_here(path, descriptor):
                self._gone.add(writer)
        if self._gone:
            names = ", ".join(self._paths[writer].name for writer in sorted(self._gone))
            raise FilesGoneError(f"{names} was removed, moved or replaced")

    def lost(self) -> set[int]:
        """Frames that were taken and could not be written; see `FrameStore`."""
        number = len(self._processes)
        gone = [index for index in range(self._end) if index // self._block % number in self._gone]
        return set(gone) | all_writers.lost(self._processes)

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut each data file to its share; what was never written reads as the fill value by itself."""
        shares = [
            _share(len(statuses), self._block, len(self._processes), n) for n in range(len(self._processes))
        ]
        ends = list(zip(self._processes, shares, strict=True))
        try:
            all_writers.each(lambda end: end[0].finish(end[1]), ends)
        finally:
            for writer, (process, share) in enumerate(ends):
                # What else is wrong with the file of a dead one says less than its death, which is raised.
                if not process.is_alive and _is_here(self._paths[writer], self._files[writer]):
                    with contextlib.suppress(OSError, RuntimeError, KeyError):
                        _cut(self._paths[writer], DATASET, share)

    def close(self, *, synced: bool) -> None:
        """Let go of the data files; their processes stay for the next series."""
        while self._files:
            os.close(self._files.pop())
        if synced:
            for path in self._paths:
                storage.sync(path)

    @staticmethod
    def _make_free(file: Path, folder: int, writing: Writing) -> None:
        with contextlib.suppress(FileNotFoundError):
            empty = writing.replace_empty and holds_nothing(file.name, folder)
            if not writing.overwrite and not empty:
                os.lstat(file.name, dir_fd=folder)
                raise FileExistsError(f"{file} exists and is not overwritten")
            if writing.overwrite and not writing.replace_empty and lease.is_written(file.name, folder):
                raise FileExistsError(f"a receiver is writing {file}, so it is not replaced")
            if not may_replace(file.name, folder):
                raise FileExistsError(storage.no_data_file(file))
            os.unlink(file.name, dir_fd=folder)

    def _bind(self, detector: Any) -> Any:
        """The virtual dataset, while there are no data files yet: HDF5 opens those that it finds, for
        writing as it has the file of the series, and would later put its own idea of their end into them.
        For the same reason nobody here may read it, or ask for its shape."""
        shape, without_end = self._frames.shape, (h5s.UNLIMITED, *self._frames.shape)
        number, block, rest = len(self._processes), self._block, (1,) * len(shape)
        layout = h5p.create(h5p.DATASET_CREATE)
        layout.set_fill_value(np.array(fill_value(self._frames.dtype), self._frames.dtype))
        for turn, path in enumerate(self._paths):
            here, there = (h5s.create_simple((0, *shape), without_end) for _ in range(2))
            count = (h5s.UNLIMITED, *rest)
            here.select_hyperslab(
                (turn * block, *(0 for _ in shape)), count, (number * block, *rest), (block, *shape)
            )
            there.select_hyperslab((0, *(0 for _ in shape)), count, (block, *rest), (block, *shape))
            layout.set_virtual(here, path.name.encode(), DATASET.encode(), there)
        space = h5s.create_simple((0, *shape), without_end)
        kind = h5t.py_create(np.dtype(self._frames.dtype))
        return h5py.Dataset(h5d.create(detector.id, b"data", kind, space, dcpl=layout))


def cut(series: Any, dataset: Any, length: int) -> None:
    """Cut the data files whose writers were killed, so that the virtual `dataset` has this length.

    Args:
        series: the open file of the series.
        dataset: its `data`; one of another origin stays as it is.
        length: in frames.

    Raises:
        OSError: a data file is not there, or a writer is still at it.
    """
    folder = Path(path_of(series)).parent
    sources = [source for source in dataset.virtual_sources() if source.dset_name == DATASET]
    for source in sources:
        start, _, _, (block, *_) = source.vspace.get_regular_hyperslab()
        share = _share(length, block, len(sources), start[0] // block)
        _cut(folder / source.file_name, source.dset_name, share)


def _cut(path: Path, dataset: str, rows: int) -> None:
    """Cut the file of a writer that is dead."""
    with _locked(path):
        repair(path)
        with h5py.File(path, "r+", locking=False) as file:
            file[dataset].resize(rows, axis=0)


def _share(length: int, block: int, writers: int, turn: int) -> int:
    """How many of the first `length` frames are one writer's."""
    rounds, rest = divmod(length, block * writers)
    return rounds * block + max(0, min(block, rest - turn * block))


def _is_here(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a data file: its writer is gone. A file system without locks is taken at its word."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if not wait_for(lambda: lock_alone(descriptor), LOCK_SECONDS):
            raise BlockingIOError(errno.EWOULDBLOCK, f"{path} is still open in another process")
        yield
    finally:
        os.close(descriptor)
