"""A file with frames beside the file of a series: silx shows it when it is opened alone."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import h5py

from penstock.receiver.files import storage
from penstock.receiver.files.stores import disk_file
from penstock.receiver.files.stores.disk_file import DiskFile
from penstock.receiver.files.stores.file_locks import lock_alone, wait_for
from penstock.receiver.files.stores.space import make_room
from penstock.receiver.files.stores.superblock import HEAD, can_be_torn

DATASET = "/entry/data/data"
"""Frames of such a file."""
LOCK_SECONDS = 0.2
"""For readers to let go of a file that has just been created, or of a segment that gets a late frame."""
ROOM_BYTES = 2**18
"""What the first flush of a file may need."""


class DataFile:
    """The file, locked as long as it is open: HDF5 refuses it to readers meanwhile, and a virtual dataset
    shows the fill value in its place, both of which are better than frames that are half there.

    Args:
        folder: descriptor of its folder, see `storage.open_folder`.
        name: of the file in it.
        mode: "x": create it exclusively; "r+": open one that is there.

    Raises:
        FileExistsError: there is a file of that name already.
        OSError: it cannot be created, or opened; one that was created is gone again.
    """

    def __init__(self, folder: int, name: str, mode: str = "x") -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if mode == "x" else 0)
        # Locked before there is anything in it: who reads it first would keep the writer from locking it.
        self._lock = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            with suppress(OSError):  # others read it at most for a moment; one that has no locks needs none
                wait_for(lambda: lock_alone(self._lock), LOCK_SECONDS)
            self.file = self._create() if mode == "x" else self._open("r+")
        except BaseException:
            if mode == "x":
                _unlink(folder, name, self._lock)
            os.close(self._lock)
            raise
        self._folder, self._name = folder, name

    def _open(self, mode: str) -> Any:
        return disk_file.open_file(os.dup(self._lock), storage.by_descriptor(self._lock), mode)

    def _create(self) -> Any:
        file = self._open("w")
        try:
            make_room(self._lock, ROOM_BYTES)
            file.attrs.update(NX_class="NXroot", default="entry")
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
        """What HDF5 writes it by."""
        return disk_file.disk_of(self.file)

    @property
    def group(self) -> Any:
        """NXdata group, in which `data` has the frames."""
        return self.file["entry/data"]

    def close(self) -> None:
        """Close it: from now on anybody may read it."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            disk_file.close(self.file)
        finally:
            os.close(lock)

    def discard(self) -> None:
        """Take away one that was created and has nothing in it; the folder must be open still. That it cannot
        be closed is not said: something else went wrong before."""
        if self._lock >= 0:
            _unlink(self._folder, self._name, self._lock)
        self.close_quietly()

    def close_quietly(self) -> None:
        """Close it, where something went wrong that is told instead."""
        with suppress(OSError, RuntimeError):
            self.close()


def _unlink(folder: int, name: str, descriptor: int) -> None:
    """Remove a file of this process, unless somebody has put another in its place."""
    with suppress(OSError):
        if os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor)):
            os.unlink(name, dir_fd=folder)


def may_replace(name: str, folder: int) -> bool:
    """Return whether a file is one of ours, or begins as one whose writer was killed: another series, or any
    file of a user, may have a name that looks so.

    Args:
        name: of the file.
        folder: descriptor of its folder.

    Raises:
        FileNotFoundError: it is not there.
    """
    os.lstat(name, dir_fd=folder)
    if not can_be_torn(name, folder):
        return False
    try:
        with h5py.File(f"{storage.by_descriptor(folder)}/{name}", "r", locking=False) as file:
            return _is_data_file(file)
    except (OSError, RuntimeError, KeyError, TypeError):
        return True  # HDF5 cannot read it: its writer was killed


def _is_data_file(file: h5py.File) -> bool:
    return list(file) == ["entry"] and list(file["entry"]) == ["data"]


def holds_nothing(name: str, folder: int) -> bool:
    """Return whether a file has no frame: as a writer leaves it that was killed at its beginning.

    Args:
        name: of the file.
        folder: descriptor of its folder.
    """
    place = f"{storage.by_descriptor(folder)}/{name}"
    with open(place, "rb") as file:
        if not file.read(HEAD).strip(b"\0"):
            return True
    try:
        with h5py.File(place, "r", locking=False) as found:
            if not _is_data_file(found):
                return False
            data = found["entry/data"].get("data")
            return data is None or data.id.get_num_chunks() == 0
    except (OSError, RuntimeError, KeyError, TypeError):
        return False
