"""The file as HDF5 reads and writes it: HDF5 never sees that a write of its own structures has failed.

When HDF5 cannot write its index, it can neither flush nor close the file any more and may crash the process
later; h5py loses errors raised while an object is released. So HDF5 writes through an object of this module
(h5py's driver for Python file objects, 1.5 µs per write). Frames go to the file at once. Everything else that
HDF5 writes is kept in memory, and appears to HDF5 as written, until `flush` writes it in an order that leaves
a readable file wherever it stops. See docs/explanation/decisions/0028-hdf5-never-sees-a-failed-write.md.
"""

from __future__ import annotations

import atexit
import errno
import itertools
import os
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files.stores.disk.blob_writes import pwrite_all
from penstock.receiver.files.stores.disk.superblock import marked_for_swmr, put_end_ahead
from penstock.receiver.files.stores.disk.write_order import Write, in_order
from penstock.stins.messages import Buffer

SWMR_VERSIONS = ("v110", "v110")
"""Bounds of the format versions of a file for SWMR, which HDF5 1.10 brought. With "latest", HDF5 2.0 would
describe packed datasets in a version that no earlier HDF5 reads."""
MAX_ADDRESS = 2**63 - 1
"""Largest offset in a file that the kernel accepts."""
_numbers = itertools.count()
_open: dict[str, DiskFile] = {}
"""Open files by the name under which HDF5 knows them."""


class DiskFile:
    """A file object for HDF5.

    Args:
        descriptor: descriptor of the file, open for reading and writing; closed by `close`.
        path: path by which the file was opened.
    """

    def __init__(self, descriptor: int, path: str | os.PathLike[str]) -> None:
        self.descriptor = descriptor
        self.path = path
        self.error: OSError | None = None
        """Error of a write that failed; what it should have written is kept."""
        self.at_once = False
        """True if everything is written at once, in HDF5's own order: readers follow the file (SWMR)."""
        self.frame: Buffer | None = None
        """Blob passed to HDF5 at this moment: if its write fails, HDF5 sees the error and leaves it out."""
        self.put: Callable[[Buffer, int], None] | None = None
        """Queues that blob for its offset if a thread writes the frames; see `write_thread`."""
        self._name = f"penstock-{next(_numbers)}"
        self._at = 0
        self._kept: list[Write] = []
        self._size: int | None = None
        """Size to which the file was truncated or extended since the last flush."""
        self._top = 0  # end of the last kept write
        self._opened = os.fstat(descriptor).st_size
        self._used: set[int] = set()  # offsets beyond that where something was written

    # -- for HDF5: an unbuffered Python file ----------------------------------------------------

    def __repr__(self) -> str:
        """Return the name of the file for HDF5."""
        return self._name

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        """See io.RawIOBase.

        Raises:
            OSError: a damaged file refers to an impossible offset.
        """
        at = at if whence == os.SEEK_SET else self._end() + at
        if at > MAX_ADDRESS:
            raise OSError(errno.EINVAL, f"address {at:#x} is damaged")
        self._at = at
        return at

    def tell(self) -> int:
        """See io.RawIOBase."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """See io.RawIOBase."""
        data = bytearray(max(0, self._end() - self._at) if size < 0 else size)
        return bytes(data[: self.readinto(data)])

    def readinto(self, buffer: Any) -> int:
        """See io.RawIOBase; beyond the end of the file there are zeros, as HDF5 expects."""
        view = memoryview(buffer).cast("B")
        done = 0
        while done < len(view) and (more := os.preadv(self.descriptor, [view[done:]], self._at + done)):
            done += more
        view[done:] = bytes(len(view) - done)
        start, end = self._at, self._at + len(view)
        for at, data in self._kept:
            first, last = max(start, at), min(end, at + len(data))
            if first < last:
                view[first - start : last - start] = data[first - at : last - at]
        self._at = end
        return len(view)

    def write(self, view: Any) -> int:
        """See io.RawIOBase; only writes of frames raise."""
        at, size = self._at, len(view)
        self._at = at + size
        if at == 0:
            view = marked_for_swmr(bytes(view))
        # Another write of the same length does no harm here.
        is_frame = self.frame is not None and size == len(self.frame) and at >= self._top
        if is_frame or self.at_once:
            try:
                self.check()
                if is_frame and self.put is not None and self._is_frame(view):
                    assert self.frame is not None
                    self.put(self.frame, at)
                else:
                    pwrite_all(self.descriptor, view, at)
                return size
            except OSError as error:
                if self._is_frame(view):
                    raise
                self.error = self.error or error
        self._kept.append((at, bytes(view)))
        self._top = max(self._top, at + size)
        if self._size is not None:
            self._size = max(self._size, at + size)
        return size

    def truncate(self, size: int | None = None) -> int:
        """See io.RawIOBase."""
        size = self._at if size is None else size
        if self.at_once and self.error is None:
            try:
                os.ftruncate(self.descriptor, size)
                return size
            except OSError as error:
                self.error = error
        self._size = size
        return size

    def flush(self) -> None:
        """See io.RawIOBase; does nothing: see the function `flush`."""

    # -- for the writer --------------------------------------------------------------------------

    def check(self) -> None:
        """Raise the error of an earlier write that failed, if there is one.

        Raises:
            OSError: the error.
        """
        if self.error is not None:
            raise OSError(*self.error.args)

    def finalize(self) -> list[Write]:
        """Write what is kept in memory, and return it.

        Raises:
            OSError: it cannot be written.
        """
        try:
            for at, data in in_order(self._kept, self._is_new):
                pwrite_all(self.descriptor, data, at)
            if self._size is not None:
                os.ftruncate(self.descriptor, self._size)
        except OSError as error:
            self.error = error
            raise
        self.error, self._size, self._top = None, None, 0
        self._used.update(at for at, _ in self._kept)
        writes, self._kept = self._kept, []
        return writes

    def forget(self) -> None:
        """Close the descriptor and drop what was not written, without an error."""
        _open.pop(self._name, None)
        self._kept.clear()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _is_new(self, at: int) -> bool:
        return at >= self._opened and at not in self._used

    def _end(self) -> int:
        size = os.fstat(self.descriptor).st_size if self._size is None else self._size
        return max(size, self._top)

    def _is_frame(self, view: Any) -> bool:
        return self.frame is not None and _place(self.frame) == _place(view)


def open_file(
    descriptor: int, path: str | os.PathLike[str], mode: str, libver: tuple[str, str] | None = None
) -> Any:
    """Return an h5py file on top of a descriptor, which is closed with it, or at once if this fails.

    Args:
        descriptor: descriptor of the file, open for reading and writing.
        path: path by which the file was opened.
        mode: "w" for a new, empty file, else "r+".
        libver: least and greatest version of HDF5's formats, see `SWMR_VERSIONS`; by default the oldest.

    Raises:
        OSError, RuntimeError: the file cannot be opened or written.
    """
    disk = DiskFile(descriptor, path)
    _open[repr(disk)] = disk
    try:
        return h5py.File(disk, mode, libver=libver)
    except BaseException:
        disk.forget()
        raise


def disk_of(file: Any) -> DiskFile:
    """Return the file object below an h5py file of `open_file`.

    Raises:
        KeyError: the h5py file was opened otherwise.
    """
    return _open[file.filename]


def descriptor_of(file: Any) -> int:
    """Return the descriptor of an open h5py file; it remains the file's."""
    disk = _open.get(file.filename)
    return int(file.id.get_vfd_handle()) if disk is None else disk.descriptor


def path_of(file: Any) -> str:
    """Return the path by which an open h5py file was opened."""
    disk = _open.get(file.filename)
    return os.fspath(file.filename if disk is None else disk.path)


def flush(file: Any) -> list[Write]:
    """Hand everything that was written into an h5py file to the kernel.

    Returns:
        What HDF5 itself has written since the last flush, unless that went into the file at once (SWMR).

    Raises:
        OSError: a write failed, even if it succeeded the second time.
        RuntimeError: HDF5 failed.
    """
    disk = disk_of(file)
    put_end_ahead(file, disk.descriptor)
    file.flush()
    # Chunks that were only in HDF5's cache have a place now, within the file even if a write fails.
    put_end_ahead(file, disk.descriptor)
    error, writes = disk.error, disk.finalize()
    if error is not None:
        raise OSError(*error.args)
    return writes


def close(file: Any) -> None:
    """Close an h5py file; release the space that `make_room` allocated behind it. May be called again.

    Raises:
        OSError: something could not be written. The file is closed all the same.
    """
    if not file:
        return
    disk = _open.get(file.filename)
    if disk is None:  # its first close has failed
        file.close()
        return
    try:
        try:
            file.flush()
            put_end_ahead(file, disk.descriptor)
        except OSError as error:
            disk.error = disk.error or error
        file.close()
        disk.finalize()
        os.ftruncate(disk.descriptor, os.fstat(disk.descriptor).st_size)
    finally:
        disk.forget()


@atexit.register
def _close_all() -> None:
    """Close open files before Python ends: HDF5 would do so too late."""
    for disk in list(_open.values()):
        for file in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
            if h5py.h5f.get_name(file) == repr(disk).encode():
                h5py.File(file).close()


def _place(buffer: Any) -> tuple[int, int]:
    """Return address and size of a buffer."""
    array = np.frombuffer(buffer, np.uint8)
    return array.ctypes.data, array.size
