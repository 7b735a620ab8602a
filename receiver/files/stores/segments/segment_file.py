"""A segment: a file with frames next to the file of a series, which silx can also show by itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py

from penstock.receiver.files import storage
from penstock.receiver.files.stores.allocation import make_room
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.disk_file import DiskFile
from penstock.receiver.files.stores.disk.file_locks import lock_alone, wait_for
from penstock.receiver.files.stores.disk.superblock import HEAD, can_be_torn

DATASET = "/entry/data/data"
"""Dataset of the frames in a segment."""
LOCK_SECONDS = 0.2
"""Time for readers to close a segment that was just created, or that gets a late frame."""
ROOM_BYTES = 2**18
"""Bytes that the first flush of a segment may need."""


class SegmentFile:
    """A segment, locked while it is open for writing.

    HDF5 does not open it for readers with locks meanwhile: a virtual dataset raises an error
    for its frames (HDF5 2), or shows the fill value (before). Both are better than half-written frames.

    Args:
        folder: descriptor of its folder, see `storage.open_folder`.
        name: name of the file in the folder.
        mode: "x" to create it exclusively, "r+" to open an existing one.
        about: attributes of a new file, besides those of every segment.

    Raises:
        FileExistsError: a file of that name exists already.
        OSError: the file cannot be created or opened; a file that was created is removed again.
    """

    def __init__(
        self, folder: int, name: str, mode: str = "x", about: Mapping[str, str | int] | None = None
    ) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if mode == "x" else 0)
        # Locked while still empty: a reader that opened it first would keep the writer from locking it.
        self._lock = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            with suppress(OSError):  # a file system without locks: readers cannot be kept out
                wait_for(lambda: lock_alone(self._lock), LOCK_SECONDS)
            self.file = self._create(about or {}) if mode == "x" else self._open("r+")
        except BaseException:
            if mode == "x":
                _unlink(folder, name, self._lock)
            os.close(self._lock)
            raise
        self._folder, self._name = folder, name

    def _open(self, mode: str) -> Any:
        return disk_file.open_file(os.dup(self._lock), storage.by_descriptor(self._lock), mode)

    def _create(self, about: Mapping[str, str | int]) -> Any:
        file = self._open("w")
        try:
            make_room(self._lock, ROOM_BYTES)
            file.attrs.update(NX_class="NXroot", default="entry", **about)
            entry = file.create_group("entry")
            entry.attrs.update(NX_class="NXentry", default="data")
            entry.create_group("data").attrs.update(NX_class="NXdata", signal="data")
            disk_file.disk_of(file).check()
        except BaseException:
            with suppress(OSError, RuntimeError):
                disk_file.close(file)
            raise
        return file

    @property
    def disk(self) -> DiskFile:
        """The file as HDF5 writes it."""
        return disk_file.disk_of(self.file)

    @property
    def group(self) -> Any:
        """NXdata group; its dataset `data` has the frames."""
        return self.file["entry/data"]

    def close(self) -> None:
        """Close the segment, so that it can be read."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            disk_file.close(self.file)
        finally:
            os.close(lock)

    def discard(self) -> None:
        """Remove a segment that was created and holds nothing; the folder must still be open. Errors of
        closing it are ignored: another error came before."""
        if self._lock >= 0:
            _unlink(self._folder, self._name, self._lock)
        self.close_quietly()

    def close_quietly(self) -> None:
        """Close the segment after another error; a second one is ignored."""
        with suppress(OSError, RuntimeError):
            self.close()


def _unlink(folder: int, name: str, descriptor: int) -> None:
    """Remove a file of this process, unless it was replaced by another."""
    with suppress(OSError):
        if os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor)):
            os.unlink(name, dir_fd=folder)


def may_replace(name: str, folder: int) -> bool:
    """Return whether a file is a segment, or may be one whose writer was killed, by its content.

    Other files, of a user for instance, may have a name like that of a segment.

    Args:
        name: name of the file.
        folder: descriptor of its folder.

    Raises:
        FileNotFoundError: there is no such file.
    """
    os.lstat(name, dir_fd=folder)
    if not can_be_torn(name, folder):
        return False
    try:
        with h5py.File(f"{storage.by_descriptor(folder)}/{name}", "r", locking=False) as file:
            return _is_segment(file)
    except (OSError, RuntimeError, KeyError, TypeError):
        return True  # HDF5 cannot read it: the writer was killed


def is_segment(path: Path) -> bool:
    """Return whether a file can be read and has what a segment has, and nothing else."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return _is_segment(file)
    except (OSError, RuntimeError, KeyError, TypeError):
        return False


def _is_segment(file: h5py.File) -> bool:
    return list(file) == ["entry"] and list(file["entry"]) == ["data"]


def holds_nothing(name: str, folder: int) -> bool:
    """Return whether a file has no frame: its writer was killed before the first one.

    Args:
        name: name of the file.
        folder: descriptor of its folder.
    """
    place = f"{storage.by_descriptor(folder)}/{name}"
    with open(place, "rb") as file:
        if not file.read(HEAD).strip(b"\0"):
            return True
    try:
        with h5py.File(place, "r", locking=False) as found:
            if not _is_segment(found):
                return False
            data = found["entry/data"].get("data")
            return data is None or data.id.get_num_chunks() == 0
    except (OSError, RuntimeError, KeyError, TypeError):
        return False
